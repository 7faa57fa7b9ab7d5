"""Runs of a target: resumable, over processes, with a bar. The file holds every seed's value.

Runs are seeded so that they can be repeated. A seeded private fit protects nobody who knows the seed: these are public
data sets, and the page says so.
"""

from __future__ import annotations

import json
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from entrenous.errors import AssumptionError, InputError, PrivacyWarning
from entrenous.reproduce.targets import Job, Outcome, Preprocessing, Target, jobs_of
from entrenous.version import __version__

SCHEMA = "entrenous-reproduce/1"
_SECONDS_BETWEEN_WRITES = 2.0
_AHEAD = 4
"""Runs per process that wait in line: enough to keep it busy, few enough to stop at once."""


@dataclass
class Results:
    """What is on file for a target: a value per job and seed, and how it came about."""

    target: str
    preprocessing: Preprocessing
    command: str = ""
    quick: bool = True
    repetitions: int = 0
    seconds: float = 0.0
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    epsilons: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, target: str, preprocessing: Preprocessing) -> Results:
        """The file's results; none where there is no file. Another target's or version's are an error."""
        if not path.is_file():
            return cls(target, preprocessing)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            schema = stored["schema"]
        except (ValueError, KeyError, TypeError):
            schema = "something else"
        way_out = "Name another folder with --out, or move the file away."
        if schema != SCHEMA:
            raise InputError(f"{path} must hold results of 'entrenous reproduce'", schema, way_out)
        asked = (target, preprocessing, __version__)
        found = (stored["target"], stored["preprocessing"], stored["library"])
        if asked != found:
            raise InputError(f"{path} must hold results of {', '.join(asked)}", ", ".join(found), way_out)
        return cls.on_file(path)

    @classmethod
    def on_file(cls, path: Path) -> Results:
        """The file's results, whichever version of the library wrote them."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        read = cls(
            stored["target"],
            stored["preprocessing"],
            stored["command"],
            stored["quick"],
            stored["repetitions"],
            stored["seconds"],
            refused=stored["refused"],
        )
        for entry in stored["jobs"]:
            name = json.dumps(entry["job"], sort_keys=True)
            read.values[name] = {int(seed): value for seed, value in entry["values"].items()}
            if "epsilon" in entry:
                read.epsilons[name] = entry["epsilon"]
        return read

    def write(self, path: Path) -> None:
        """A line for each job, in one order; a killed run leaves the old file or the new one."""
        head: dict[str, Any] = {
            "schema": SCHEMA,
            "library": __version__,
            "target": self.target,
            "command": self.command,
            "preprocessing": self.preprocessing,
            "quick": self.quick,
            "repetitions": self.repetitions,
            "seconds": round(self.seconds, 1),
            "refused": self.refused,
        }
        lines = []
        for name in sorted(self.values):
            entry: dict[str, Any] = {"job": json.loads(name)}
            if name in self.epsilons:
                entry["epsilon"] = self.epsilons[name]
            entry["values"] = {str(seed): self.values[name][seed] for seed in sorted(self.values[name])}
            lines.append(json.dumps(entry))
        fresh = path.with_suffix(".part")
        text = json.dumps(head, indent=1).removesuffix("\n}") + ',\n "jobs": [\n' + ",\n".join(lines) + "\n]}\n"
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, path)

    def take(self, job: Job, seed: int, found: Mapping[str, Any]) -> None:
        """Add what one run gave. Epsilon is that of the noise, the largest over the seeds."""
        if "refused" in found:
            self.refused[job.name] = found["refused"]
            return
        self.values.setdefault(job.name, {})[seed] = found["value"]
        if found.get("epsilon") is not None:
            self.epsilons[job.name] = max(found["epsilon"], self.epsilons.get(job.name, 0.0))

    def outcomes(self, repetitions: int) -> dict[str, Outcome]:
        """By job's name, of the first `repetitions` seeds."""
        found = {name: Outcome(refused=why) for name, why in self.refused.items()}
        for name, values in self.values.items():
            chosen = tuple(values[seed] for seed in sorted(values) if seed < repetitions)
            found[name] = Outcome(chosen, self.epsilons.get(name))
        return found


def mean(outcome: Outcome) -> float:
    """Over the seeds."""
    return statistics.fmean(outcome.values)


def spread(outcome: Outcome) -> float:
    """Standard deviation over the seeds."""
    return statistics.stdev(outcome.values) if len(outcome.values) > 1 else 0.0


def run(
    target: Target,
    path: Path,
    *,
    quick: bool,
    preprocessing: Preprocessing = "paper",
    processes: int = 1,
    repetitions: int | None = None,
    command: str = "",
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Results:
    """Do what is not on file yet, and write the file as it goes; `advance` is told runs done and runs in all."""
    results = Results.read(path, target.name, preprocessing)
    wanted = repetitions or (target.quick_repetitions if quick else target.repetitions)
    jobs = jobs_of(target.chosen_cells(preprocessing, quick))
    names = {job.name for job in jobs}
    todo = [(job, seed) for seed in range(wanted) for job in jobs if not _settled(results, job, seed)]
    total = wanted * len(names)
    start = last = time.monotonic()
    before = results.seconds
    done = total - len(todo)
    advance(done, total)
    try:
        for job, seed, found in _answers(target, todo, processes, results):
            results.take(job, seed, found)
            done += 1
            advance(done, total)
            if time.monotonic() - last > _SECONDS_BETWEEN_WRITES:
                results.seconds = before + time.monotonic() - start
                results.write(path)
                last = time.monotonic()
        # Only a finished run says so: the figures of a page are those of these seeds.
        results.quick, results.repetitions, results.command = quick, wanted, command
    finally:
        results.seconds = before + time.monotonic() - start
        results.write(path)
    return results


def _settled(results: Results, job: Job, seed: int) -> bool:
    return job.name in results.refused or seed in results.values.get(job.name, {})


def _answers(
    target: Target, todo: list[tuple[Job, int]], processes: int, results: Results
) -> Iterator[tuple[Job, int, Mapping[str, Any]]]:
    if processes == 1:
        for job, seed in todo:
            # A refusal holds for every seed.
            if job.name not in results.refused:
                yield job, seed, _once(target.measure, job.settings, seed)
        return
    # Fresh processes: a fork would carry over threads of the compiled loops.
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_one_thread)
    line = iter(todo)
    running: dict[Future[Mapping[str, Any]], tuple[Job, int]] = {}
    try:
        while True:
            while len(running) < _AHEAD * processes:
                task = next(line, None)
                if task is None:
                    break
                if task[0].name not in results.refused:
                    running[pool.submit(_once, target.measure, dict(task[0].settings), task[1])] = task
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                job, seed = running.pop(future)
                yield job, seed, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _one_thread() -> None:
    """A process per core is enough: BLAS must not start more."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def _once(
    measure: Callable[[Mapping[str, Any], int], Mapping[str, Any]], settings: Mapping[str, Any], seed: int
) -> Mapping[str, Any]:
    with warnings.catch_warnings():
        # Seeds, printed noise that is not what it claims, a delta of 1/n: all of it is what the page is about.
        warnings.simplefilter("ignore", PrivacyWarning)
        try:
            found = dict(measure(settings, seed))
        except AssumptionError as error:
            return {"refused": str(error)}
    return {**found, "value": round(float(found["value"]), 5)}
