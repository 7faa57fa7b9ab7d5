"""Wang et al.: Differentially private SGD for pointwise and pairwise learning (2024).

Algorithm 1 draws a record per step, Algorithm 2 a pair; both add Gaussian noise to every gradient and return the
average. `hoelder` is the paper's alpha in [0, 1): how smooth a loss is; C the open constant of a rate, c that of a
step.
"""

from __future__ import annotations

import math
from typing import Any

from entrenous.errors import InputError
from entrenous.theory.checks import (
    Steps,
    assume,
    counts,
    no_larger_step,
    not_negative,
    positive,
    probabilities,
    step_sums,
)
from entrenous.theory.stated import Setting, schedule, statement

_LOSS = ("convex", "nonnegative", "G-Lipschitz")
_SMOOTH = (*_LOSS, "L-smooth", "eta <= min(2/L, 1)", "T of order n")
_HOELDER = (*_LOSS, "Hoelder smooth with L", "eta <= min(2/L, 1)")


def _budget(s: Setting) -> dict[str, Any]:
    return {"n": s.n, "d": s.d, "epsilon": s.epsilon, "delta": s.delta}


def _rate(first: float, n: int, d: int, epsilon: float, delta: float, C: float) -> float:
    counts(n=n, d=d)
    positive(epsilon=epsilon, C=C)
    probabilities(delta=delta)
    return C * (first + math.sqrt(d * math.log(1.0 / delta)) / (n * epsilon))


def _check_hoelder(hoelder: float) -> None:
    if not 0.0 <= hoelder < 1.0:
        raise InputError(
            "hoelder must lie in [0, 1)", repr(hoelder), "For a smooth loss use the theorem for smooth losses."
        )


def _variance(factor: float, n: int, T: int, epsilon: float, delta: float, G: float, beta: float) -> float:
    counts(n=n, T=T)
    positive(epsilon=epsilon, G=G)
    probabilities(delta=delta, beta=beta)
    order = math.log(1.0 / delta) / ((1.0 - beta) * epsilon) + 1.0
    return factor * G**2 * T / (beta * n**2 * epsilon) * order


def _check_beta(variance: float, share: float, epsilon: float, delta: float, G: float, beta: float) -> None:
    """The side conditions of Theorems 2 and 5; `share` is n over the number of records of a step."""
    order = math.log(1.0 / delta) / ((1.0 - beta) * epsilon) + 1.0
    way_out = "Try another beta (a log grid from 1e-7), more steps, or account for the noise exactly."
    needs = f"the theorem needs a variance of at least {2.68 * G**2:.6g}"
    assume(variance >= 2.68 * G**2, needs, f"{variance:.6g}", way_out)
    inside = share / (order * (1.0 + variance / (4.0 * G**2)))
    most = variance / (6.0 * G**2) * math.log(inside)
    assume(order - 1.0 <= most, f"the theorem needs lambda - 1 <= {most:.6g}", f"{order - 1.0:.6g}", way_out)


@statement(
    "noise",
    "Theorem 2, Algorithm 1",
    bounds="standard deviation on every gradient, pointwise",
    formula="sqrt(14 G^2 T/(beta n^2 epsilon) (log(1/delta)/((1-beta) epsilon) + 1))",
    conditions=(
        "G-Lipschitz",
        "variance >= 2.68 G^2",
        "lambda - 1 <= variance/(6 G^2) log(n/(lambda (1 + variance/(4 G^2))))",
    ),
    at=lambda s: {"n": s.n, "T": s.n, "epsilon": s.epsilon, "delta": s.delta, "G": s.G, "beta": 0.5},
)
def theorem_2(n: int, T: int, epsilon: float, delta: float, G: float, beta: float, *, check: bool = True) -> float:
    """Noise of the pointwise algorithm.

    Its conditions on beta often have no solution (n = 256, T = n, epsilon = 1: none). `check=False` gives the printed
    formula without them: then it proves nothing.
    """
    variance = _variance(14.0, n, T, epsilon, delta, G, beta)
    if check:
        _check_beta(variance, float(n), epsilon, delta, G, beta)
    return math.sqrt(variance)


