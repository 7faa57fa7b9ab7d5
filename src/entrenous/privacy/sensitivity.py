"""How far one record can move what is released: one function per lemma, one proof each in ``docs/proofs.md``.

Adjacency is replace-one throughout and every length is in internal units. Nothing in here sees a row.
"""

from __future__ import annotations

import math

from entrenous.arrays import Array
from entrenous.errors import AssumptionError
from entrenous.parts.pair_list import PairList
from entrenous.parts.pairing import Pairing
from entrenous.parts.pointwise import PointScore
from entrenous.parts.problem import Problem
from entrenous.parts.surrogates import Square
from entrenous.privacy.realised_path import Contraction, contracting_exposure, nonsmooth_exposure, smooth_exposure


def pair_gradient_sensitivity(problem: Problem, *, same_iterate: bool) -> float:
    """Lemma 1: the largest l2 change of a pair's gradient, in one counted order, when one of its records is replaced.

    Ranking: ``(c1 + c2) R``, also when the two gradients are taken at different parameters; for a monotone surrogate
    (``c2 = 0``) that is the Lipschitz constant itself, not twice it. With ``same_iterate`` the square surrogate needs
    only ``c1 R``. Metric and error entropy: ``2 max(c1, c2) N`` with N the largest feature norm.

    Proof: ``docs/proofs.md``, Lemma 1.
    """
    c1, c2 = problem.slopes
    norm = problem.score.feature_norm(problem.diameter)
    if problem.score.label_turns_sign:
        return 2.0 * max(c1, c2) * norm
    if same_iterate and isinstance(problem.surrogate, Square):
        return max(c1, c2) * norm
    return (c1 + c2) * norm


def all_pairs_gradient_sensitivity(problem: Problem, n: int) -> float:
    """Lemma 2: the largest l2 change of the all-pairs gradient, normaliser ``1/(n(n-1))``, at one parameter.

    A record meets ``n - 1`` pairs, each counted in one order (ranking) or two: ``D_pair * orders / n``. Never divide by
    ``n_+ n_-``: with one event record the change would be R, and the divisor is itself private.

    Proof: ``docs/proofs.md``, Lemma 2.
    """
    return problem.score.counted_orders * pair_gradient_sensitivity(problem, same_iterate=True) / n


def listed_pairs_gradient_sensitivity(problem: Problem, listed: PairList) -> float:
    """Lemma 12: the largest l2 change of the mean gradient over a public list of pairs, at one parameter.

    ``k D_pair / m`` for m pairs, no record in more than k of them, when one record is replaced: its features and the
    flags of all its pairs. ``2 k max(c1, c2) R^2 / m`` for the metric. Which records are paired must not depend on
    any record or flag.

    Proof: ``docs/proofs.md``, Lemma 12.
    """
    if problem.task != "metric":
        raise AssumptionError("Lemma 12 needs a metric", f"task={problem.task!r}", "For all pairs use Lemma 2.")
    return listed.most * pair_gradient_sensitivity(problem, same_iterate=True) / listed.pairs


def strongly_convex_descent_sensitivity(
    gradient_sensitivity: float, *, strong_convexity: float, smoothness: float, step_size: float, steps: int
) -> float:
    """Lemma 3: how far the last iterate of full-batch projected gradient descent moves, strongly convex.

    ``(D/alpha)(1 - (1 - eta alpha)^T)`` for ``eta <= 2/(L + alpha)``, where alpha and L both include the ridge.

    Proof: ``docs/proofs.md``, Lemma 3.
    """
    if strong_convexity <= 0.0:
        raise AssumptionError("Lemma 3 needs strong convexity > 0", f"{strong_convexity}", "Set ridge > 0.")
    _check_step(step_size, 2.0 / (smoothness + strong_convexity), "2/(L + alpha)")
    shrink = -math.expm1(steps * math.log1p(-step_size * strong_convexity)) if step_size * strong_convexity < 1 else 1.0
    return gradient_sensitivity / strong_convexity * shrink


def convex_descent_sensitivity(
    gradient_sensitivity: float, *, smoothness: float, step_size: float, steps: int, average_from: int
) -> float:
    """Lemma 4: how far the average of ``w_m..w_T`` (m = `average_from`) of full-batch descent moves, convex and smooth.

    ``eta D (T + m)/2`` for ``eta <= 2/L`` (L over all pairs, a ridge included): the last iterate (m = T) moves
    ``T eta D``, the average of all ``w_0..w_T`` half of that.

    Proof: ``docs/proofs.md``, Lemma 4.
    """
    _check_step(step_size, 2.0 / smoothness if smoothness > 0.0 else math.inf, "2/L_full")
    return step_size * gradient_sensitivity * (steps + average_from) / 2.0


