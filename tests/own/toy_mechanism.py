"""A mechanism of one's own with its own noise and price, and a planner that uses it."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.engine.phases.descent import Descent
from entrenous.engine.plan import Plan
from entrenous.planners.registry import PURE, algorithm
from entrenous.privacy.lemmas.gradients import LEMMA_2, all_pairs_gradient_sensitivity
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.registry import part

CITATION = "nobody 2025"


@part
@dataclass(frozen=True)
class CubeNoise(Mechanism):
    """Noise of density proportional to ``exp(-max|z_i| / scale)``: the K-norm mechanism of the cube.

    It is priced by the largest change of a coordinate, which the l2 sensitivity bounds.
    """

    kind: ClassVar[str] = "cube"
    noise_field: ClassVar[str] = "scale"

    scale: float

    @property
    def pure(self):
        return self.count * self.bound.value / self.scale

    def draw(self, source, dimension):
        # A uniform point of the cube, at a distance of Gamma(dimension + 1, scale).
        point = 2.0 * np.exp(-source.exponential(dimension)) - 1.0
        return self.scale * float(np.sum(source.exponential(dimension + 1))) * point

    def rms(self, dimension):
        return self.scale * math.sqrt((dimension + 1.0) * (dimension + 2.0) / 3.0)


@algorithm("cube-steps", CITATION, "noisy steps", cost="three full gradients", lemmas=(LEMMA_2,), privacy=PURE)
def cube_steps(problem, budget, n, *, max_iter=None):
    """Steps over all pairs with the cube's noise on every gradient."""
    steps = max_iter or 3
    noise = None
    if budget.is_private:
        bound = all_pairs_gradient_sensitivity(problem, n)
        noise = CubeNoise(bound, steps * bound.value / budget.epsilon, count=steps)
    return Plan("cube-steps", CITATION, problem, budget, n, phases=(Descent(steps, 0.5, steps, gradient_noise=noise),))
