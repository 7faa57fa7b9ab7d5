"""Exponents of every formula, recommended steps, the table, the plot, and wrong numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from theory_runs import slope

import entrenous as en
from entrenous.errors import AssumptionError, InputError
from entrenous.theory import (
    SCHEDULES,
    STATEMENTS,
    Setting,
    kang2021,
    wang2024,
    xue2021,
    yang2021_aistats,
    yang2021_aistats_corollaries,
    yang2021_neurips,
)

AT = Setting(10**4, 50, 1.0, 1e-6)
BY_NAME = {entry.name: entry for entry in STATEMENTS}
LARGE = [10**12, 10**13, 10**14]


def exponent(name, field, values, at=AT):
    """The slope of a bound in one number, with the T and eta that its theorem recommends."""
    return slope(values, [float(BY_NAME[name].evaluate(replace(at, **{field: value}))) for value in values])


IN_N = {
    "yang2021_neurips.theorem_1": -0.5,
    "yang2021_neurips.theorem_2": -0.5,
    "yang2021_neurips.theorem_3": -2.1 / 4.1,
    "yang2021_neurips.theorem_4": -0.5,
    "yang2021_neurips.theorem_4_generalisation": -0.5,
    "yang2021_neurips.theorem_5": -0.5,
    "yang2021_neurips.theorem_5_generalisation": -0.5,
    "yang2021_neurips.theorem_6a": -0.5,
    "yang2021_neurips.theorem_6b": -1.0,
    "yang2021_neurips.theorem_7a": -0.5,
    "yang2021_neurips.theorem_7b": -1.0,
    "yang2021_neurips.theorem_8": -0.5,
    "yang2021_neurips.theorem_9": -1.0,
    "yang2021_neurips.theorem_10": -0.5,
    "yang2021_neurips.remark_9": -0.5,
    "yang2021_aistats.lemma_4": -0.5,
    "yang2021_aistats.lemma_4_loss": -0.5,
    "yang2021_aistats.lemma_5": -0.5,
    "yang2021_aistats.lemma_a17": -0.5,
    "yang2021_aistats_corollaries.corollary_1": -0.5,
    "yang2021_aistats_corollaries.corollary_2": -0.5,
    "yang2021_aistats_corollaries.corollary_3": -1.0,
    "yang2021_aistats_corollaries.corollary_4": -0.5,
    "kang2021.remark_2": -1.0,
    "kang2021.theorem_3": -0.5,
    "xue2021.lemma_1": -1.0,
    "xue2021.theorem_1": -1.0,
    "xue2021.theorem_2": -0.5,
    "xue2021.theorem_3": -0.5,
    "xue2021.printed_noise_1": -1.0,
    "xue2021.printed_noise_2": -0.5,
    "wang2024.theorem_3": -0.5,
    "wang2024.theorem_4": -0.5,
    "wang2024.theorem_6": -0.5,
    "wang2024.theorem_7": -0.5,
    "wang2024.lemma_14a": -1.0,
    "wang2024.lemma_14b": -1.0,
    "wang2024.lemma_19a": -1.0,
    "wang2024.lemma_19b": -1.0,
}
# Up to logarithms, whose share in the exponent is below these margins at 1e12 records and more.
UP_TO_LOGARITHMS = {
    "yang2021_aistats.theorem_1": (-0.5, 0.06),
    "yang2021_aistats.equation_9": (-0.5, 0.06),
    "yang2021_aistats.theorem_2": (-0.5, 0.12),
    "yang2021_aistats.theorem_5": (-0.5, 0.12),
    "yang2021_aistats.theorem_3": (-1.0 / 3.0, 0.06),
    "yang2021_aistats.theorem_4": (-0.5, 0.06),
    "kang2021.theorem_1": (-1.0, 0.06),
    "kang2021.theorem_2": (-1.0, 0.08),
}


@pytest.mark.parametrize("name", IN_N)
def test_exponents_in_n(name):
    assert exponent(name, "n", LARGE) == pytest.approx(IN_N[name], abs=0.01)


@pytest.mark.parametrize("name", UP_TO_LOGARITHMS)
def test_exponents_in_n_up_to_logarithms(name):
    wanted, margin = UP_TO_LOGARITHMS[name]
    assert wanted - 0.01 <= exponent(name, "n", LARGE) <= wanted + margin


def test_every_bound_has_an_exponent():
    fixed = {"yang2021_neurips.printed_noise", "xue2021.printed_noise_3", "wang2024.theorem_2", "wang2024.theorem_5"}
    assert set(BY_NAME) == {*IN_N, *UP_TO_LOGARITHMS, *fixed}


# Where the private part is nearly all of the bound: few records, a small epsilon, many features.
PRIVATE = replace(AT, n=100, epsilon=1e-4, d=1000)


@pytest.mark.parametrize(
    ("name", "in_d", "in_epsilon", "in_n"),
    [
        ("yang2021_neurips.theorem_10", 0.5, -1.0, -1.0),
        ("yang2021_neurips.remark_9", 0.5, -1.0, -1.0),
        ("yang2021_aistats_corollaries.corollary_2", 0.5, -1.0, -0.5),
        ("yang2021_aistats.theorem_5", 0.5, -1.0, -0.5),
        ("kang2021.remark_2", 0.5, -1.0, -1.0),
        ("kang2021.theorem_3", 1.0, -2.0, -2.0),
        ("xue2021.theorem_1", 1.0, -2.0, -2.0),
        ("xue2021.theorem_2", 0.5, -1.0, -1.0),
        ("xue2021.theorem_3", 0.5, -1.0, -1.0),
        ("wang2024.theorem_3", 0.5, -1.0, -1.0),
        ("wang2024.theorem_4", 0.5, -1.0, -1.0),
        ("wang2024.theorem_6", 0.5, -1.0, -1.0),
        ("wang2024.theorem_7", 0.5, -1.0, -1.0),
    ],
)
def test_exponents_of_the_private_part(name, in_d, in_epsilon, in_n):
    assert exponent(name, "d", [1000, 4000], PRIVATE) == pytest.approx(in_d, abs=0.02)
    assert exponent(name, "epsilon", [1e-4, 2e-4], PRIVATE) == pytest.approx(in_epsilon, abs=0.02)
    loose = 0.3 if name == "yang2021_aistats.theorem_5" else 0.02
    assert exponent(name, "n", [100, 200], PRIVATE) == pytest.approx(in_n, abs=loose)


def test_corollary_4_in_d_and_epsilon():
    fixed = [float(yang2021_aistats_corollaries.corollary_4(100, d, 1.0, 0.1)) ** 2 / math.log(d) for d in (10, 20)]
    assert fixed[1] / fixed[0] == pytest.approx(2.0)
    assert exponent("yang2021_aistats_corollaries.corollary_4", "epsilon", [0.1, 0.2]) == pytest.approx(-1.0)


@pytest.mark.parametrize("hoelder", [0.0, 0.3, 0.9])
def test_low_noise_rates_of_wang(hoelder):
    for function in (wang2024.theorem_4, wang2024.theorem_7):
        values = [float(function(n, 1, 1e9, 0.5, hoelder, low_noise=True)) for n in (10**4, 10**6)]
        assert slope([1e4, 1e6], values) == pytest.approx(-(1.0 + hoelder) / 2.0, abs=0.01)
    for function in (wang2024.theorem_3, wang2024.theorem_6):
        assert float(function(100, 4, 0.5, math.exp(-9.0), low_noise=True)) == pytest.approx(6.0 / 50.0)


def test_pure_privacy_of_xue():
    assert float(xue2021.theorem_3(100, 8, 0.5, 0.0, 2.0, 3.0)) == pytest.approx(6.0 * (0.1 + 8.0 / 50.0))
    assert float(xue2021.theorem_1(100, 8, 0.5, 0.0, 2.0, 3.0, 0.1, 1.5)) == pytest.approx(
        1.5**2 * 3.0 * 4.0 * 64.0 / (0.01 * 1e4 * 0.25) + 4.0 / 10.0
    )
    assert float(xue2021.printed_noise_1(100, 9, 0.5, 0.0, 2.0, 0.1)) == pytest.approx(
        8.0 * 2.0 * 3.0 / (0.1 * 100 * 0.5)
    )
    assert float(xue2021.printed_noise_3(9, 0.5, 0.0, 2.0, 0.1)) == pytest.approx(4.0 * 2.0 * 0.1 * 3.0 / 0.5)


def test_open_constants_are_factors():
    assert float(yang2021_neurips.theorem_1(100, 10, 0.1, C=7.0)) == pytest.approx(
        7.0 * float(yang2021_neurips.theorem_1(100, 10, 0.1))
    )
    ask = (100, 10, 1.0, 1e-3, 1.0, 1.0, 0.1, 1.0, 1.0, 0.1)
    parts = [
        float(kang2021.theorem_3(*ask, **{name: 2.0})) - float(kang2021.theorem_3(*ask)) for name in ("c1", "c2", "c3")
    ]
    log = math.log(1e3)
    assert parts == pytest.approx(
        [math.sqrt(10 * math.log(120.0) * log / 100), math.sqrt(10 * log / 0.1) / 1e4, 10 * log / (1e4 * 0.01)]
    )


def test_kang_takes_the_best_tau():
    n, p, T, sigma, G, L, mu, gap = 50, 4, 3, 0.2, 1.5, 2.0, 0.3, 0.7
    A = 16 * G**2 * T**2 / (L**2 * n**2) + p * T**2 * sigma**2 / (2 * L**2)
    A += 4 * math.sqrt(2) * math.sqrt(p) * G * T**2 * sigma / (L**2 * n)
    tau = np.geomspace(1e-3, 1e3, 200_001)
    grid = (2 * (tau + L) * A + G**2 / (2 * tau)).min() + (1 - mu / L) ** T * gap + p * sigma**2 / (2 * mu)
    assert float(kang2021.theorem_2(n, p, T, sigma, G, L, mu, gap)) == pytest.approx(grid, rel=1e-6)


def test_printed_constants_of_kang():
    assert kang2021.lemma_2_constants() == pytest.approx((2.0, 0.8284), abs=1e-4)
    assert kang2021.lemma_3_constants() == pytest.approx((1.0, 0.2071), abs=1e-4)


def test_recommended_steps():
    assert yang2021_neurips.theorem_1_schedule(100).eta == pytest.approx(1e-3)
    assert yang2021_neurips.theorem_2_schedule(100).T == 100
    plan = xue2021.theorem_2_schedule(100, 10, 0.1, 1e-3, 2.0, 3.0)
    assert plan.T == 1
    assert plan.eta == pytest.approx(2.0 / 3.0)
    plan = yang2021_neurips.theorem_10_schedule(64, 4, 1.0, 0.04, 2.0, 3.0)
    log = math.log(100.0)
    assert sum(math.ceil(64 / 2**k * log) for k in range(1, 7)) == plan.T
    assert plan.eta == pytest.approx(1.5 / (12.0 * log * math.sqrt(8.0 * math.log(62.5))))
    assert plan.sigma == pytest.approx(12.0 * 2.0 * plan.eta / 4.0 * log * math.sqrt(2.0 * math.log(62.5)))
    slow = wang2024.hoelder_schedule(10**4, 1, 100.0, 0.5, 1.0, 0.0)
    assert (slow.T, slow.eta) == (10**8, pytest.approx(1e-6))
    low = wang2024.hoelder_schedule(10**4, 1, 100.0, 0.5, 1.0, 0.5, low_noise=True)
    assert math.ceil(10 ** (16 / 3)) == low.T
    assert low.eta == pytest.approx(1e4 ** (-1.75 / 3.0))
    steps = [en.theory.yang2021_neurips.theorem_3_schedule(n, 1.0, 0.5).T for n in (10**8, 10**10)]
    assert slope([1e8, 1e10], steps) == pytest.approx(2.5 / 4.5, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "in_n"),
    [
        ("yang2021_neurips.theorem_1_schedule", 2.0),
        ("yang2021_neurips.theorem_2_schedule", 1.0),
        ("yang2021_neurips.theorem_10_schedule", 1.0),
        ("yang2021_aistats.theorem_5_schedule", 4.0),
        ("xue2021.theorem_2_schedule", 3.0),
        ("xue2021.theorem_3_schedule", 3.0),
        ("wang2024.smooth_schedule", 1.0),
    ],
)
def test_gradient_complexity(name, in_n):
    entry = next(entry for entry in SCHEDULES if entry.name == name)
    ns = [2**12, 2**16]
    counted = [entry.function(**entry.at(replace(AT, n=n))).gradients for n in ns]
    assert slope(ns, counted) == pytest.approx(in_n, abs=0.01)


def test_printed_noise_of_wang_says_when_its_conditions_fail():
    with pytest.raises(AssumptionError, match="variance"):
        wang2024.theorem_5(10_000, 10_000, 1.0, 1e-5, 1.0, 0.5)
    with pytest.raises(AssumptionError, match="lambda"):
        wang2024.theorem_5(256, 256, 1.0, 1e-5, 1.0, 0.5)
    assert float(wang2024.theorem_5(256, 256, 1.0, 1e-5, 1.0, 0.5, check=False)) == pytest.approx(
        math.sqrt(56.0 / (0.5 * 256) * (math.log(1e5) / 0.5 + 1.0))
    )
    # Many steps make the noise large enough, and then the second condition decides.
    assert float(wang2024.theorem_2(10**6, 10**12, 1.0, 0.5, 1.0, 0.5)) == pytest.approx(
        math.sqrt(28.0 * (2.0 * math.log(2.0) + 1.0))
    )


def test_the_table_prints_every_bound(capsys):
    found = en.theory.table(10_000, 50, 1.0, 1e-6)
    shown = capsys.readouterr().out
    assert shown.strip() == str(found)
    for entry in (*STATEMENTS, *SCHEDULES):
        assert entry.name in shown
    rows = {row.name: row for row in found.rows}
    assert rows["yang2021_aistats.theorem_2"].says == "vacuous"
    assert rows["yang2021_neurips.theorem_5"].value == pytest.approx(0.04)
    assert rows["wang2024.theorem_5"].value is None
    assert "10000" in repr(found)
    en.theory.table(10_000, 50, 1.0, 1e-6, show=False)
    assert capsys.readouterr().out == ""


def test_bites_from_is_where_a_bound_crosses():
    name = "yang2021_neurips.theorem_4"
    n = en.theory.bites_from(name, 50, 1.0, 1e-6)
    entry = BY_NAME[name]
    assert float(entry.evaluate(replace(AT, n=n))) < 1.0 <= float(entry.evaluate(replace(AT, n=int(0.98 * n))))
    assert en.theory.bites_from("yang2021_aistats.theorem_2", 50, 1.0, 1e-6, most=10**6) is None


def test_the_plot_draws_every_risk():
    pytest.importorskip("matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    axes = en.theory.plot(50, 1.0, 1e-6, ns=[10**3, 10**6])
    assert len(axes.get_legend().get_texts()) == sum(entry.kind == "excess risk" for entry in STATEMENTS)
    matplotlib.pyplot.close(axes.figure)


def test_every_function_says_what_it_is():
    for entry in (*STATEMENTS, *SCHEDULES):
        assert entry.function.__doc__, entry.name
    stated = yang2021_neurips.theorem_4(100, 10, 0.1, 1.0)
    assert (stated.paper, stated.theorem, stated.constant) == ("yang2021_neurips", "Theorem 4", "explicit")


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: yang2021_neurips.theorem_4(0, 10, 0.1, 1.0), "n must be"),
        (lambda: yang2021_neurips.theorem_4(10, 2.5, 0.1, 1.0), "T must be"),
        (lambda: yang2021_neurips.theorem_4(10, 10, -0.1, 1.0), "eta must be"),
        (lambda: yang2021_neurips.theorem_4(10, 10, 0.1, math.nan), "G must be"),
        (lambda: yang2021_neurips.theorem_5(10, 3, [0.1, 0.1], 1.0, 1.0), "or 3 of them"),
        (lambda: yang2021_neurips.theorem_5(10, 2, [0.1, 0.0], 1.0, 1.0), "every step"),
        (lambda: yang2021_neurips.theorem_10(10, 2, 1.0, 0.0, 1.0, 1.0), "delta must lie"),
        (lambda: xue2021.theorem_3(10, 2, 1.0, 1.0, 1.0, 1.0), "delta must lie"),
        (lambda: wang2024.theorem_7(10, 2, 1.0, 0.1, 1.0), "hoelder must lie"),
        (lambda: yang2021_aistats.lemma_5(10, 2, 1.0, 1.0), "d must be"),
        (lambda: en.theory.table(100, 50, 1.0, 1e-6, Q=1.0), "fields of Setting"),
        (lambda: en.theory.bites_from("theorem_4", 50, 1.0, 1e-6), "that of a bound"),
        (lambda: en.theory.bites_from("kang2021.theorem_1", 50, 1.0, 1e-6), "trivial"),
    ],
)
def test_wrong_numbers(call, match):
    with pytest.raises(InputError, match=match):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: yang2021_neurips.theorem_5(10, 10, 2.1, 1.0, 1.0),
        lambda: yang2021_neurips.theorem_2(10, 10, 2.1, 1.0),
        lambda: yang2021_neurips.theorem_8(10, 0.6, 1.0, 1.0, 1.0),
        lambda: wang2024.lemma_19a(10, 10, 2.1, 1.0, 1.0),
        lambda: kang2021.theorem_2(10, 2, 3, 0.1, 1.0, 1.0, 2.0, 1.0),
        lambda: yang2021_aistats.equation_9(10, 5, 0.1, 1.0, 0.1),
        lambda: yang2021_aistats.theorem_5(10, 100, 0.1, 1.0, 1.0, 1.0, 0.05, 0.1, 10, 1e-6, 1.0),
    ],
)
def test_conditions_of_the_theorems(call):
    with pytest.raises(AssumptionError):
        call()