@statement(
    "noise",
    "Theorem 5, Algorithm 2",
    bounds="standard deviation on every gradient, pairwise",
    formula="sqrt(56 G^2 T/(beta n^2 epsilon) (log(1/delta)/((1-beta) epsilon) + 1))",
    conditions=(
        "G-Lipschitz",
        "variance >= 2.68 G^2",
        "lambda - 1 <= variance/(6 G^2) log(n/(2 lambda (1 + variance/(4 G^2))))",
    ),
    at=lambda s: {"n": s.n, "T": s.n, "epsilon": s.epsilon, "delta": s.delta, "G": s.G, "beta": 0.5},
)
def theorem_5(n: int, T: int, epsilon: float, delta: float, G: float, beta: float, *, check: bool = True) -> float:
    """Noise of the pairwise algorithm, with the same reservations as Theorem 2."""
    variance = _variance(56.0, n, T, epsilon, delta, G, beta)
    if check:
        _check_beta(variance, n / 2.0, epsilon, delta, G, beta)
    return math.sqrt(variance)


def _schedule(
    n: int,
    T: int,
    first: float,
    private: float,
    pairs: bool,
    epsilon: float,
    delta: float,
    G: float,
    beta: float,
    c: float,
) -> tuple[int, float, float | None, int]:
    positive(c=c)
    variance = _variance(56.0 if pairs else 14.0, n, T, epsilon, delta, G, beta)
    return T, c * min(first, private), math.sqrt(variance), T


def _private_step(d: int, epsilon: float, delta: float) -> float:
    counts(d=d)
    positive(epsilon=epsilon)
    probabilities(delta=delta)
    return epsilon / math.sqrt(d * math.log(1.0 / delta))


@schedule(
    "Theorem 6 (3: pairs=False)",
    at=lambda s: {**_budget(s), "G": s.G},
    rule="T = n, eta = c min(1/sqrt(n), epsilon/sqrt(d log(1/delta))); low noise: the second",
)
def smooth_schedule(
    n: int,
    d: int,
    epsilon: float,
    delta: float,
    G: float,
    *,
    pairs: bool = True,
    low_noise: bool = False,
    beta: float = 0.5,
    c: float = 1.0,
) -> tuple[int, float, float | None, int]:
    """Steps and noise of Theorems 3 and 6 for smooth losses, part (a), or (b) where the best risk is 0.

    Also eta <= min(2/L, 1). The noise is the printed formula at `beta`; whether its conditions hold, `theorem_2` and
    `theorem_5` say.
    """
    counts(n=n)
    first = math.inf if low_noise else n**-0.5
    return _schedule(n, n, first, _private_step(d, epsilon, delta), pairs, epsilon, delta, G, beta, c)


@schedule(
    "Theorem 7 (4: pairs=False)",
    at=lambda s: {**_budget(s), "G": s.G, "hoelder": s.hoelder},
    rule="hoelder a >= 1/2: as for smooth losses; below: T = n^((2-a)/(1+a)), eta = c min(n^(3(a-1)/(2(1+a))), ...); "
    "low noise: T = n^(2/(1+a)), eta = c min(n^((a^2+2a-3)/(2(1+a))), n epsilon/(T sqrt(d log(1/delta))))",
)
def hoelder_schedule(
    n: int,
    d: int,
    epsilon: float,
    delta: float,
    G: float,
    hoelder: float,
    *,
    pairs: bool = True,
    low_noise: bool = False,
    beta: float = 0.5,
    c: float = 1.0,
) -> tuple[int, float, float | None, int]:
    """Steps and noise of Theorems 4 and 7 for losses that are only Hoelder smooth. Also eta <= min(2/L, 1)."""
    counts(n=n)
    _check_hoelder(hoelder)
    a, private = hoelder, _private_step(d, epsilon, delta)
    if low_noise:
        T = math.ceil(float(n) ** (2.0 / (1.0 + a)))
        first, private = float(n) ** ((a**2 + 2.0 * a - 3.0) / (2.0 * (1.0 + a))), private * n / T
    elif a >= 0.5:
        T, first = n, n**-0.5
    else:
        T = math.ceil(float(n) ** ((2.0 - a) / (1.0 + a)))
        first = float(n) ** (3.0 * (a - 1.0) / (2.0 * (1.0 + a)))
    return _schedule(n, T, first, private, pairs, epsilon, delta, G, beta, c)


def _smooth_rate(n: int, d: int, epsilon: float, delta: float, low_noise: bool, C: float) -> float:
    counts(n=n)
    return _rate(0.0 if low_noise else n**-0.5, n, d, epsilon, delta, C)


