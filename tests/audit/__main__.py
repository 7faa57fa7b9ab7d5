"""The long version: more settings and ten times the draws, as a table and in ``benchmarks/results/audit.json``.

    make audit

It fails if a claim does not hold, or if noise that is too small goes unnoticed although the attack had the power.
"""

import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

import entrenous as en
from audit.bounds import CONFIDENCE
from audit.scenarios import DELTA, SCENARIOS, more_scenarios

LONGER = 10
RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "audit.json"


def row(scenario):
    """What one attack found, and whether it had to find less noise out."""
    with warnings.catch_warnings():
        # That printed noise may break its paper's claim is what the certificate, and so the audit, is about.
        warnings.simplefilter("ignore", en.PrivacyWarning)
        finding = scenario.audit()
        events = scenario.attack.events(scenario.draws, scenario.divisor)
    powerful = max(event.pessimistic for event in events) > finding.claim
    return {
        "algorithm": scenario.algorithm,
        "task": scenario.task,
        "privacy": "pure" if scenario.pure else "approximate",
        "asked": scenario.epsilon,
        "remark": scenario.remark,
        "draws": scenario.draws,
        "divisor": scenario.divisor,
        **asdict(finding),
        "holds": finding.holds,
        "powerful": powerful,
        "found_out": finding.found_out,
    }


def main():
    """Attack, print, store."""
    scenarios = [replace(s, draws=LONGER * s.draws) for s in [*SCENARIOS, *more_scenarios()]]
    with ProcessPoolExecutor() as workers:
        rows = list(track(workers.map(row, scenarios), description="attacking", total=len(scenarios)))
    less = "noise / 3"
    table = Table("algorithm", "task", "privacy", "remark", "claim", "attained", "lower bound", less, "found out")
    for r in rows:
        found = "yes" if r["found_out"] else "NO" if r["powerful"] else "too few draws"
        bounds = (f"{r['least_epsilon']:.3f}" + ("" if r["holds"] else " !"), f"{r['thin_least_epsilon']:.3f}")
        texts = (r["algorithm"], r["task"], r["privacy"], r["remark"])
        table.add_row(*texts, f"{r['claim']:.3f}", f"{r['attained']:.3f}", *bounds, found)
    Console(width=140).print(table)
    content = {"library": f"entrenous {en.__version__}", "delta": DELTA, "confidence": CONFIDENCE, "results": rows}
    RESULT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    broken = [r for r in rows if not r["holds"] or (r["powerful"] and not r["found_out"])]
    sys.exit(f"{len(broken)} of {len(rows)} attacks went otherwise than they should" if broken else 0)


if __name__ == "__main__":
    main()
