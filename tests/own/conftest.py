"""The toys are registered while the tests of this folder run, and for no other test."""

from importlib import import_module

import pytest

from entrenous import registry
from entrenous.planners import registry as planners
from entrenous.privacy.lemmas import bound
from entrenous.problem.tasks import task

collect_ignore_glob = ["toy_*.py"]

TOYS = ("toy_surrogate", "toy_algorithm", "toy_mechanism", "toy_task", "toy_rows")


@pytest.fixture(scope="module", autouse=True)
def _toys():
    registry.estimator_names()
    registry.load_library()
    with pytest.MonkeyPatch.context() as patch:
        for home, names in (
            (registry, ("_PARTS", "_ESTIMATORS")),
            (task, ("_TASKS",)),
            (planners, ("_ALGORITHMS",)),
            (bound, ("_REQUIREMENTS",)),
        ):
            for name in names:
                patch.setattr(home, name, dict(getattr(home, name)))
        for name in TOYS:
            import_module(f"own.{name}")
        yield
