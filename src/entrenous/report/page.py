"""HTML for people: a page that stands alone, a card for a certificate, the privacy-accuracy curve.

Pages need no network: styles and drawings are inside. They hold what was released and what is public, nothing else.
"""

from __future__ import annotations

import io
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from entrenous.errors import InputError, PrivacyError
from entrenous.privacy.certificate import PrivacyCertificate

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.axes import Axes

_TEMPLATE = "report.html.j2"
_INK, _MUTED, _ACCENT, _GRID = "#1b2733", "#5b6875", "#0b6b74", "#e3e8ec"

_STYLE: dict[str, Any] = {
    # Text stays text, so that it takes the page's font and can be selected and read aloud.
    "svg.fonttype": "none",
    # Without a salt the ids are random, and the same figures would give different files.
    "svg.hashsalt": "entrenous",
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
}


@dataclass(frozen=True)
class CurvePoint:
    """The AUC of every repetition at one epsilon."""

    epsilon: float
    aucs: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.aucs)

    @property
    def spread(self) -> float:
        """Standard deviation over the repetitions."""
        return statistics.stdev(self.aucs) if len(self.aucs) > 1 else 0.0


def need_report_extra() -> None:
    """Raise `InputError` when the libraries behind this module are not installed."""
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        raise InputError(
            "a report needs jinja2 and matplotlib",
            f"no {' and no '.join(missing)}",
            'Run: pip install "entrenous[report]"',
        )


def certificate_card(certificate: PrivacyCertificate) -> Markup:
    """An HTML fragment that says what a certificate means; it is verified here, and says so when it is false.

    Styled by the page's classes, readable without them.
    """
    template = _environment().get_template(_TEMPLATE)
    from markupsafe import Markup

    return Markup("".join(template.blocks["certificate_card"](template.new_context(_verified(certificate)))))


def render(content: Mapping[str, Any], certificate: PrivacyCertificate) -> str:
    """The page: `content`, escaped wherever it is not markup already, and the card of one certificate."""
    return _environment().get_template(_TEMPLATE).render({**content, **_verified(certificate)})


def _verified(certificate: PrivacyCertificate) -> dict[str, Any]:
    try:
        return {"certificate": certificate, "verification": certificate.verify(), "refusal": None}
    except PrivacyError as error:
        return {"certificate": certificate, "verification": None, "refusal": str(error)}


def privacy_curve_svg(
    points: Sequence[CurvePoint],
    non_private: float,
    *,
    title: str,
    description: str,
    inches: tuple[float, float] = (7.6, 4.0),
) -> Markup:
    """Mean AUC against epsilon with a band of one standard deviation, as an SVG element for a page.

    `title` and `description` are read out where the drawing cannot be seen. Drawings of different `inches` may share a
    page.
    """
    need_report_extra()
    import matplotlib
    from markupsafe import Markup
    from matplotlib.figure import Figure

    # matplotlib's type for settings lists every key by name.
    style: Any = _STYLE
    with matplotlib.rc_context(style):
        figure = Figure(figsize=inches, layout="constrained")
        _draw_curve(figure.add_subplot(), points, non_private)
        drawing = io.StringIO()
        figure.savefig(drawing, format="svg", transparent=True, metadata={"Date": None})
    prefix = f"privacy-curve-{inches[0]:g}x{inches[1]:g}-"
    return Markup(_as_element(drawing.getvalue(), prefix, title, description))


def standalone_svg(element: str) -> str:
    """A drawing for a page as a file of its own."""
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    # Plain text first: markup escapes whatever is put into it.
    return str(element).replace("<svg ", f'<svg {names} font-family="sans-serif" style="background: white" ', 1)


def _draw_curve(axes: Axes, points: Sequence[CurvePoint], non_private: float) -> None:
    points = sorted(points, key=lambda point: point.epsilon)
    epsilons = [point.epsilon for point in points]
    means = [point.mean for point in points]
    lowest = min(min(point.aucs) for point in points)
    axes.set_xscale("log")
    axes.fill_between(
        epsilons,
        [max(0.0, point.mean - point.spread) for point in points],
        [min(1.0, point.mean + point.spread) for point in points],
        color=_ACCENT,
        alpha=0.14,
        linewidth=0,
    )
    for point in points:
        axes.plot([point.epsilon] * len(point.aucs), point.aucs, "o", color=_ACCENT, alpha=0.35, markersize=3, mew=0)
    axes.plot(epsilons, means, "o-", color=_ACCENT, linewidth=2.2, markersize=6.5, mec="white", mew=1.2)
    for point in points:
        axes.annotate(
            f"{point.mean:.3f}",
            (point.epsilon, point.mean),
            xytext=(0, -17),
            textcoords="offset points",
            ha="center",
            fontsize=9.5,
            color=_ACCENT,
            fontweight="bold",
        )
    axes.axhline(non_private, color=_INK, linewidth=1.3, linestyle=(0, (5, 3)))
    axes.annotate(
        f"without privacy {non_private:.3f}",
        (epsilons[0], non_private),
        xytext=(0, 5),
        textcoords="offset points",
        fontsize=9.5,
        color=_INK,
    )
    if lowest < 0.6:
        axes.axhline(0.5, color=_MUTED, linewidth=0.9, linestyle=":")
        axes.annotate(
            "coin toss 0.5",
            (epsilons[-1], 0.5),
            xytext=(0, 4),
            textcoords="offset points",
            ha="right",
            fontsize=9,
            color=_MUTED,
        )
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_ylim(math.floor(20.0 * (lowest - 0.02)) / 20.0, 1.04)
    axes.set_xlabel("epsilon (smaller is more private)", labelpad=8)
    axes.set_ylabel("AUC on held-out rows", labelpad=8)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=9.5)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _as_element(svg: str, prefix: str, title: str, description: str) -> str:
    """The drawing as an element of an HTML page: no prolog, metadata or namespaces, but a title and a description.

    Ids are one namespace per page, so this drawing's begin with `prefix`.
    """
    element = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    opening, rest = element.split(">", 1)
    view_box = re.search(r'viewBox="[^"]+"', opening)
    assert view_box is not None
    rest = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", rest)
    return (
        f'<svg {view_box[0]} role="img" aria-labelledby="{prefix}title {prefix}description">'
        f'<title id="{prefix}title">{escape(title)}</title>'
        f'<desc id="{prefix}description">{escape(description)}</desc>{rest}'
    )


def _environment() -> Environment:
    need_report_extra()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("entrenous.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["power_of_ten"] = _power_of_ten
    return environment


def _power_of_ten(number: float) -> str:
    """6.3e-06 as people write it."""
    if number == 0.0 or 1e-3 <= abs(number) < 1e4:
        return f"{number:.3g}"
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}\u00a0\u00d7\u00a010{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
