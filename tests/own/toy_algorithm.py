"""An algorithm of one's own: a planner behind a name, made of the library's phases."""

from entrenous.engine.phases.descent import Descent
from entrenous.engine.plan import Plan
from entrenous.planners.registry import algorithm
from entrenous.privacy.lemmas.gradients import LEMMA_2, all_pairs_gradient_sensitivity
from entrenous.privacy.mechanisms.calibration import calibrated

CITATION = "nobody 2025"


@algorithm(
    "two-steps", CITATION, "two noisy steps over all pairs", cost="two full gradients", lemmas=(LEMMA_2,), needs=()
)
def two_steps(problem, budget, n, *, step_size=0.5):
    """Two noisy steps over all pairs, the last iterate released."""
    noise = None
    if budget.is_private:
        noise = calibrated(budget, all_pairs_gradient_sensitivity(problem, n), count=2)
    return Plan("two-steps", CITATION, problem, budget, n, phases=(Descent(2, step_size, 2, gradient_noise=noise),))