def smooth_stream_sensitivity(
    pair_sensitivity: float, *, smoothness: float, pairing: Pairing, n: int, step_sizes: Array, weights: Array
) -> float:
    """Lemma 5: how far a weighted average of the iterates of convex smooth SGD moves, on the pairs that were drawn.

    ``max_i sum_t eta_t f_{t,i} A_t D_pair``: f the share of step t's pairs that contain record i, A_t the weight of the
    iterates from t on. Needs every ``eta_t <= 2/L`` with L the smoothness of *one pair*, ridge included; the smaller
    smoothness of the all-pairs objective is not enough. The pairs must be drawn without looking at records or labels.

    Proof: ``docs/proofs.md``, Lemma 5.
    """
    _check_step(float(step_sizes.max()), 2.0 / smoothness if smoothness > 0.0 else math.inf, "2/L_pair")
    return pair_sensitivity * smooth_exposure(pairing, n, step_sizes, weights)


def nonsmooth_stream_sensitivity(
    pair_sensitivity: float, *, drift: float, pairing: Pairing, n: int, step_sizes: Array, weights: Array
) -> float:
    """Lemma 6: the same without smoothness, for any step sizes (with a ridge: at most 1/ridge).

    ``r <- sqrt(r^2 + eta^2 (1 - f)^2 g^2) + eta f D_pair`` from a record's first touch on, for every record, the output
    being the average of r. `drift` is g, the largest distance of one pair's gradients at two parameters;
    `pair_sensitivity` is the one across parameters.

    Proof: ``docs/proofs.md``, Lemma 6.
    """
    return nonsmooth_exposure(pairing, n, step_sizes, weights, drift, pair_sensitivity)


def strongly_convex_stream_sensitivity(
    *, step: Contraction, pairing: Pairing, n: int, step_sizes: Array, average: Array, sequence: Array
) -> float:
    """Lemma 10: how far strongly convex SGD moves, on the pairs that were drawn: its average, or all of its iterates.

    Every step first shrinks the distance r of two runs by ``1 - eta alpha``: with a smooth surrogate and
    ``eta <= 2/(L + alpha)`` to ``(1 - eta alpha) r + eta f D_pair``, else to
    ``sqrt((1 - eta alpha)^2 r^2 + eta^2 (1 - f)^2 g^2) + eta f D_pair``; and r never exceeds the domain's diameter.
    Returned is the largest ``sum_s average_s r_s + sqrt(sum_s (sequence_s r_s)^2)`` over the records.

    Proof: ``docs/proofs.md``, Lemma 10.
    """
    return contracting_exposure(pairing, n, step_sizes, average, sequence, step)


def class_moments_sensitivity(radius: float, weights: tuple[float, float, float]) -> float:
    """Lemma 8: l2 sensitivity of one weighted release of a class count, class sums and class second moments.

    Weights ``(a, b, c)`` for the event count, the two classes' sums, the two classes' second moments (isometric
    coordinates), rows of norm at most `radius`. Attained.

    Proof: ``docs/proofs.md``, Lemma 8.
    """
    a, b, c = weights
    k = radius
    classes_differ = math.sqrt(a**2 + 2.0 * b**2 * k**2 + 2.0 * c**2 * k**4)
    if b**2 >= 2.0 * c**2 * k**2:
        class_kept = 2.0 * b * k
    else:
        class_kept = math.sqrt(2.0 * b**2 * k**2 + 2.0 * c**2 * k**4 + b**4 / (2.0 * c**2))
    return max(classes_differ, class_kept)


def pointwise_gradient_sensitivity(problem: Problem, records: int) -> float:
    """Lemma 9: the largest l2 change of the mean gradient of `records` pointwise losses when one record is replaced.

    ``2 G / m`` with ``G = max(c1, c2) N``, N the largest norm of ``(x, 1)``. Attained by the hinge.

    Proof: ``docs/proofs.md``, Lemma 9.
    """
    if not isinstance(problem.score, PointScore):
        raise AssumptionError("Lemma 9 needs a pointwise loss", f"task={problem.task!r}", "For pairs use Lemma 1 or 2.")
    return 2.0 * problem.lipschitz / records


def feature_histograms_sensitivity(n_features: int, *, norm: int) -> float:
    """Lemma 11: l1 (`norm` = 1) or l2 (`norm` = 2) sensitivity of one histogram per feature, released together.

    ``2 d`` and ``sqrt(2 d)``: in each of the d histograms a replaced record leaves one bin and enters another. The
    number of bins and their edges do not matter, nor does what earlier rounds said about where to put them. Attained.

    Proof: ``docs/proofs.md``, Lemma 11.
    """
    return float((2.0 * n_features) ** (1.0 / norm))


def clipped_mean_sensitivity(n: int, clip: float) -> float:
    """Lemma 13: the mean of n numbers of one record each, clipped to ``[-clip, clip]``, moves at most ``2 clip/n``.

    Replace-one, in the numbers' units. The numbers may depend on anything that was released before. Attained.

    Proof: ``docs/proofs.md``, Lemma 13.
    """
    return 2.0 * clip / n


def _check_step(step_size: float, largest: float, rule: str) -> None:
    if not 0.0 < step_size <= largest * (1.0 + 1e-12):
        raise AssumptionError(
            f"the stability proof needs a positive step size of at most {rule} = {largest:.6g}",
            f"{step_size:.6g}",
            "Use a smaller step size, a smaller radius, or a surrogate with less curvature.",
        )
