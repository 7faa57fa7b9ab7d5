"""Lemmas 5 and 6 for records in order of arrival, each met by the next few: in the memory of one block, for any n.

Where steps do not grow, the second record is the worst of all (docs/proofs.md, Lemma 5, *In order of arrival*), so that
no list of pairs is needed: it is current at step 1, and one of the ``min(t, s)`` in the window at steps ``2..s + 1``.
"""

from __future__ import annotations

import math

import numpy as np

from entrenous.arrays import Array
from entrenous.problem.streams.stream import Stream


def second_is_worst(stream: Stream, drift: float, jump: float) -> bool:
    """Whether the second record is: a window in order of arrival, steps that do not grow, and ``g <= D_pair``."""
    window = stream.order == "arrival" and stream.keep == "latest" and stream.buffer is not None and not stream.warmup
    # Both are (c1 + c2) R for a ranking, computed in two ways.
    return window and stream.schedule != "huai" and drift <= jump * (1.0 + 1e-9)


def smooth_window_exposure(stream: Stream) -> float:
    """``sum_t eta_t f_t A_t`` of the second record: Lemma 5 without its D_pair."""
    shares = _shares(stream)
    touched = len(shares)
    # Summed from the end: 1 less what came before would lose the digits of a small rest.
    later = math.fsum(float(stream.weights(*ends).sum()) for ends in stream.blocks(touched + 1))
    remaining = later + np.cumsum(stream.weights(1, touched)[::-1])[::-1]
    return float(np.sum(stream.step_sizes(1, touched) * shares * remaining))


def nonsmooth_window_exposure(stream: Stream, drift: float, jump: float) -> float:
    """``sum_s a_s r_s`` of the second record: Lemma 6, the untouched stretch bounded as `nonsmooth_exposure` does."""
    shares = _shares(stream)
    touched = len(shares)
    r = total = 0.0
    for share, eta, weight in zip(shares, stream.step_sizes(1, touched), stream.weights(1, touched), strict=True):
        r = math.sqrt(r * r + (eta * (1.0 - share) * drift) ** 2) + eta * share * jump
        total += weight * r
    # After the last touch r^2 grows by what the steps add, and the root is concave.
    mass = moment = energy = 0.0
    for first, last in stream.blocks(touched + 1):
        weights = stream.weights(first, last)
        squares = energy + np.cumsum(np.square(stream.step_sizes(first, last)))
        energy = float(squares[-1])
        mass += float(weights.sum())
        moment += float(weights @ squares)
    return float(total) + math.sqrt(mass * (mass * r * r + drift * drift * moment))


def _shares(stream: Stream) -> Array:
    """The second record's share of the pairs of steps ``1..s + 1``, as far as the stream goes."""
    assert stream.buffer is not None
    t = np.arange(1, min(stream.steps, stream.buffer + 1) + 1)
    shares = 1.0 / np.minimum(t, stream.buffer)
    shares[0] = 1.0
    return shares
