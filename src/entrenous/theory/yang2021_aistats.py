"""Yang, Lei, Lyu, Ying: Stability and differential privacy of SGD for pairwise learning (AISTATS 2021).

Algorithm 1 pairs each record with all that were drawn before. Letters: n records, T steps of size eta, G
Lipschitz, D the diameter of the domain (its bound on norms too), M the largest loss at w = 0, kappa the largest norm
of a row, gamma the probability of failure.

In the stored print the second part of the stability term of Theorems 2 and 5 has T under a root, sqrt(3 T). Its own
eq. (9) and the ln^2(n) of its summary have sqrt(3) T; the functions use that, which is the larger.
"""

from __future__ import annotations

import math

from entrenous.theory.checks import assume, counts, positive, probabilities
from entrenous.theory.stated import Setting, schedule, statement

_CONVEX = ("convex", "G-Lipschitz", "nonnegative", "T >= n", "indices drawn with replacement")


@schedule("Theorem 2", at=lambda s: {"n": s.n}, rule="T = n^2, eta = c n^(-3/2)")
def theorem_2_schedule(n: int, *, c: float = 1.0) -> tuple[int, float, float | None, int]:
    """Steps for a bounded domain. Step t goes over t pairs, so there are T (T+1)/2 gradients: of order n^4."""
    counts(n=n)
    positive(c=c)
    T = n**2
    return T, c * float(n) ** -1.5, None, T * (T + 1) // 2


@schedule("Theorem 3", at=lambda s: {"n": s.n}, rule="T = n^(4/3), eta = c/n")
def theorem_3_schedule(n: int, *, c: float = 1.0) -> tuple[int, float, float | None, int]:
    """Steps for an unbounded domain."""
    counts(n=n)
    positive(c=c)
    T = max(n, math.ceil(float(n) ** (4.0 / 3.0)))
    return T, c / n, None, T * (T + 1) // 2


@schedule(
    "Theorem 5",
    at=lambda s: {"n": s.n, "epsilon": s.epsilon, "delta": s.delta, "G": s.G},
    rule="T = n^2, eta = c n^(-3/2), noise on the average",
)
def theorem_5_schedule(
    n: int, epsilon: float, delta: float, G: float, *, c: float = 1.0
) -> tuple[int, float, float | None, int]:
    """Steps and the printed noise of the private Algorithm 2."""
    plan = theorem_2_schedule(n, c=c)
    return plan.T, plan.eta, float(theorem_4(n, plan.T, plan.eta, epsilon, delta, G)), plan.gradients


@statement(
    "stability",
    "Theorem 1",
    bounds="|w_(T+1) - w'_(T+1)| with probability 1 - gamma",
    formula="2 sqrt(e) eta G sqrt(T + ln(eT)^2 (T/n + ln(1/gamma) + sqrt(T ln(1/gamma)/n))^2)",
    conditions=("convex", "G-Lipschitz", "indices drawn with replacement"),
    at=lambda s: {"n": s.n, "T": s.n**2, "eta": s.n**-1.5, "G": s.G, "gamma": s.gamma},
)
def theorem_1(n: int, T: int, eta: float, G: float, gamma: float) -> float:
    """How far one record moves the last iterate (the root of eq. (3), which is squared). S and S' differ in one record.

    Two steps of the proof are short by a little (the harmonic sum is below 1 + ln T, not ln T; Chernoff's bound has a
    further sqrt(2)). No instance is known that exceeds it.
    """
    counts(n=n, T=T)
    positive(eta=eta, G=G)
    probabilities(gamma=gamma)
    log = math.log(1.0 / gamma)
    met = math.log(math.e * T) * (T / n + log + math.sqrt(T * log / n))
    return 2.0 * math.sqrt(math.e) * eta * G * math.sqrt(T + met**2)


@statement(
    "stability",
    "eq. (9)",
    bounds="|average - average'| with probability 1 - gamma",
    formula="2 sqrt(e) eta G sqrt(T + 3 T^2 ln(eT)^2 ln(1/gamma)^2/n^2)",
    conditions=_CONVEX,
    at=lambda s: {"n": s.n, "T": s.n**2, "eta": s.n**-1.5, "G": s.G, "gamma": s.gamma},
)
def equation_9(n: int, T: int, eta: float, G: float, gamma: float) -> float:
    """The simpler form for T >= n, on which the privacy proof rests.

    It follows from eq. (3) where T is well above n or gamma small. At T = n that means gamma below 0.0157: above, 3
    would have to be up to 9.
    """
    counts(n=n, T=T)
    positive(eta=eta, G=G)
    probabilities(gamma=gamma)
    assume(n <= T, "eq. (9) needs T >= n", f"T = {T}, n = {n}", "Use theorem_1.")
    second = 3.0 * (T * math.log(math.e * T) * math.log(1.0 / gamma) / n) ** 2
    return 2.0 * math.sqrt(math.e) * eta * G * math.sqrt(T + second)


