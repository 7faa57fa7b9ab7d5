"""Kang, Liu, Li, Wang: Towards sharper utility bounds for differentially private pairwise learning (2021).

Gradient descent over all pairs, noise on every gradient, the last iterate. No convexity: the empirical risk satisfies
the condition of Polyak and Lojasiewicz with mu. p is the number of parameters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from entrenous.theory.checks import assume, counts, not_negative, positive, probabilities
from entrenous.theory.stated import Setting, schedule, statement

_NEEDS = ("G-Lipschitz", "L-smooth", "Polyak-Lojasiewicz with mu", "eta = 1/L")


def _steps(s: Setting) -> int:
    return max(1, math.ceil(s.L / s.mu * math.log(max(math.e, s.n * s.epsilon / math.sqrt(s.d)))))


@statement(
    "noise",
    "Theorem 1",
    bounds="standard deviation on every gradient",
    formula="8 G sqrt(T log(1/delta))/(n epsilon)",
    conditions=("G-Lipschitz",),
    at=lambda s: {"n": s.n, "T": _steps(s), "epsilon": s.epsilon, "delta": s.delta, "G": s.G},
)
def theorem_1(n: int, T: int, epsilon: float, delta: float, G: float) -> float:
    """Noise on each of T gradients.

    Valid and loose: at (1, 1e-5) the release really has epsilon 0.520, where 4 G/n is attained.
    """
    counts(n=n, T=T)
    positive(epsilon=epsilon, G=G)
    probabilities(delta=delta)
    return 8.0 * G * math.sqrt(T * math.log(1.0 / delta)) / (n * epsilon)


@schedule(
    "Theorem 2",
    at=lambda s: {"n": s.n, "p": s.d, "epsilon": s.epsilon, "delta": s.delta, "G": s.G, "L": s.L, "c": s.L / s.mu},
    rule="T = c log(n epsilon/sqrt(p)), eta = 1/L",
)
def theorem_2_schedule(
    n: int, p: int, epsilon: float, delta: float, G: float, L: float, *, c: float = 1.0
) -> tuple[int, float, float | None, int]:
    """Steps and noise for the bound in expectation (Remark 2).

    c has to be of order L/mu for the start to be forgotten.
    """
    counts(2, n=n)
    counts(p=p)
    positive(epsilon=epsilon, L=L, c=c)
    T = max(1, math.ceil(c * math.log(max(math.e, n * epsilon / math.sqrt(p)))))
    return T, 1.0 / L, float(theorem_1(n, T, epsilon, delta, G)), T * n * (n - 1)


@schedule(
    "Theorem 3",
    at=lambda s: {"n": s.n, "epsilon": s.epsilon, "delta": s.delta, "G": s.G, "L": s.L, "c": s.L / s.mu},
    rule="T = c log(sqrt(n) epsilon), eta = 1/L",
)
def theorem_3_schedule(
    n: int, epsilon: float, delta: float, G: float, L: float, *, c: float = 1.0
) -> tuple[int, float, float | None, int]:
    """Steps and noise for the bound with high probability."""
    counts(2, n=n)
    positive(epsilon=epsilon, L=L, c=c)
    T = max(1, math.ceil(c * math.log(max(math.e, math.sqrt(n) * epsilon))))
    return T, 1.0 / L, float(theorem_1(n, T, epsilon, delta, G)), T * n * (n - 1)


@statement(
    "excess risk",
    "Theorem 2",
    bounds="E excess population risk, private",
    formula="min over tau of 2 (tau + L) A + G^2/(2 tau) + (1 - mu/L)^T gap + p sigma^2/(2 mu), "
    "A = (T/L)^2 (16 G^2/n^2 + p sigma^2/2 + 4 sqrt(2 p) G sigma/n)",
    conditions=_NEEDS,
    at=lambda s: {
        "n": s.n,
        "p": s.d,
        "T": _steps(s),
        "sigma": float(theorem_1(s.n, _steps(s), s.epsilon, s.delta, s.G)),
        "G": s.G,
        "L": s.L,
        "mu": s.mu,
        "gap": s.trivial_risk,
    },
)
def theorem_2(n: int, p: int, T: int, sigma: float, G: float, L: float, mu: float, gap: float) -> float:
    """Excess risk in expectation. `gap` is ``L(theta_0; D) - min L``, `sigma` the noise per gradient (0 for none).

    The minimum over tau is taken exactly: at tau = G/(2 sqrt(A)) its part is 2 L A + 2 G sqrt(A). With T of order
    log(n epsilon/sqrt(p)) and the printed noise it decays as sqrt(p)/(n epsilon), up to powers of T.
    """
    counts(n=n, p=p, T=T)
    positive(G=G, L=L, mu=mu)
    not_negative(sigma=sigma, gap=gap)
    assume(mu <= L, "Theorem 2 needs mu <= L", f"mu = {mu:.6g}, L = {L:.6g}", "Give the constants of one loss.")
    moved = (T / L) ** 2 * (16.0 * G**2 / n**2 + p * sigma**2 / 2.0 + 4.0 * math.sqrt(2.0 * p) * G * sigma / n)
    start = (1.0 - mu / L) ** T * gap
    return 2.0 * L * moved + 2.0 * G * math.sqrt(moved) + start + p * sigma**2 / (2.0 * mu)


@statement(
    "excess risk",
    "Remark 2",
    bounds="E excess population risk, private, its order",
    formula="C sqrt(p)/(n epsilon)",
    constant="C",
    conditions=_NEEDS,
    at=lambda s: {"n": s.n, "p": s.d, "epsilon": s.epsilon},
)
def remark_2(n: int, p: int, epsilon: float, *, C: float = 1.0) -> float:
    """The order of Theorem 2 as the paper sums it up, without powers of T and log(1/delta)."""
    counts(n=n, p=p)
    positive(epsilon=epsilon, C=C)
    return C * math.sqrt(p) / (n * epsilon)


@statement(
    "excess risk",
    "Theorem 3",
    bounds="excess population risk with probability 1 - xi, private",
    formula="2 beta/n + 4 (beta + M) sqrt(2 log(12/xi)/n) + c1 G^2/(L epsilon) sqrt(p log(12/xi) log(1/delta)/n) "
    "+ c2 G^2/(n^2 L epsilon) sqrt(p log(1/delta)/xi) + c3 G^2 p log(1/delta)/(n^2 epsilon^2 mu xi) "
    "+ (M + G^2/(2 mu)) sqrt(log(3/xi)/n)",
    constant="c1, c2, c3",
    conditions=(*_NEEDS, "0 <= loss <= M", "T of order log(sqrt(n) epsilon)"),
    at=lambda s: {
        "n": s.n,
        "p": s.d,
        "epsilon": s.epsilon,
        "delta": s.delta,
        "G": s.G,
        "L": s.L,
        "mu": s.mu,
        "M": s.M + s.G * s.D,
        "beta": 2.0 * s.G**2 / s.mu,
        "xi": s.gamma,
    },
)
def theorem_3(
    n: int,
    p: int,
    epsilon: float,
    delta: float,
    G: float,
    L: float,
    mu: float,
    M: float,
    beta: float,
    xi: float,
    *,
    c1: float = 1.0,
    c2: float = 1.0,
    c3: float = 1.0,
) -> float:
    """Excess risk with probability 1 - xi.

    `beta` is the largest over records z of the mean of beta(z; z', z''), the change of a pair's loss when z is left
    out, times n. `M` is the largest loss.
    """
    counts(n=n, p=p)
    positive(epsilon=epsilon, G=G, L=L, mu=mu, M=M, c1=c1, c2=c2, c3=c3)
    not_negative(beta=beta)
    probabilities(delta=delta, xi=xi)
    log = math.log(1.0 / delta)
    generalisation = 2.0 * beta / n + (4.0 * beta + 4.0 * M) * math.sqrt(2.0 * math.log(12.0 / xi) / n)
    noise = c1 * G**2 / (L * epsilon) * math.sqrt(p * math.log(12.0 / xi) * log / n)
    noise += c2 * G**2 / (n**2 * L * epsilon) * math.sqrt(p * log / xi)
    noise += c3 * G**2 * p * log / (n**2 * epsilon**2 * mu * xi)
    return generalisation + noise + (M + G**2 / (2.0 * mu)) * math.sqrt(math.log(3.0 / xi) / n)


class LossConstants(NamedTuple):
    """Lipschitz constant and smoothness of a pair's loss."""

    G: float
    L: float


def lemma_2_constants() -> LossConstants:
    """What Lemma 2 prints for bipartite ranking, rows of norm 1 and parameters in the unit ball: G = 2, L = 0.84.

    Both are too small: the logistic loss of ``(y - y') <theta, x - x'>`` has G = 3.93 and L = 4.
    """
    return LossConstants(2.0, (2.0 + 2.0 * math.sqrt(2.0)) / (3.0 + 2.0 * math.sqrt(2.0)))


def lemma_3_constants() -> LossConstants:
    """What Lemma 3 prints for metric learning, rows of norm 1: G = 1, L = 0.21.

    Both are too small: G = 3.97 and L = 4.
    """
    return LossConstants(1.0, (1.0 + math.sqrt(2.0)) / (6.0 + 4.0 * math.sqrt(2.0)))
