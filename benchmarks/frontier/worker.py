"""Fits that another process asks for, one JSON line each, on the table of one file.

    python -m frontier.worker table.npz

A line names method, setting, epsilon, adjacency and split; the answer has AUC on the held-out rows and seconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from sklearn.metrics import roc_auc_score

from entrenous.errors import AssumptionError

from . import ours
from .cells import REPLACE, Key
from .peers import PEERS, same_adjacency
from .sets import Table


def measure(table: Table, key: Key, split: int) -> dict[str, Any]:
    """AUC on the rows that a split holds out, or why the method refuses the table."""
    train, test = table.split(split)
    labels = table.labels[train]
    start = time.perf_counter()
    if key.method in PEERS:
        score = _peer(table, key, table.scaled, train)
        scores = score(table.scaled[test])
        return _found(table.labels[test], scores, start, None)
    try:
        model = ours.fit(table, table.rows[train], labels, key.method, key.epsilon)
    except AssumptionError as error:
        return {"refused": str(error)}
    spent = None if model.certificate_ is None else model.certificate_.epsilon
    return _found(table.labels[test], model.decision_function(table.rows[test]), start, spent)


def _peer(table: Table, key: Key, scaled: Any, train: Any) -> Any:
    peer = PEERS[key.method]
    assert key.epsilon is not None
    assert key.setting is not None
    epsilon, delta = key.epsilon, float(len(train)) ** -2
    if key.adjacency == REPLACE and peer.adjacency != REPLACE:
        epsilon, delta = same_adjacency(epsilon, delta)
    return peer.fit(scaled[train], table.labels[train], epsilon, delta, dict(peer.grid[key.setting]))


def _found(labels: Any, scores: Any, start: float, spent: float | None) -> dict[str, Any]:
    found = {"auc": round(float(roc_auc_score(labels, scores)), 5), "seconds": round(time.perf_counter() - start, 3)}
    return found if spent is None else {**found, "spent": spent}


def main() -> None:
    """Answer line by line until the input ends."""
    table = Table.read(Path(sys.argv[1]))
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(measure(table, Key(*asked["key"]), asked["split"])), flush=True)


if __name__ == "__main__":
    main()
