"""Literal runs of the papers' boxes, many repetitions at once, and the instances on which bounds are measured."""

import numpy as np


def rng(seed=0):
    return np.random.default_rng(seed)


def slope(xs, ys):
    """The exponent of a power law through the points."""
    return np.polyfit(np.log(xs), np.log(ys), 1)[0]


def project(w, radius):
    return w / np.maximum(1.0, np.linalg.norm(w, axis=1, keepdims=True) / radius)


def previous_pairs(gradient, data, indices, eta, start, radius=1e9, visit=None):
    """Algorithm 1 of Yang (NeurIPS 2021): returns the average with weights eta_j on w_(j-2), and the last iterate.

    `indices` has a row per repetition and T + 1 columns, `data` a row per record, or one table per repetition.
    """
    T = indices.shape[1] - 1
    eta = np.broadcast_to(eta, T)
    before, w = start.copy(), start.copy()  # w_(j-2) and w_(j-1) of step j = 1
    average = np.zeros_like(start)
    rows = np.arange(len(indices))[:, None] if data.ndim == 3 else None
    for j in range(T):
        average += eta[j] * before
        if visit is not None:
            visit(before)
        pair = data[indices[:, [j + 1, j]]] if rows is None else data[rows, indices[:, [j + 1, j]]]
        before, w = w, project(w - eta[j] * gradient(w, pair[:, 0], pair[:, 1]), radius)
    return average / eta.sum(), w


def all_previous(gradient, data, indices, eta, start, radius=1e9):
    """Algorithm 2 of Yang (AISTATS 2021) before its noise: each record with all drawn before it."""
    T = indices.shape[1] - 1
    w, average = start.copy(), np.zeros_like(start)
    for t in range(1, T + 1):
        average += w
        new = data[indices[:, t]]
        step = sum(gradient(w, new, data[indices[:, k]]) for k in range(t)) / t
        w = project(w - eta * step, radius)
    return average / T, w


def ranking(slope_of):
    """Gradient of ``1[y=1, y'=0] phi(<w, x - x'>)``; a record is its features and its label, last."""

    def gradient(w, a, b):
        gap = a[:, :-1] - b[:, :-1]
        counts = (a[:, -1] == 1.0) & (b[:, -1] == 0.0)
        margin = np.einsum("rk,rk->r", w, gap)
        return (slope_of(margin) * counts)[:, None] * gap

    return gradient


def hinge(t):
    return np.where(t < 1.0, -1.0, 0.0)


def logistic(t):
    return -1.0 / (1.0 + np.exp(t))


def signed_product(w, a, b):
    """``f = z z' w + constant``: a record of the other sign turns every pair that it is in, but with itself."""
    return a * b


def largest_coordinate(w, a, b):
    """Ordinary pairs (both 0) pull the largest positive coordinate down; the special record (1) lifts all a little.

    The instance of Bassily, Feldman, Guzman, Talwar (2020) for pairs.
    """
    d = w.shape[1]
    step = np.zeros_like(w)
    top = w.argmax(axis=1)
    up = w[np.arange(len(w)), top] > 0.0
    step[np.arange(len(w)), top] = up
    special = ((a + b)[:, 0] > 0.0)[:, None]
    return np.where(special, -0.01 / np.sqrt(d), step)


def ranking_data(n, d=3, kappa=0.5, seed=0):
    source = rng(seed)
    y = (np.arange(n) % 2).astype(float)
    x = source.normal(size=(n, d)) + y[:, None]
    x = kappa * x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    return np.column_stack([x, y])


def all_pairs(data):
    """Both records of all n^2 ordered pairs."""
    n = len(data)
    return np.repeat(data, n, axis=0), np.tile(data, (n, 1))


def hinge_risk(w, data):
    """Mean over all n^2 ordered pairs, a number for each row of w."""
    a, b = all_pairs(data)
    kept = (a[:, -1] == 1.0) & (b[:, -1] == 0.0)
    gap = (a - b)[kept, :-1]
    return np.maximum(0.0, 1.0 - w @ gap.T).sum(axis=1) / len(data) ** 2