@statement(
    "Rademacher",
    "Lemma 4",
    bounds="complexity of <w, x - x'>, |w| <= D, |x| <= kappa",
    formula="2 D kappa/sqrt(t)",
    at=lambda s: {"t": s.n, "D": s.D, "kappa": s.kappa},
    trivial=lambda s: 2.0 * s.D * s.kappa,
)
def lemma_4(t: int, D: float, kappa: float) -> float:
    """Rademacher complexity of linear rankings.

    Rows that are the same distribution twice reach sqrt(2) D kappa/sqrt(t), not more.
    """
    counts(t=t)
    positive(D=D, kappa=kappa)
    return 2.0 * D * kappa / math.sqrt(t)


@statement(
    "Rademacher",
    "Lemma 4, remark after it",
    bounds="complexity of the G-Lipschitz loss of a ranking",
    formula="4 G D kappa/sqrt(t)",
    at=lambda s: {"t": s.n, "G": s.G, "D": s.D, "kappa": s.kappa},
)
def lemma_4_loss(t: int, G: float, D: float, kappa: float) -> float:
    """Lemma 4 through the contraction inequality. For the hinge of (10), G here is that of the hinge, 1."""
    positive(G=G)
    return 2.0 * G * float(lemma_4(t, D, kappa))


@statement(
    "Rademacher",
    "Lemma 5",
    bounds="complexity of distances, nuclear norm of w at most D",
    formula="C D sqrt(chi log d)/sqrt(t)",
    constant="C",
    conditions=("d >= 3", "chi = largest eigenvalue of E |X|^2 X X^T"),
    at=lambda s: {"t": s.n, "d": s.d, "D": s.D, "chi": s.chi},
)
def lemma_5(t: int, d: int, D: float, chi: float, *, C: float = 1.0) -> float:
    """Rademacher complexity of metrics. X stands for a difference of two rows."""
    counts(t=t)
    counts(3, d=d)
    positive(D=D, chi=chi, C=C)
    return C * D * math.sqrt(chi * math.log(d) / t)


@statement(
    "Rademacher",
    "Lemma A.17",
    bounds="E |sum sigma_k x_k x_k^T|/t, largest singular value",
    formula="2^(1/4) sqrt(pi log d) (sqrt(log(2d)) largest^2/t + 2 sqrt(chi/t))",
    conditions=("d >= 3",),
    at=lambda s: {"t": s.n, "d": s.d, "chi": s.chi, "largest": s.kappa},
    trivial=lambda s: s.kappa**2,
)
def lemma_a17(t: int, d: int, chi: float, largest: float) -> float:
    """The constant behind Lemma 5, which is D times this. `largest` is the largest norm of a vector."""
    counts(t=t)
    counts(3, d=d)
    positive(chi=chi, largest=largest)
    inner = math.sqrt(math.log(2.0 * d)) * largest**2 / t + 2.0 * math.sqrt(chi / t)
    return 2.0**0.25 * math.sqrt(math.pi * math.log(d)) * inner


def mean_ranking_complexity(T: int, G: float, D: float, kappa: float) -> float:
    """The mean over t = 1..T of `lemma_4_loss`, from above: the mean of 1/sqrt(t) is below 2/sqrt(T)."""
    return 2.0 * float(lemma_4_loss(T, G, D, kappa))


def _c1(G: float, gamma: float) -> float:
    return 100.0 * math.sqrt(6.0) * math.e**1.5 * G * max(1.0, G) * math.log(6.0 * math.e / gamma)


