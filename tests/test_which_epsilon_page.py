"""The page about epsilon: what an attacker gains is what Gaussian privacy says."""

from pathlib import Path

import pytest
from scipy.stats import norm

from entrenous.privacy.gaussian_dp import delta_of

PAGE = (Path(__file__).parents[1] / "docs" / "which-epsilon.md").read_text(encoding="utf-8")
TABLE = PAGE.split("<!-- what an attacker gains -->\n")[1].split("<!-- end")[0].splitlines()[2:]


@pytest.mark.parametrize("line", TABLE)
def test_what_an_attacker_gains(line):
    epsilon, mu, right, *found = (float(cell.strip(" %")) for cell in line.strip("|").split("|"))
    # mu is given to three places: one more in the last would break the promise, one less would not use it.
    assert delta_of(epsilon, mu - 0.0006) < 1e-6 < delta_of(epsilon, mu + 0.0006)
    assert right == pytest.approx(100.0 * norm.cdf(mu / 2.0), abs=0.06)
    for share, (false_alarms, rounding) in zip(found, ((0.01, 0.06), (0.001, 0.02)), strict=True):
        assert share == pytest.approx(100.0 * norm.cdf(norm.ppf(false_alarms) + mu), abs=rounding)
