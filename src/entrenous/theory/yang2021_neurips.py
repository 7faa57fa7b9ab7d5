"""Yang, Lei, Wang, Yang, Ying: Simple stochastic and online gradient descent for pairwise learning (NeurIPS 2021).

Algorithm 1 pairs every record with the one drawn before it. Letters: n records, T steps of size eta, G Lipschitz, L
smooth, alpha strongly convex, mu the constant of Polyak and Lojasiewicz, D the diameter of the domain.

Two things hold for all of it. Indices are drawn with replacement, so a record meets itself once in n steps: in
Theorems 6-9 the empirical risk is the mean over all n^2 ordered pairs, not over the n(n-1) that the paper writes. And
all bounds on an optimisation error hold for the stream of Algorithm 2 with the population's risk in place of the
sample's.
"""

from __future__ import annotations

import math
from typing import Any

from entrenous.theory.checks import Steps, counts, no_larger_step, positive, probabilities, step_sums
from entrenous.theory.stated import Setting, schedule, statement

_CONVEX = ("convex", "G-Lipschitz")
_SMOOTH = ("convex", "G-Lipschitz", "L-smooth", "eta <= 2/L")


def _nonsmooth(s: Setting) -> dict[str, Any]:
    plan = theorem_1_schedule(s.n)
    return {"T": plan.T, "eta": plan.eta}


def _smooth(s: Setting) -> dict[str, Any]:
    plan = theorem_2_schedule(s.n)
    return {"T": plan.T, "eta": plan.eta}


@schedule("Theorem 1", at=lambda s: {"n": s.n}, rule="T = n^2, eta = c T^(-3/4)")
def theorem_1_schedule(n: int, *, c: float = 1.0) -> tuple[int, float, float | None, int]:
    """Steps for non-smooth losses. One gradient of a pair per step, so n^2 of them (Remark 4)."""
    counts(n=n)
    positive(c=c)
    T = n**2
    return T, c * float(T) ** -0.75, None, T


@schedule("Theorem 2", at=lambda s: {"n": s.n}, rule="T = n, eta = c T^(-1/2)")
def theorem_2_schedule(n: int, *, c: float = 1.0) -> tuple[int, float, float | None, int]:
    """Steps for smooth losses: n gradients (Remark 4). The theorem also needs eta <= 2/L, so c <= 2 sqrt(n)/L."""
    counts(n=n)
    positive(c=c)
    return n, c * n**-0.5, None, n


@schedule(
    "Theorem 3",
    at=lambda s: {"n": s.n, "L": s.L, "mu": s.mu},
    rule="T = c n^a mu^(-2a), a = (2L+mu)/(4L+mu); eta_j = 2/(mu (j+1))",
)
def theorem_3_schedule(n: int, L: float, mu: float, *, c: float = 1.0) -> tuple[int, float, float | None, int]:
    """Steps for losses that need not be convex. The first of the falling steps is 1/mu."""
    counts(n=n)
    positive(L=L, mu=mu, c=c)
    power = (2.0 * L + mu) / (4.0 * L + mu)
    T = max(1, math.ceil(c * n**power * mu ** (-2.0 * power)))
    return T, 1.0 / mu, None, T


@statement(
    "excess risk",
    "Theorem 1",
    bounds="E F(average) - F(w*)",
    formula="C (sqrt(T) eta + T eta/n + (1 + T eta^2)/(T eta))",
    constant="C",
    conditions=_CONVEX,
    at=lambda s: {"n": s.n, **_nonsmooth(s)},
)
def theorem_1(n: int, T: int, eta: float, *, C: float = 1.0) -> float:
    """Excess risk of Algorithm 1 on a convex loss that need not be smooth. C hides G and the distance to w*.

    With T = n^2 and eta = T^(-3/4) it is of order 1/sqrt(n).
    """
    counts(n=n, T=T)
    positive(eta=eta, C=C)
    return C * (math.sqrt(T) * eta + T * eta / n + (1.0 + T * eta**2) / (T * eta))


@statement(
    "excess risk",
    "Theorem 2",
    bounds="E F(average) - F(w*)",
    formula="C (T eta/n + (1 + T eta^2)/(T eta))",
    constant="C",
    conditions=_SMOOTH,
    at=lambda s: {"n": s.n, "L": s.L, **_smooth(s)},
)
def theorem_2(n: int, T: int, eta: float, L: float, *, C: float = 1.0) -> float:
    """Excess risk of Algorithm 1 on a convex smooth loss: 1/sqrt(n) with T = n, eta = T^(-1/2)."""
    counts(n=n, T=T)
    positive(eta=eta, L=L, C=C)
    no_larger_step(eta, 2.0 / L, "Theorem 2")
    return C * (T * eta / n + (1.0 + T * eta**2) / (T * eta))