def _bounded_domain(
    n: int, T: int, eta: float, G: float, D: float, M: float, gamma: float, rademacher: float, log: float
) -> float:
    """What Theorems 2 and 5 share; `log` is ln(6/gamma) in the one, ln(2/delta) in the other."""
    counts(n=n, T=T)
    positive(eta=eta, G=G, D=D, M=M, rademacher=rademacher)
    probabilities(gamma=gamma)
    assume(n <= T, "the theorem needs T >= n", f"T = {T}, n = {n}", "Take at least n steps.")
    optimisation = 4.0 * rademacher + D**2 / (2.0 * T * eta) + eta * G**2 / 2.0
    deviation = (6.0 + 19.0 * math.e) * (M + G * D) * math.sqrt(math.log(6.0 * T / gamma) / n)
    moved = math.sqrt(T) + math.sqrt(3.0) * T * math.log(math.e * T) * log / n
    return optimisation + deviation + _c1(G, gamma) * eta * math.ceil(math.log(n)) * moved


@statement(
    "excess risk",
    "Theorem 2",
    bounds="excess population risk with probability 1 - gamma",
    formula="4 R + D^2/(2 T eta) + eta G^2/2 + c2 sqrt(ln(6T/gamma)/n) "
    "+ c1 eta ceil(ln n) (sqrt(T) + sqrt(3) T ln(eT) ln(6/gamma)/n), c1 = 100 sqrt(6) e^1.5 G max(1, G) ln(6e/gamma), "
    "c2 = (6 + 19e)(M + G D)",
    conditions=(*_CONVEX, "diameter D"),
    at=lambda s: {**_bounded_setting(s)},
)
def theorem_2(n: int, T: int, eta: float, G: float, D: float, M: float, gamma: float, rademacher: float) -> float:
    """Excess risk of Algorithm 1 on a bounded domain.

    `rademacher` is the mean of R_t over the steps (`mean_ranking_complexity`). With T = n^2 and eta of order
    n^(-3/2): ln(n)^2/sqrt(n).
    """
    probabilities(gamma=gamma)
    return _bounded_domain(n, T, eta, G, D, M, gamma, rademacher, math.log(6.0 / gamma))


def _bounded_setting(s: Setting) -> dict[str, float]:
    T = s.n**2
    return {
        "n": s.n,
        "T": T,
        "eta": s.n**-1.5,
        "G": s.G,
        "D": s.D,
        "M": s.M,
        "gamma": s.gamma,
        "rademacher": mean_ranking_complexity(T, 1.0, s.D, s.kappa),
    }


@statement(
    "excess risk",
    "Theorem 3",
    bounds="excess population risk with probability 1 - gamma, unbounded domain",
    formula="2 (R_t + R_D) + D^2/(2 T eta) + eta G^2/2 + c4 sqrt(eta ln(6T/gamma)) + c5 sqrt(eta T ln(6e/gamma)/n) "
    "+ c3 sqrt(ln(6T/gamma)/n) + c1 eta ceil(ln n) (sqrt(T) + 4 T ln(eT) sqrt(ln(6n/gamma))/n), "
    "c3 = (7 + 12 sqrt(2) e) M + 4 G D + 16 e G, c4 = 3 G sqrt(G^2 + 2M), c5 = 12 sqrt(2) e G sqrt(G^2 + 2M)",
    conditions=(*_CONVEX, "eta <= 1", "D = |w*|"),
    at=lambda s: _unbounded_setting(s),
)
def theorem_3(
    n: int,
    T: int,
    eta: float,
    G: float,
    D: float,
    M: float,
    gamma: float,
    rademacher_path: float,
    rademacher: float,
) -> float:
    """Excess risk of Algorithm 1 without a bounded domain. D is the norm of the best parameter.

    `rademacher_path` is the mean of R_t over the balls that the iterates stay in (`path_complexity`), `rademacher`
    over the ball of radius D. With T = n^(4/3) and eta of order 1/n: ln(n)^2/n^(1/3).
    """
    counts(n=n, T=T)
    positive(eta=eta, G=G, D=D, M=M, rademacher=rademacher, rademacher_path=rademacher_path)
    probabilities(gamma=gamma)
    assume(n <= T, "Theorem 3 needs T >= n", f"T = {T}, n = {n}", "Take at least n steps.")
    assume(eta <= 1.0, "Theorem 3 needs eta <= 1", f"{eta:.6g}", "Take smaller steps.")
    growth = G * math.sqrt(G**2 + 2.0 * M)
    optimisation = 2.0 * (rademacher_path + rademacher) + D**2 / (2.0 * T * eta) + eta * G**2 / 2.0
    deviation = 3.0 * growth * math.sqrt(eta * math.log(6.0 * T / gamma))
    deviation += 12.0 * math.sqrt(2.0) * math.e * growth * math.sqrt(eta * T * math.log(6.0 * math.e / gamma) / n)
    third = (7.0 + 12.0 * math.sqrt(2.0) * math.e) * M + 4.0 * G * D + 16.0 * math.e * G
    deviation += third * math.sqrt(math.log(6.0 * T / gamma) / n)
    moved = math.sqrt(T) + 4.0 * T * math.log(math.e * T) * math.sqrt(math.log(6.0 * n / gamma)) / n
    return optimisation + deviation + _c1(G, gamma) * eta * math.ceil(math.log(n)) * moved


