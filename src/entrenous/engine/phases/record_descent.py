"""What descents over single records share: all of them at every step, noise on every gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from entrenous.engine.phases.phase import Phase
from entrenous.privacy.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class RecordDescent(Phase):
    """Full-batch descent on a loss of single records of norm at most 1. It asks for sums only."""

    on_grid: ClassVar[bool] = True
    lemma: ClassVar[str]
    """The one that bounds a gradient, in units of its sensitivity."""

    total_steps: int
    noise: Mechanism

    @property
    def mechanism(self) -> Mechanism:
        return self.noise

    @property
    def lemmas(self) -> tuple[str, ...]:
        return (self.lemma,)

    @property
    def numbers(self) -> dict[str, Any]:
        return {"steps": self.total_steps}

    @property
    def releases(self) -> int:
        return self.total_steps

    @property
    def unit_rows(self) -> bool:
        return True

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.total_steps

    def pair_gradients(self, n: int) -> int:
        return 0
