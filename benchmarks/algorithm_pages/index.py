"""The page that leads to the others: all algorithms, what they share, every option."""

from __future__ import annotations

from algorithm_pages.noise_table import TASKS
from algorithm_pages.options_table import all_options
from algorithm_pages.words import key_of, library_algorithms, papers, shared_arguments, words_of

_OPENING = """\
A page each: the box, the lines that are it, what it needs, its options with units, what it costs, the noise its paper
prints and what that noise really gives, published figures and ours, and the box step by step as the tests follow it.
Who wants a good fit needs none of them: `algorithm="auto"` takes `logistic-gd`, `moments`, `residual-gd` or `noisy-gd`,
and `dpgdsc` for pure privacy.
"""
_SYMBOLS = """\
| | |
|---|---|
| `n`, `d` | records, parameters (features for a linear score, `d(d+1)/2` of them for a metric) |
| `z_i` | record i: features and label |
| `l(w; z, z')` | loss of a pair at the parameter `w`; `F` is its mean over all pairs, with the ridge |
| `G`, `L`, `alpha` | how steep, how curved and how strongly convex it is: Lipschitz, smooth, strongly convex |
| `C`, `Pi` | the parameter domain (in a formula its diameter, also `D`), projection onto it |
| `eta`, `T` | length of a step, number of steps |
| `eps`, `delta` | the budget: replace-one adjacency |
| `N(0, s^2 I)` | Gaussian noise of standard deviation `s` on every coordinate |
"""
_UNITS = """\
Rows are clipped into the declared ranges and mapped to internal units, in which a row has norm 1 at most and two rows
are at most 2 apart. `radius`, `ridge`, `step_size` and all sizes of noise are in these units; `coef_` is not.

A share of the budget is a share of `mu^2`, the squared parameter of Gaussian differential privacy: shares add up to the
whole. For pure privacy it is a share of epsilon.
"""


def index() -> str:
    """The whole page."""
    parts = [
        "# The algorithms\n",
        "<!-- Written by `make pages` from the registry and benchmarks/algorithm_pages/words. -->\n",
        _OPENING,
        _algorithms(),
        f"## Symbols\n\n{_SYMBOLS}",
        f"## Units\n\n{_UNITS}",
        f"## Arguments of every algorithm\n\nOf `entrenous.plan` and of the estimators.\n\n{_arguments()}",
        "## Every option\n\nWhich algorithm has it, and what it does. Defaults are on the pages.\n",
        all_options(),
        f"## Where they come from\n\n{_papers()}",
    ]
    return "\n".join(parts)


def _algorithms() -> str:
    lines = ["| algorithm | learns | privacy | needs | cost | from |", "|---|---|---|---|---|---|"]
    for record in library_algorithms():
        cells = [
            f"[{record.name}]({key_of(record)}.md)",
            ", ".join(TASKS[task] for task in record.tasks),
            ", ".join(record.privacy),
            ", ".join(record.needs) or "-",
            record.cost,
            "ours" if record.citation == "entrenous" else f"{record.citation}, {_place(words_of(record).source)}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _place(source: str) -> str:
    """The first words of where it stands in its paper."""
    return source.partition(",")[0].partition(" and ")[0]


def _arguments() -> str:
    lines = ["| argument | unit | default | what it does |", "|---|---|---|---|"]
    lines += [f"| `{each.name}` | {each.unit} | {each.default} | {each.says} |" for each in shared_arguments()]
    return "\n".join(lines) + "\n"


def _papers() -> str:
    cited = dict.fromkeys(record.citation for record in library_algorithms())
    return "".join(f"- {papers()[each]}\n" for each in cited if each != "entrenous")
