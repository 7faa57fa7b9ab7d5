"""Algorithms that the papers compare themselves with."""

from __future__ import annotations

from entrenous.engine.phases.saddle_point import SaddlePoint
from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError, InputError
from entrenous.planners.assumptions import steps_from
from entrenous.planners.registry import NOT_PRIVATE, PURE, algorithm
from entrenous.planners.streams import largest_step, step_from, streaming_plan
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.stream_lemmas import STREAM_LEMMAS
from entrenous.problem.problem import Problem
from entrenous.problem.streams.stream import Keep, Stream

SGD_PAIR = "Lei et al. 2020, NeurIPS"
OLP = "Kar et al. 2013, ICML"
OAM = "Zhao et al. 2011, ICML"
SPAUC = "Lei and Ying 2021, JMLR"

_SPAUC_STEP = 4.0


@algorithm(
    "sgd-pair",
    SGD_PAIR,
    "SGD on random pairs",
    cost="n pairs",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
)
def sgd_pair(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    step_size: float | None = None,
    index_seed: int,
) -> Plan:
    """SGD on a fresh random pair at every step, mean of the iterates.

    T = n, ``eta = (C/G) T^-1/2``, at most ``2/L`` for a smooth surrogate. Not private in its paper; with a budget,
    noise on the average (Lemma 5 or 6). Cost: T pair gradients.

    >>> import entrenous as en
    >>> en.plan("sgd-pair", n=1000, n_features=5, epsilon=None).steps
    1000
    """
    steps = steps_from(max_iter, n)
    natural = problem.domain.radius / problem.lipschitz * steps**-0.5
    size = step_from(step_size, min(natural, largest_step(problem)))
    stream = Stream(steps, size, order="random-pairs", average="before")
    return streaming_plan("sgd-pair", SGD_PAIR, problem, budget, n, stream, index_seed)


@algorithm(
    "olp",
    OLP,
    "one pass against a reservoir",
    cost="200 n pairs",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
    online=True,
)
def olp(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    step_size: float | None = None,
    buffer: int = 200,
    replacement: bool = True,
    index_seed: int,
) -> Plan:
    """OLP: one pass, each record against a reservoir with replacement of `buffer` earlier ones, mean of the iterates.

    ``eta_t = (C/G) t^-1/2``, at most ``2/L`` for a smooth surrogate. `replacement=False` keeps different records. The
    reservoir is drawn without looking at the records, so with a budget noise on the average makes it private (Lemma 5
    or 6). Cost: 200 n pair gradients.

    >>> import entrenous as en
    >>> en.plan("olp", n=1000, n_features=5, epsilon=None).pair_gradients
    199800
    """
    if not isinstance(replacement, bool):
        raise InputError("replacement must be True or False", repr(replacement), "True is the paper's.")
    keep: Keep = "reservoir" if replacement else "reservoir without replacement"
    stream = _one_pass(problem, n, step_size, buffer, keep)
    return streaming_plan("olp", OLP, problem, budget, n, stream, index_seed)


@algorithm(
    "oam",
    OAM,
    "one pass against a reservoir of the other class",
    cost="100 n pairs",
    tasks=("auc",),
    privacy=NOT_PRIVATE,
    surrogate="hinge",
    online=True,
)
def oam(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    step_size: float | None = None,
    buffer: int = 100,
    index_seed: int,
) -> Plan:
    """OAM: one pass, each record against a reservoir of `buffer` earlier ones of the other class, mean of the iterates.

    Which records meet depends on their labels, so there is no private version. Cost: up to 100 n pair gradients.

    >>> import entrenous as en
    >>> en.plan("oam", n=1000, n_features=5, epsilon=None).problem.surrogate
    Hinge()
    """
    if budget.is_private:
        raise AssumptionError(
            "oam pairs records by their labels, which no sensitivity covers",
            f"epsilon={budget.epsilon:g}",
            "Use olp, whose reservoir looks at no label, or epsilon=None.",
        )
    stream = _one_pass(problem, n, step_size, buffer, "reservoir per class")
    return streaming_plan("oam", OAM, problem, budget, n, stream, index_seed)


@algorithm(
    "spauc",
    SPAUC,
    "one pass over single records and running class means",
    cost="n record gradients",
    tasks=("auc",),
    privacy=NOT_PRIVATE,
    needs=("square surrogate",),
    surrogates=("square",),
    surrogate="square",
    online=True,
)
def spauc(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    step_size: float | None = None,
) -> Plan:
    """SPAUC: one pass over single records and running class means, square surrogate, mean of the iterates.

    ``eta_t = step_size/((h_t + ridge) sqrt(t))`` with `h_t` the trace of the objective's Hessian on the records so far,
    so `step_size` has no unit; 4 by default, chosen by held-out AUC on ijcnn1, letter, diabetes, german and usps. The
    running means and variances are of private rows, so there is no private version. Cost: n record gradients.

    >>> import entrenous as en
    >>> en.plan("spauc", n=1000, n_features=5, epsilon=None).steps
    1000
    """
    if budget.is_private:
        raise AssumptionError(
            "spauc uses class means of all records so far at every step, which no sensitivity covers",
            f"epsilon={budget.epsilon:g}",
            "Use moments, which releases class means with noise, or epsilon=None.",
        )
    phase = SaddlePoint(n, step_from(step_size, _SPAUC_STEP))
    return Plan("spauc", SPAUC, problem, budget, n, phases=(phase,))


def _one_pass(problem: Problem, n: int, step_size: float | None, buffer: int, keep: Keep) -> Stream:
    if isinstance(buffer, bool) or not isinstance(buffer, int) or buffer < 1:
        raise InputError("buffer must be an int >= 1", repr(buffer), "The papers use 200 (olp) and 100 (oam).")
    natural = problem.domain.radius / problem.lipschitz
    size = step_from(step_size, min(natural, largest_step(problem)))
    return Stream(n - 1, size, order="arrival", buffer=buffer, decay=0.5, average="before", keep=keep)