def _hoelder_rate(n: int, d: int, epsilon: float, delta: float, hoelder: float, low_noise: bool, C: float) -> float:
    counts(n=n)
    _check_hoelder(hoelder)
    return _rate(n ** (-(1.0 + hoelder) / 2.0) if low_noise else n**-0.5, n, d, epsilon, delta, C)


_SMOOTH_FORMULA = "C (1/sqrt(n) + sqrt(d log(1/delta))/(n epsilon)); low noise: without 1/sqrt(n)"
_HOELDER_FORMULA = "C (1/sqrt(n) + sqrt(d log(1/delta))/(n epsilon)); low noise: n^(-(1+a)/2) for 1/sqrt(n)"


@statement(
    "excess risk",
    "Theorem 3",
    bounds="E excess population risk, private, pointwise",
    formula=_SMOOTH_FORMULA,
    constant="C",
    conditions=_SMOOTH,
    at=_budget,
)
def theorem_3(n: int, d: int, epsilon: float, delta: float, *, low_noise: bool = False, C: float = 1.0) -> float:
    """Excess risk of Algorithm 1 on a smooth loss: part (a), or (b) where the best risk is 0 (`low_noise`)."""
    return _smooth_rate(n, d, epsilon, delta, low_noise, C)


@statement(
    "excess risk",
    "Theorem 4",
    bounds="E excess population risk, private, pointwise, non-smooth",
    formula=_HOELDER_FORMULA,
    constant="C",
    conditions=_HOELDER,
    at=lambda s: {**_budget(s), "hoelder": s.hoelder},
)
def theorem_4(
    n: int, d: int, epsilon: float, delta: float, hoelder: float, *, low_noise: bool = False, C: float = 1.0
) -> float:
    """Excess risk of Algorithm 1 on a loss with a Hoelder gradient:

    part (a), or (b) where the best risk is 0 (`low_noise`).
    """
    return _hoelder_rate(n, d, epsilon, delta, hoelder, low_noise, C)


@statement(
    "excess risk",
    "Theorem 6",
    bounds="E excess population risk, private, pairwise",
    formula=_SMOOTH_FORMULA,
    constant="C",
    conditions=_SMOOTH,
    at=_budget,
)
def theorem_6(n: int, d: int, epsilon: float, delta: float, *, low_noise: bool = False, C: float = 1.0) -> float:
    """Theorem 3 for Algorithm 2, one random pair per step."""
    return _smooth_rate(n, d, epsilon, delta, low_noise, C)


@statement(
    "excess risk",
    "Theorem 7",
    bounds="E excess population risk, private, pairwise, non-smooth",
    formula=_HOELDER_FORMULA,
    constant="C",
    conditions=_HOELDER,
    at=lambda s: {**_budget(s), "hoelder": s.hoelder},
)
def theorem_7(
    n: int, d: int, epsilon: float, delta: float, hoelder: float, *, low_noise: bool = False, C: float = 1.0
) -> float:
    """Theorem 4 for Algorithm 2.

    Its Remark 5 quotes T = n^(2/(1+a)) for part (a), where the theorem has n^((2-a)/(1+a)).
    """
    return _hoelder_rate(n, d, epsilon, delta, hoelder, low_noise, C)


def self_bounding(L: float, hoelder: float, gradient_at_zero: float = 0.0) -> float:
    """The constant M_(alpha,1) of eq. (4).

    It says ``|gradient| <= M_(alpha,1) f^(alpha/(1+alpha))``. At 0 it is `gradient_at_zero` + L.
    """
    positive(L=L)
    _check_hoelder(hoelder)
    not_negative(gradient_at_zero=gradient_at_zero)
    if hoelder == 0.0:
        return gradient_at_zero + L
    return float((1.0 + 1.0 / hoelder) ** (hoelder / (1.0 + hoelder)) * L ** (1.0 / (1.0 + hoelder)))


def _low(s: Setting) -> dict[str, Any]:
    return {"n": s.n, "T": s.n, "eta": s.n**-0.5, "L": s.L, "risk": s.M}


def _squared_diameter(s: Setting) -> float:
    return s.D**2