@statement(
    "excess risk",
    "Theorem 3",
    bounds="E F(w_T) - F(w*)",
    formula="C1 T^(2L/(2L+mu))/n + C2/(T mu^2)",
    constant="C1, C2",
    conditions=("G-Lipschitz", "L-smooth", "Polyak-Lojasiewicz with mu", "bounded loss", "eta_j = 2/(mu (j+1))"),
    at=lambda s: {"n": s.n, "T": theorem_3_schedule(s.n, s.L, s.mu).T, "L": s.L, "mu": s.mu},
)
def theorem_3(n: int, T: int, L: float, mu: float, *, C1: float = 1.0, C2: float = 1.0) -> float:
    """Excess risk without convexity.

    At the recommended T both parts are n^(-a) mu^(-4L/(4L+mu)), a = (2L+mu)/(4L+mu).
    """
    counts(n=n, T=T)
    positive(L=L, mu=mu, C1=C1, C2=C2)
    return C1 * T ** (2.0 * L / (2.0 * L + mu)) / n + C2 / (T * mu**2)


@statement(
    "stability",
    "Theorem 4",
    bounds="E |A(S) - A(S')|, S and S' differing in one record",
    formula="2 sqrt(e) G eta (sqrt(5 T) + 2 T/n)",
    conditions=_CONVEX,
    at=lambda s: {"n": s.n, "G": s.G, **_nonsmooth(s)},
)
def theorem_4(n: int, T: int, eta: float, G: float) -> float:
    """How far one record moves what Algorithm 1 returns, without smoothness. In expectation over the drawn indices.

    Its growth with sqrt(T) is real: see the largest-coordinate instance in ``tests/theory``.
    """
    counts(n=n, T=T)
    positive(eta=eta, G=G)
    return 2.0 * math.sqrt(math.e) * G * eta * (math.sqrt(5.0 * T) + 2.0 * T / n)


@statement(
    "generalisation",
    "Theorem 4",
    bounds="E [F(average) - F_S(average)]",
    formula="4 sqrt(e) G^2 eta (sqrt(5 T) + 2 T/n)",
    conditions=_CONVEX,
    at=lambda s: {"n": s.n, "G": s.G, **_nonsmooth(s)},
)
def theorem_4_generalisation(n: int, T: int, eta: float, G: float) -> float:
    """Generalisation error, from the stability of Theorem 4 by Lemma 1 (twice G times it)."""
    return 2.0 * G * float(theorem_4(n, T, eta, G))


@statement(
    "stability",
    "Theorem 5",
    bounds="E |A(S) - A(S')|, S and S' differing in one record",
    formula="(4 G/n) sum eta_j",
    conditions=_SMOOTH,
    at=lambda s: {"n": s.n, "G": s.G, "L": s.L, **_smooth(s)},
)
def theorem_5(n: int, T: int, eta: Steps, G: float, L: float) -> float:
    """How far one record moves what Algorithm 1 returns, for smooth losses.

    The last iterate attains it up to a factor 1 - 1/n on the signed-product instance ``f = G z z' <u, w>`` +
    constant. For a ranking with a monotone surrogate a pair's gradient changes by G, not 2 G, and half of it is
    enough.
    """
    counts(n=n)
    positive(G=G, L=L)
    no_larger_step(eta, 2.0 / L, "Theorem 5")
    return 4.0 * G / n * step_sums(eta, T).total


@statement(
    "generalisation",
    "Theorem 5",
    bounds="E [F(average) - F_S(average)]",
    formula="(8 G^2/n) sum eta_j",
    conditions=_SMOOTH,
    at=lambda s: {"n": s.n, "G": s.G, "L": s.L, **_smooth(s)},
)
def theorem_5_generalisation(n: int, T: int, eta: Steps, G: float, L: float) -> float:
    """Generalisation error, from the stability of Theorem 5 by Lemma 1."""
    return 2.0 * G * float(theorem_5(n, T, eta, G, L))


@statement(
    "optimisation",
    "Theorem 6 (a)",
    bounds="E F_S(average) - F_S(w)",
    formula="(|w_0 - w|^2 + G^2 sum (2 eta_j eta_(j-1) + eta_j^2)) / (2 sum eta_j)",
    conditions=_CONVEX,
    at=lambda s: {"G": s.G, "distance": s.D, **_smooth(s)},
)
def theorem_6a(T: int, eta: Steps, G: float, distance: float) -> float:
    """Optimisation error for any fixed w at the given distance from the start.

    Holds for Algorithm 2 with F instead of F_S.
    """
    positive(G=G, distance=distance)
    sums = step_sums(eta, T)
    return (distance**2 + G**2 * (2.0 * sums.lagged + sums.squares)) / (2.0 * sums.total)


