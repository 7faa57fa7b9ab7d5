"""What a fit takes beside its input, measured in processes of their own."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from Linux's /proc")

MEASURED = """
import sys, warnings
import numpy as np, pandas as pd, pyarrow.parquet
import entrenous as en

def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def rows(n, d):
    X, rng = np.empty((n, d)), np.random.default_rng(0)
    for start in range(0, n, 10_000):
        X[start : start + 10_000] = rng.normal(size=(min(10_000, n - start), d))
    return X, (X[:, 0] > 0).astype(np.uint8)

def peak(work):
    work(5_000)  # compiles the loops
    before = status("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")
    kept = work(N)
    return status("VmHWM") - before
"""
WHOLE = """
N, D = 400_000, 20

def work(n):
    X, y = rows(n, D)
    return en.AUCClassifier(1.0, algorithm="noisy-gd", surrogate=SURROGATE, bounds=(-3, 3), max_iter=3).fit(X, y), X, y

print(peak(work) / (8 * N * D))
"""
CHUNKED = """
def work(n):
    chunks = en.read_chunks(f"{n}.parquet", "y", rows=20_000)
    clf = en.AUCClassifier(1.0, algorithm="sgd-previous", bounds=(-3, 3), options={"order": "arrival"})
    own = 0
    for X, y in chunks:
        clf.partial_fit(X, y, n_total=chunks.n_rows)
        # The file is mapped: its pages are the system's, which takes them back when it needs them.
        own = max(own, status("VmHWM") - status("RssFile"))
        open("/proc/self/clear_refs", "w").write("5")
    open("/proc/self/clear_refs", "w").write("5")
    clf.certificate_.verify()
    return max(own, status("VmHWM") - status("RssFile"))

work(5_000)
before = status("RssAnon")
print(work(N) - before)
"""


def measured(code, folder):
    done = subprocess.run(
        [sys.executable, "-c", MEASURED + code], cwd=folder, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


@pytest.mark.parametrize(("surrogate", "most"), [("logistic", 2.3), ("hinge", 2.5)])
def test_a_whole_fit_peaks_below_two_and_a_half_inputs(surrogate, most, tmp_path):
    found = measured(f"SURROGATE = {surrogate!r}\n{WHOLE}", tmp_path)
    # Input and internal rows are two; less would mean that something was not measured.
    assert 1.9 < found < most


def test_memory_of_a_fit_in_chunks_does_not_grow_with_the_table(tmp_path):
    rng = np.random.default_rng(0)
    for n in (5_000, 300_000, 1_500_000):
        # One row group, the hardest case, of whole numbers as in most tables.
        table = pd.DataFrame(rng.integers(-3, 4, size=(n, 4)), columns=list("abcd")).assign(y=rng.integers(2, size=n))
        table.to_parquet(tmp_path / f"{n}.parquet", row_group_size=10**9)
    short, long = (measured(f"N = {n}\n{CHUNKED}", tmp_path) for n in (300_000, 1_500_000))
    # One number per record would be 9.6 MB more.
    assert abs(long - short) < 4e6
