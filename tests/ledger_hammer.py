"""Many processes at one ledger, some of them killed: for tests, and longer in `benchmarks/trust_ledger.py`.

Fits run in children that are forked from a process that has imported everything, so that a fit takes milliseconds.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache

import numpy as np

import entrenous as en
import entrenous.engine.run as engine_run
from entrenous.ledger.spending import Spending

DATASET = "hammered"
N = 60
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1, 1, size=(N, 2)), np.arange(N) % 2
REFUSED, DONE = 3, 0


@cache
def plan():
    return en.plan("moments", n=N, n_features=2, epsilon=0.5, delta=1e-6, bounds=(-1, 1))


def hammered(*words):
    """This file in a process of its own: it forks, and tests have threads."""
    done = subprocess.run([sys.executable, __file__, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fit(place):
    plan().run(X, Y, ledger=place, dataset=DATASET)


def child(place, released):
    """Fork a process that fits once; a byte goes to the file `released` just before the first phase sees a row."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        was = engine_run.current_listener

        def noting():
            if released is not None:
                os.write(released, b"x")
            return was()

        engine_run.current_listener = noting
        fit(place)
        code = DONE
    except en.BudgetError as error:
        code = REFUSED if "together" in error.needs else 1
        if code == 1:
            print(error, file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def budget_for_fits(fits):
    """A budget in mu for so many fits, and half of one more."""
    return float(np.sqrt((fits + 0.5) * sum(m.gdp for m in plan().mechanisms)))


def crowd(place, processes, room):
    """All at once, on a budget for `room` fits: how many were done and refused, and what the ledger says."""
    ledger = en.Ledger(place)
    ledger.init(DATASET, mu=budget_for_fits(room))
    children = [child(place, None) for _ in range(processes)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    account = ledger.account(DATASET)
    ledger.verify()
    return {
        "processes": processes,
        "room": room,
        "done": codes.count(DONE),
        "refused": codes.count(REFUSED),
        "entries": account.fits,
        "unfinished": account.unfinished,
        "overspent": account.spent > account.terms.limit,
    }


def late_kills(place, points, seed):
    """As `kills`, with fits that pay when they have finished: what the count of lost spends must see."""
    Spending.begin = lambda self, certificate: None
    Spending.commit = lambda self, certificate: en.Ledger(place).reserve(DATASET, [certificate])
    return kills(place, points, seed)


def kills(place, points, seed):
    """Fits that are killed at random points, one after another: no row was seen that the ledger has no entry for."""
    ledger = en.Ledger(place)
    ledger.init(DATASET, mu=budget_for_fits(10 * points))
    file, name = tempfile.mkstemp()
    os.set_inheritable(file, True)
    rng = random.Random(seed)
    plan().run(X, Y)  # what is compiled is loaded once, so that children spend their time on the fit
    start = time.perf_counter()
    warm = 3
    for _ in range(warm):
        os.waitpid(child(place, None), 0)
    longest = (time.perf_counter() - start) / warm * 1.2
    released = os.open(name, os.O_WRONLY | os.O_APPEND)
    before = ledger.account(DATASET).fits
    killed = lost = 0
    while killed < points:
        pid = child(place, released)
        time.sleep(rng.uniform(0.0, longest))
        os.kill(pid, signal.SIGKILL)
        # Some have finished before: they are no kills.
        killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        # After every kill: what saw rows must be in the ledger.
        lost += os.stat(name).st_size > ledger.account(DATASET).fits - before
    os.close(released)
    os.close(file)
    seen = os.stat(name).st_size
    os.unlink(name)
    ledger.verify()
    account = ledger.account(DATASET)
    return {
        "killed": killed,
        "saw_rows": seen,
        "entries": account.fits - before,
        "unfinished": account.unfinished,
        "lost": lost,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["crowd", "kills", "late_kills"])
    parser.add_argument("place")
    parser.add_argument("count", type=int)
    parser.add_argument("other", type=int, help="room of a crowd, seed of kills")
    asked = parser.parse_args()
    print(json.dumps(globals()[asked.what](asked.place, asked.count, asked.other)))