@statement(
    "stability",
    "Lemma 14 (a)",
    bounds="mean over i of E |A(S) - A(S^(i))|^2, pointwise",
    formula="(8 e (1 + T/n) L/n) sum eta_j^2 E F_S(w_j)",
    conditions=("convex", "nonnegative", "L-smooth", "eta <= 2/L"),
    at=_low,
    trivial=_squared_diameter,
)
def lemma_14a(n: int, T: int, eta: Steps, L: float, risk: float) -> float:
    """Squared distance that a fresh record moves Algorithm 1, on average. `risk` is the largest of the E F_S(w_j)."""
    counts(n=n)
    positive(L=L)
    not_negative(risk=risk)
    no_larger_step(eta, 2.0 / L, "Lemma 14 (a)")
    return 8.0 * math.e * (1.0 + T / n) * L / n * step_sums(eta, T).squares * risk


@statement(
    "stability",
    "Lemma 14 (b)",
    bounds="mean over i of E |A(S) - A(S^(i))|^2, pointwise, non-smooth",
    formula="e M3^2 T eta^(2/(1-a)) + (4 e M1^2 (1 + T/n)/n) T eta^2 risk^(2a/(1+a)), M3 = sqrt((1-a)/(1+a)) "
    "(2^-a L)^(1/(1-a))",
    conditions=("convex", "nonnegative", "Hoelder smooth with L"),
    at=lambda s: {**_low(s), "hoelder": s.hoelder},
    trivial=_squared_diameter,
)
def lemma_14b(
    n: int, T: int, eta: float, L: float, risk: float, hoelder: float, *, gradient_at_zero: float = 0.0
) -> float:
    """The same without smoothness. `risk` bounds the F_S(w_j) as in (a); M1 is `self_bounding`."""
    counts(n=n, T=T)
    positive(eta=eta)
    not_negative(risk=risk)
    M1 = self_bounding(L, hoelder, gradient_at_zero)
    M3 = math.sqrt((1.0 - hoelder) / (1.0 + hoelder)) * (2.0**-hoelder * L) ** (1.0 / (1.0 - hoelder))
    met = 4.0 * math.e * M1**2 * (1.0 + T / n) / n * T * eta**2 * risk ** (2.0 * hoelder / (1.0 + hoelder))
    return M3**2 * math.e * T * eta ** (2.0 / (1.0 - hoelder)) + met


@statement(
    "stability",
    "Lemma 19 (a)",
    bounds="mean over i of E |A(S) - A(S^(i))|^2, pairwise",
    formula="(16 e (1 + 2T/n) L/n) sum eta_j^2 E F_S(w_j)",
    conditions=("convex", "nonnegative", "L-smooth", "eta <= 2/L"),
    at=_low,
    trivial=_squared_diameter,
)
def lemma_19a(n: int, T: int, eta: Steps, L: float, risk: float) -> float:
    """Lemma 14 (a) for Algorithm 2, one random pair per step."""
    counts(n=n)
    positive(L=L)
    not_negative(risk=risk)
    no_larger_step(eta, 2.0 / L, "Lemma 19 (a)")
    return 16.0 * math.e * (1.0 + 2.0 * T / n) * L / n * step_sums(eta, T).squares * risk


@statement(
    "stability",
    "Lemma 19 (b)",
    bounds="mean over i of E |A(S) - A(S^(i))|^2, pairwise, non-smooth",
    formula="e M3^2 T eta^(2/(1-a)) + (8 e M1^2 (1 + 2T/n)/n) T eta^2 risk^(2a/(1+a)), M3 = sqrt(e "
    "(1-a)/(1+a)) (2-a) L^(1/(1-a))",
    conditions=("convex", "nonnegative", "Hoelder smooth with L"),
    at=lambda s: {**_low(s), "hoelder": s.hoelder},
    trivial=_squared_diameter,
)
def lemma_19b(
    n: int, T: int, eta: float, L: float, risk: float, hoelder: float, *, gradient_at_zero: float = 0.0
) -> float:
    """Lemma 14 (b) for Algorithm 2. The printed M3 is larger than that of Lemma 14, which is enough here too."""
    counts(n=n, T=T)
    positive(eta=eta)
    not_negative(risk=risk)
    M1 = self_bounding(L, hoelder, gradient_at_zero)
    M3 = math.sqrt(math.e * (1.0 - hoelder) / (1.0 + hoelder)) * (2.0 - hoelder) * L ** (1.0 / (1.0 - hoelder))
    met = 8.0 * math.e * M1**2 * (1.0 + 2.0 * T / n) / n * T * eta**2 * risk ** (2.0 * hoelder / (1.0 + hoelder))
    return met + M3**2 * math.e * T * eta ** (2.0 / (1.0 - hoelder))