def path_complexity(eta: float, G: float, M: float, kappa: float) -> float:
    """R_t over the ball of iterate t, by the remark after Lemma 4 with a 1-Lipschitz hinge.

    The radius is sqrt((G^2 + 2M) eta t), so R_t is the same for all t. The paper puts it at order eta sqrt(t), which
    takes the squared radius for the radius; its rate is not affected.
    """
    positive(eta=eta, G=G, M=M, kappa=kappa)
    return 4.0 * kappa * math.sqrt((G**2 + 2.0 * M) * eta)


def _unbounded_setting(s: Setting) -> dict[str, float]:
    plan = theorem_3_schedule(s.n)
    return {
        "n": s.n,
        "T": plan.T,
        "eta": plan.eta,
        "G": s.G,
        "D": s.D,
        "M": s.M,
        "gamma": s.gamma,
        "rademacher_path": path_complexity(plan.eta, s.G, s.M, s.kappa),
        "rademacher": mean_ranking_complexity(plan.T, 1.0, s.D, s.kappa),
    }


@statement(
    "noise",
    "Theorem 4, eq. (5)",
    bounds="standard deviation on the average",
    formula="sqrt(8 eta^2 G^2 ln(2.5/delta)/epsilon^2 (T + 3 T^2 ln(eT)^2 ln(2/delta)^2/n^2))",
    conditions=_CONVEX,
    at=lambda s: {"n": s.n, "T": s.n**2, "eta": s.n**-1.5, "epsilon": s.epsilon, "delta": s.delta, "G": s.G},
)
def theorem_4(n: int, T: int, eta: float, epsilon: float, delta: float, G: float) -> float:
    """The printed noise (the root of eq. (5)). **Short by sqrt(e)**: the proof gives 8 e where 8 is printed."""
    positive(epsilon=epsilon)
    probabilities(delta=delta)
    moved = float(equation_9(n, T, eta, G, delta / 2.0)) / math.sqrt(math.e)
    return moved * math.sqrt(2.0 * math.log(2.5 / delta)) / epsilon


@statement(
    "excess risk",
    "Theorem 5",
    bounds="excess population risk with probability 1 - gamma, private",
    formula="that of Theorem 2 with ln(2/delta) for ln(6/gamma), + 2 G sigma sqrt(d) ln(4/gamma)^(1/4)",
    conditions=(*_CONVEX, "diameter D", "gamma > max(4 delta, exp(-d/8))"),
    at=lambda s: {
        **_bounded_setting(s),
        "d": s.d,
        "delta": s.delta,
        "sigma": float(theorem_4(s.n, s.n**2, s.n**-1.5, s.epsilon, s.delta, s.G)),
    },
)
def theorem_5(
    n: int,
    T: int,
    eta: float,
    G: float,
    D: float,
    M: float,
    gamma: float,
    rademacher: float,
    d: int,
    delta: float,
    sigma: float,
) -> float:
    """Excess risk of the private Algorithm 2, with noise sigma on the average.

    With the noise of Theorem 4, T = n^2 and eta of order n^(-3/2): sqrt(d)/(sqrt(n) epsilon), up to logarithms.
    """
    counts(d=d)
    positive(sigma=sigma)
    probabilities(delta=delta, gamma=gamma)
    least = max(4.0 * delta, math.exp(-d / 8.0))
    assume(
        gamma > least, f"Theorem 5 needs gamma > {least:.6g}", f"{gamma:.6g}", "Take a larger gamma, or more features."
    )
    noise = 2.0 * G * sigma * math.sqrt(d) * math.log(4.0 / gamma) ** 0.25
    return _bounded_domain(n, T, eta, G, D, M, gamma, rademacher, math.log(2.0 / delta)) + noise