@statement(
    "optimisation",
    "Theorem 6 (b)",
    bounds="E F_S(average) - F_S(w)",
    formula="C G^2/(alpha T)",
    constant="C",
    conditions=("alpha-strongly convex", "G-Lipschitz", "eta_j = 2/(alpha (j+1))"),
    at=lambda s: {"T": s.n, "G": s.G, "alpha": s.alpha},
)
def theorem_6b(T: int, G: float, alpha: float, *, C: float = 1.0) -> float:
    """Optimisation error for a strongly convex loss, with steps 2/(alpha (j+1))."""
    counts(T=T)
    positive(G=G, alpha=alpha, C=C)
    return C * G**2 / (alpha * T)


@statement(
    "optimisation",
    "Theorem 7 (a)",
    bounds="F_S(average) - F_S(w), with probability 1 - delta",
    formula="(2 B sqrt(2 log(2/delta) sum eta_j^2) + |w_1 - w|^2/2 + G^2 sum (eta_(j-1) eta_j + eta_j^2/2)) "
    "/ sum eta_j",
    conditions=("convex", "G-Lipschitz", "0 <= loss <= B"),
    at=lambda s: {"G": s.G, "B": s.M + s.G * s.D, "distance": s.D, "delta": s.gamma, **_smooth(s)},
)
def theorem_7a(T: int, eta: Steps, G: float, B: float, distance: float, delta: float) -> float:
    """Optimisation error with high probability over the drawn indices.

    delta is that probability, no privacy parameter.
    """
    positive(G=G, B=B, distance=distance)
    probabilities(delta=delta)
    sums = step_sums(eta, T)
    deviation = 2.0 * B * math.sqrt(2.0 * sums.squares * math.log(2.0 / delta))
    return (deviation + distance**2 / 2.0 + G**2 * (sums.lagged + sums.squares / 2.0)) / sums.total


@statement(
    "optimisation",
    "Theorem 7 (b)",
    bounds="F_S(average) - F_S(w), with probability 1 - delta",
    formula="C G^2 log(1/delta)/(alpha T)",
    constant="C",
    conditions=("alpha-strongly convex", "G-Lipschitz", "bounded loss", "eta_j = 2/(alpha (j+1))", "weights j"),
    at=lambda s: {"T": s.n, "G": s.G, "alpha": s.alpha, "delta": s.gamma},
)
def theorem_7b(T: int, G: float, alpha: float, delta: float, *, C: float = 1.0) -> float:
    """Optimisation error with high probability for a strongly convex loss, iterates weighted by j."""
    probabilities(delta=delta)
    return math.log(1.0 / delta) * float(theorem_6b(T, G, alpha, C=C))


@statement(
    "optimisation",
    "Theorem 8",
    bounds="mean over j of E |grad F_S(w_(j-2))|^2",
    formula="F_S(w_0)/(T eta) + 8 L eta alpha_0^2",
    conditions=("L-smooth", "eta <= 1/(2 sqrt(L))", "E |gradient of a pair|^2 <= alpha_0^2"),
    at=lambda s: {"L": s.L, "start": s.M, "alpha_0": s.G, "T": s.n, "eta": s.n**-0.5 / (2.0 * s.L)},
    trivial=lambda s: s.G**2,
)
def theorem_8(T: int, eta: float, L: float, start: float, alpha_0: float) -> float:
    """How small gradients get on a smooth loss that need not be convex. `start` is F_S(w_0).

    The printed limit on steps, 1/(2 sqrt(L)), has the wrong units (those of 1/sqrt(L) and of 1/L differ); it is
    checked as printed.
    """
    counts(T=T)
    positive(eta=eta, L=L, alpha_0=alpha_0, start=start)
    no_larger_step(eta, 0.5 / math.sqrt(L), "Theorem 8")
    return start / (T * eta) + 8.0 * L * eta * alpha_0**2


@statement(
    "optimisation",
    "Theorem 9",
    bounds="E F_S(w_T) - min F_S",
    formula="(32 L alpha_0^2/mu^2) (1/(T+1) + log(e T)/(mu T (T+1)))",
    conditions=(
        "L-smooth",
        "Polyak-Lojasiewicz with mu",
        "E |gradient of a pair|^2 <= alpha_0^2",
        "eta_j = 2/(mu (j+1))",
    ),
    at=lambda s: {"T": s.n, "L": s.L, "mu": s.mu, "alpha_0": s.G},
)
def theorem_9(T: int, L: float, mu: float, alpha_0: float) -> float:
    """Optimisation error of the last iterate without convexity."""
    counts(T=T)
    positive(L=L, mu=mu, alpha_0=alpha_0)
    return 32.0 * L * alpha_0**2 / mu**2 * (1.0 / (T + 1.0) + math.log(math.e * T) / (mu * T * (T + 1.0)))


