"""How far one record can move what a stream returns: the better of Lemmas 5 and 6."""

from __future__ import annotations

from entrenous.parts.problem import Problem
from entrenous.parts.streams import Stream
from entrenous.privacy.sensitivity import (
    nonsmooth_stream_sensitivity,
    pair_gradient_sensitivity,
    smooth_stream_sensitivity,
)


def stream_sensitivity(stream: Stream, problem: Problem, n: int, seed: int, phase: int) -> tuple[float, str]:
    """The sensitivity on the pairs that the seed draws among n records, and the lemma that gives it.

    Lemma 6 needs convexity only; where the surrogate is smooth and the steps short, Lemma 5 holds as well, and the
    smaller bound counts.
    """
    pairing, eta, weights = stream.pairing(n, seed, phase), stream.step_sizes(), stream.weights()
    share = problem.order_share
    across = share * pair_gradient_sensitivity(problem, same_iterate=False)
    drift = share * sum(problem.slopes) * problem.score.feature_norm(problem.diameter)
    bounds = [
        (
            nonsmooth_stream_sensitivity(across, drift=drift, pairing=pairing, n=n, step_sizes=eta, weights=weights),
            "Lemma 6",
        )
    ]
    smoothness = problem.ordered_smoothness + problem.ridge
    if float(eta.max()) * smoothness <= 2.0:
        same = share * pair_gradient_sensitivity(problem, same_iterate=True)
        smooth = smooth_stream_sensitivity(
            same, smoothness=smoothness, pairing=pairing, n=n, step_sizes=eta, weights=weights
        )
        bounds.append((smooth, "Lemma 5"))
    bound, lemma = min(bounds)
    # The average of very short streams is the public start; a mechanism still needs a positive number.
    return max(bound, 1e-12), lemma
