"""The estimate of the noise that a descent keeps: its sums, and walks whose noise is known."""

import numpy as np
import pytest

from entrenous.engine.phases.path_noise import LaterPath, without_curvature
from entrenous.engine.phases.scale_noise import ScaleNoise
from entrenous.engine.phases.shrinkage import spread_by_peers, spread_by_prior


def walks(curvature, steps, count, seed=0):
    """Many coordinates at once: noise of 1 in every step, pulled back by the curvature; all iterates."""
    rng, w, path = np.random.default_rng(seed), np.zeros(count), []
    for _ in range(steps):
        w = (1.0 - curvature) * w + rng.normal(size=count)
        path.append(w)
    return np.array(path)


def later_half(path):
    later = LaterPath(path.shape[1])
    for w in path[len(path) // 2 :]:
        later.add(w)
    return later


@pytest.mark.parametrize("steps", [1, 2, 5, 40])
@pytest.mark.parametrize("decay", [1.0, 0.8])
def test_noise_without_curvature_is_that_of_a_walk(steps, decay):
    path = walks(1.0 - decay, steps, 20_000)
    spread = path[steps // 2 :].mean(axis=0).std()
    assert without_curvature(1.0, steps, decay) == pytest.approx(spread, rel=0.03)


def test_the_average_is_kept_to_the_last_digits_far_from_zero():
    path = walks(0.1, 30, 7) + 1e6
    np.testing.assert_allclose(later_half(path).average, path[15:].mean(axis=0), rtol=1e-14)


def test_wandering_is_what_plain_numpy_says():
    path = walks(0.2, 40, 9)
    half = path[20:]
    at = np.arange(20)
    lines = np.array([np.polyval(np.polyfit(at, column, 1), at) for column in half.T]).T
    walked = [walks(0.0, 20, 40_000, seed=1)]
    flat = walked[0].var(axis=0).mean()
    flat_line = np.mean([np.square(w - np.polyval(np.polyfit(at, w, 1), at)).mean() for w in walked[0].T[:4000]])
    wandered = np.minimum(half.var(axis=0) / flat, np.square(half - lines).mean(axis=0) / flat_line)
    seen = np.maximum(wandered, (wandered + wandered.mean()) / 2.0) / 0.7
    expected = np.maximum(np.minimum((5.0 + 40.0 * seen) / 45.0, 1.0) ** 1.5, 0.2)
    np.testing.assert_allclose(later_half(path).kept(1.0, 40), expected, rtol=0.1)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_short_paths_are_not_believed(steps):
    assert (later_half(np.zeros((steps, 3))).kept(1.0, steps) >= 0.2).all()
    assert (later_half(walks(0.9, min(steps, 3), 50)).kept(1.0, steps) == 1.0).all()


@pytest.mark.parametrize("curvature", [0.0, 0.005, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("steps", [20, 100, 250])
def test_the_estimate_is_above_the_noise_and_not_far(curvature, steps):
    """All coordinates alike; unlike ones, and real tables, are for benchmarks/coef_noise.py."""
    path = walks(curvature, steps, 300)
    kept = np.median(later_half(path).kept(1.0, steps))
    true = without_curvature(1.0, steps, 1.0 - curvature) / without_curvature(1.0, steps)
    assert 1.35 * kept >= true
    assert kept <= max(6.0 * true, 0.21)


def test_noise_in_scales_joins_that_of_the_gradients():
    scales = ScaleNoise(np.array([0.0, 0.5, 9.0, 0.0]), np.array([0.0, 0.3, 0.4, 0.4]))
    total = scales.added_to(np.ones(4), np.array([10.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(total, [1.0, 1.5, 1.8, 1.0])
    np.testing.assert_allclose(scales.added_to(np.zeros(4), np.full(4, 2.0)) / 3.24, [0.0, 0.5, 0.8, 0.4])


@pytest.mark.parametrize("shrink", [spread_by_prior, spread_by_peers])
def test_spreads_say_how_far_noise_may_have_moved_them(shrink):
    rng = np.random.default_rng(0)
    variances = np.array([0.2, 0.1, 0.05, 0.02, 1e-3, 0.0])
    found = [shrink(rng.normal(size=6) * 0.02, 0.02, variances + rng.normal(size=6) * 0.01, 0.01) for _ in range(2000)]
    spread = np.std([one.sd for one in found], axis=0)
    either_way = np.median([np.maximum(one.sd - one.shorter, one.longer - one.sd) for one in found], axis=0)
    assert all((one.shorter <= one.sd).all() and (one.sd <= one.longer).all() for one in found)
    assert (either_way > 0.8 * spread).all()
    assert (either_way < 4.0 * spread).all()