@statement(
    "noise",
    "Algorithm 3",
    bounds="standard deviation per coordinate, first phase",
    formula="12 G eta_k log(4/delta) sqrt(2 log(2.5/delta))/epsilon",
    conditions=(*_SMOOTH, "ceil(n_k log(4/delta)) steps in phase k"),
    at=lambda s: {"epsilon": s.epsilon, "delta": s.delta, "G": s.G, "eta": _theorem_10_step(s) / 4.0},
)
def printed_noise(epsilon: float, delta: float, G: float, eta: float) -> float:
    """The noise on the average of a phase whose steps are eta (4^-k times the eta of Theorem 10).

    It rests on the classical Gaussian mechanism, which is proved for epsilon <= 1. In fact it is more noise than
    needed until epsilon is about 7 (delta 1/n) or 8.4 (delta 1e-5).
    """
    positive(epsilon=epsilon, G=G, eta=eta)
    probabilities(delta=delta)
    return 12.0 * G * eta * math.log(4.0 / delta) * math.sqrt(2.0 * math.log(2.5 / delta)) / epsilon


def _theorem_10_step(s: Setting) -> float:
    log4 = math.log(4.0 / s.delta)
    private = s.epsilon / (12.0 * log4 * math.sqrt(2.0 * s.d * math.log(2.5 / s.delta)))
    return s.D / s.G * min(log4 / math.sqrt(s.n), private)


@schedule(
    "Theorem 10",
    at=lambda s: {"n": s.n, "d": s.d, "epsilon": s.epsilon, "delta": s.delta, "G": s.G, "D": s.D},
    rule="phases k = 1..ceil(log2 n) on n/2^k records: ceil(n_k log(4/delta)) steps of eta/4^k, then noise",
)
def theorem_10_schedule(
    n: int, d: int, epsilon: float, delta: float, G: float, D: float
) -> tuple[int, float, float | None, int]:
    """Steps and noise of the private algorithm.

    sigma is the first phase's; every later one is a quarter of the one before. The theorem also needs eta <= 2/L. Of
    order n log(1/delta) gradients.
    """
    counts(n=n, d=d)
    positive(epsilon=epsilon, G=G, D=D)
    probabilities(delta=delta)
    log4 = math.log(4.0 / delta)
    eta = _theorem_10_step(Setting(n, d, epsilon, delta, G=G, D=D))
    T = sum(math.ceil(n / 2**k * log4) for k in range(1, max(1, math.ceil(math.log2(n))) + 1))
    return T, eta, float(printed_noise(epsilon, delta, G, eta / 4.0)), T


@statement(
    "excess risk",
    "Theorem 10",
    bounds="E F(w_K) - F(w*), private",
    formula="C G D (1/sqrt(n) + sqrt(d) log(1/delta)^(3/2)/(epsilon n))",
    constant="C",
    conditions=(*_SMOOTH, "diameter D"),
    at=lambda s: {"n": s.n, "d": s.d, "epsilon": s.epsilon, "delta": s.delta, "G": s.G, "D": s.D},
)
def theorem_10(n: int, d: int, epsilon: float, delta: float, G: float, D: float, *, C: float = 1.0) -> float:
    """Excess risk of the private Algorithm 3 on a smooth convex loss, with its printed noise."""
    counts(n=n, d=d)
    positive(epsilon=epsilon, G=G, D=D, C=C)
    probabilities(delta=delta)
    return C * G * D * (n**-0.5 + math.sqrt(d) * math.log(1.0 / delta) ** 1.5 / (epsilon * n))


@statement(
    "excess risk",
    "Remark 9",
    bounds="E F(w_K) - F(w*), private, non-smooth",
    formula="C (1/sqrt(n) + sqrt(d log(1/delta))/(epsilon n))",
    constant="C",
    conditions=_CONVEX,
    at=lambda s: {"n": s.n, "d": s.d, "epsilon": s.epsilon, "delta": s.delta},
)
def remark_9(n: int, d: int, epsilon: float, delta: float, *, C: float = 1.0) -> float:
    """The rate stated for the private Algorithm 5 on non-smooth losses, at n^2 log(1/delta) gradients."""
    counts(n=n, d=d)
    positive(epsilon=epsilon, C=C)
    probabilities(delta=delta)
    return C * (n**-0.5 + math.sqrt(d * math.log(1.0 / delta)) / (epsilon * n))
