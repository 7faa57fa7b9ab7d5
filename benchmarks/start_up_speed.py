"""How long a new process takes to be ready, against importing scikit-learn in another."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from figures import Figure

_FIT = """
import time
import numpy as np
from entrenous import AUCClassifier
rng = np.random.default_rng(0)
X = rng.uniform(size=(1000, 5))
y = (X[:, 0] > 0.5).astype(int)
start = time.perf_counter()
AUCClassifier(1.0, algorithm={algorithm!r}, bounds=(0, 1)).fit(X, y)
print(time.perf_counter() - start)
"""


def _seconds(*arguments: str) -> float:
    """Of a whole process, or what it prints."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    taken = time.perf_counter() - start
    return float(done.stdout) if arguments[1].startswith("\nimport time") else taken


def start_up() -> Iterator[Figure]:
    """Imports, the command line's help, and the first fit of a process whose loops were compiled by an earlier one."""
    algorithms = ("moments", "noisy-gd", "sgd-previous")
    commands = {
        "nothing": ("-c", "pass"),
        "scikit-learn": ("-c", "import sklearn"),
        "import entrenous": ("-c", "import entrenous"),
        "from entrenous import AUCClassifier": ("-c", "from entrenous import AUCClassifier"),
        "entrenous --help": ("-m", "entrenous", "--help"),
        **{f"first fit, {name}": ("-c", _FIT.format(algorithm=name)) for name in algorithms},
    }
    # In turns, so that all meet the same machine; the first round warms the caches.
    rounds = [{case: _seconds(*command) for case, command in commands.items()} for _ in range(10)][1:]
    least = {case: min(taken[case] for taken in rounds) for case in commands}
    reference = least["scikit-learn"] - least["nothing"]
    goals = {"import entrenous": 1.6, "from entrenous import AUCClassifier": 1.6, "entrenous --help": 0.6}
    for case in list(commands)[2:]:
        taken = least[case] - (0.0 if case.startswith("first fit") else least["nothing"])
        yield Figure(case, taken / reference, "time of import sklearn", goals.get(case, 1.0), False, taken, reference)
