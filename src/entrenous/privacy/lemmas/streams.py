"""How far one record can move what a stream of single steps returns, on the pairs that were drawn."""

from __future__ import annotations

import math

from entrenous.arrays import Array
from entrenous.privacy.lemmas.contraction import Contraction
from entrenous.privacy.lemmas.descent import check_step
from entrenous.privacy.lemmas.realised_path import (
    contracting_exposure,
    nonsmooth_exposure,
    smooth_exposure,
)
from entrenous.problem.streams.pairing import Pairing


def smooth_stream_sensitivity(
    pair_sensitivity: float, *, smoothness: float, pairing: Pairing, n: int, step_sizes: Array, weights: Array
) -> float:
    """Lemma 5: how far a weighted average of the iterates of convex smooth SGD moves, on the pairs that were drawn.

    ``max_i sum_t eta_t f_{t,i} A_t D_pair``: f the share of step t's pairs that contain record i, A_t the weight of the
    iterates from t on. Needs every ``eta_t <= 2/L`` with L the smoothness of *one pair*, ridge included; the smaller
    smoothness of the all-pairs objective is not enough. The pairs must be drawn without looking at records or labels.

    Proof: ``docs/proofs.md``, Lemma 5.
    """
    check_step(float(step_sizes.max()), 2.0 / smoothness if smoothness > 0.0 else math.inf, "2/L_pair")
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
