"""What a phase of a plan is. Fields are public numbers; rows and noise are arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.probability_link import LogOddsMap
from entrenous.engine.phases.scale_noise import ScaleNoise
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.engine.streams.fold import Fold
from entrenous.errors import PrivacyError
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.mechanisms.sampling import Sampling
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.pair_list import PairList
from entrenous.problem.problem import Problem


class TargetSpread(NamedTuple):
    """Where most targets are, in internal units; what is known without a release: anywhere."""

    centre: float = 0.0
    scale: float = 1.0


class Released(NamedTuple):
    """What a phase releases: a parameter, an intercept or bounds. Internal units (`problem.features.domain`)."""

    w: Array
    intercept: float | None = None
    steps: int = 0
    noise: Array | None = None
    """Sd of the noise in each coefficient where the phase knows better than `noise_per_coefficient`."""
    features: FeatureDomain | None = None
    """The domain that later phases clip rows into, if this phase looked for one."""
    event_share: float | None = None
    """Share of events among the records, if this phase looked for it."""
    log_odds_map: LogOddsMap | None = None
    """What corrects the probabilities, if this phase looked for it."""
    scale_noise: ScaleNoise | None = None
    """What noise in the scales of `features` does to coefficients, if this phase released scales."""
    targets: TargetSpread | None = None
    """Where most targets are, if this phase looked for it."""
    error_cap: float | None = None
    """The size of errors beyond which none pulls harder, in internal units, if this phase looked for it."""

    def followed_by(self, later: Released) -> Released:
        """Both results as one, after a later phase: its parameter, and of the rest whichever released it last."""
        return later._replace(
            intercept=self.intercept if later.intercept is None else later.intercept,
            steps=self.steps + later.steps,
            noise=self.noise if later.noise is None else later.noise,
            scale_noise=self.scale_noise if later.scale_noise is None else later.scale_noise,
            features=self.features if later.features is None else later.features,
            event_share=self.event_share if later.event_share is None else later.event_share,
            log_odds_map=self.log_odds_map if later.log_odds_map is None else later.log_odds_map,
            targets=self.targets if later.targets is None else later.targets,
            error_cap=self.error_cap if later.error_cap is None else later.error_cap,
        )


@dataclass(frozen=True)
class Phase(ABC):
    """One part of a plan's work, on all records or on the share of them that `records` names.

    A phase states its release: the mechanism, how often it is used, the lemmas that can bound what gets the noise, and
    the numbers that reproduce that bound. `engine.plan_checks` checks these when a plan is built.
    """

    reads_raw_rows: ClassVar[bool] = False
    """Whether it takes rows in the user's units, before they are clipped and mapped."""
    finds_bounds: ClassVar[bool] = False
    """Whether it releases a domain that later phases, and whoever scores rows, clip into."""
    gives_probability: ClassVar[bool] = False
    """Whether its scores have a link to the probability of an event."""
    on_grid: ClassVar[bool] = False
    """Whether it takes rows cut to a grid, so that its sums over them are exact (`engine.rows.exact_sums`)."""
    needs_array_for: ClassVar[tuple[str, str] | None] = None
    """What it needs an array of rows for and how to do without, where that is not another algorithm."""

    @property
    def records(self) -> tuple[int, int] | None:
        """The slice that it sees of the order that the index seed draws; ``None``: all records, as they came."""
        return None

    @property
    def pair_list(self) -> PairList | None:
        """Public numbers of the list of pairs that it takes in place of labels; ``None``: it takes labels."""
        return None

    @property
    def unit_rows(self) -> bool:
        """Whether it needs rows of norm at most 1 even without privacy: its steps are meant for such rows."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether `run` takes rows that have no array, as sparse ones: it asks for scores, sums and moments only."""
        return False

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism | None:
        """What adds its noise; ``None`` in a plan without privacy."""

    def covering(self, error: float) -> Self:
        """The same phase, whose noise also covers so large an error of what is computed (`privacy.lemmas.rounding`)."""
        mechanism = self.mechanism
        if mechanism is None or mechanism.bound.error == error:
            return self
        held = [f.name for f in fields(self) if getattr(self, f.name) is mechanism]
        if not held:
            raise PrivacyError(
                "the mechanism of a phase must be one of its fields",
                f"another one in {type(self).__name__}",
                "Store the mechanism itself.",
            )
        return replace(self, **{held[0]: replace(mechanism, bound=replace(mechanism.bound, error=error))})

    @property
    @abstractmethod
    def lemmas(self) -> tuple[str, ...]:
        """The lemmas that can bound what its mechanism is used on."""

    @property
    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """The public numbers that its lemma needs, as a certificate states them."""

    @property
    def releases(self) -> int:
        """How often it uses its mechanism."""
        return 1

    def sampling(self, n: int) -> Sampling | None:
        """The secret sample of n records that every release looks at; ``None``: all of them."""
        return None

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many gradient steps it takes at most."""

    @abstractmethod
    def pair_gradients(self, n: int) -> int:
        """How many pair gradients it evaluates."""

    @abstractmethod
    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        """Standard deviation that the noise alone gives each released coefficient, before projection."""

    @abstractmethod
    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        """Run on these records from what earlier phases released; what leaves has the mechanism's noise on it."""


@dataclass(frozen=True)
class StatisticPhase(Phase):
    """A phase that releases a statistic beside the parameter: it takes no step and puts no noise on a coefficient.

    It asks for sums and counts only, so it takes rows of any kind.
    """

    lemma: ClassVar[str]
    """The one that bounds the statistic."""

    @property
    def lemmas(self) -> tuple[str, ...]:
        return (self.lemma,)

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return 0

    def pair_gradients(self, n: int) -> int:
        return 0

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        return 0.0


@dataclass(frozen=True)
class OnlinePhase(Phase):
    """A phase that can take its records one by one: `begin`, feed the fold, `finish`."""

    @property
    def in_order(self) -> bool:
        """Whether records are used in order of arrival, so that chunks will do."""
        return True

    @property
    def every_iterate(self) -> bool:
        """Whether its noise pays for a release after every record, not only after the last."""
        return False

    @abstractmethod
    def up_to(self, n: int) -> OnlinePhase:
        """The same phase for the first n records."""

    @abstractmethod
    def begin(self, problem: Problem, w: Array) -> Fold:
        """A new fold, which has seen no record yet, from the public start w."""

    @abstractmethod
    def finish(self, problem: Problem, fold: Fold, noise: NoiseSource) -> Released:
        """What leaves, noise added."""


def geometric_sum(ratio: float, terms: AnyArray) -> Array:
    """``1 + r + ... + r^(terms - 1)``, for each entry of `terms`."""
    return np.asarray(terms, dtype=float) if ratio == 1.0 else (1.0 - ratio**terms) / (1.0 - ratio)


def release_parameter(
    mechanism: Mechanism | None, problem: Problem, w: Array, noise: NoiseSource, unit: float = 1.0
) -> Array:
    """A parameter or gradient with the mechanism's noise on it; unchanged where there is no mechanism.

    Noise is added in isometric coordinates, to ``unit * w``, and the result is divided by `unit`.
    """
    if mechanism is None:
        return w
    if problem.score.plain_coordinates and unit == 1.0:
        return mechanism.release(w, noise)
    coordinates = problem.score.to_coordinates(w)
    if unit != 1.0:
        coordinates = coordinates * unit
    released = mechanism.release(coordinates, noise)
    if unit != 1.0:
        released = released / unit
    return problem.score.from_coordinates(released, problem.n_features)
