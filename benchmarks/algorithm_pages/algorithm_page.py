"""One page: what the algorithm is, what it needs, what it costs and what its noise really gives."""

from __future__ import annotations

import re
from functools import cache

import entrenous as en
from algorithm_pages.figures import figures_of
from algorithm_pages.noise_table import TASKS, constants_table, noise_table, rows_of, settings_in_words, verdict
from algorithm_pages.options_table import options_of
from algorithm_pages.sources import library_lines, library_link, lines_of_a_test, link_to_a_test
from algorithm_pages.words import AGAIN, ROOT, PageError, Words, key_of, needs_in_words, papers, words_of
from entrenous.planners.registry import Algorithm

ESTIMATORS = {
    "auc": "AUCClassifier",
    "metric": "MahalanobisLearner",
    "error-entropy": "ErrorEntropyRegressor",
    "pointwise-classification": "PointwiseClassifier",
    "pointwise-regression": "PointwiseRegressor",
}
_SYMBOLS = "In our symbols ([what they stand for](README.md#symbols)).\n"
_SHARED = "Beside [those that all algorithms share](README.md#arguments-of-every-algorithm).\n"
_TRUE = """\
Of the loss on the declared domain, in [internal units](README.md#units), and the work that follows. They are the true
ones, whatever a paper prints.
"""
_PRIVACY = {"pure": "pure (`delta=0`)", "approximate": "approximate (`delta > 0`)", "none": "none (`epsilon=None`)"}


def page(record: Algorithm) -> str:
    """The whole page."""
    words = words_of(record)
    parts = [
        f"# {record.name}{f' for a {TASKS[record.tasks[0]]}' if record.joins else ''}\n",
        "<!-- Written by `make pages` from the registry, the code and benchmarks/algorithm_pages/words. -->\n",
        f"{words.purpose.strip()}\n",
        _facts(record, words),
        f"## The box\n\n{_SYMBOLS}\n```text\n{words.box.strip()}\n```\n",
        _differs(words),
        _lines(record, words),
        f"## What it needs\n\n{_needs(record)}",
        _constants(record),
        f"## Options\n\n{_SHARED}\n{options_of(record)}",
        f"## Cost\n\nTime: {words.time}. Memory: {words.memory}.\n",
        _noise(record, words),
        _theory(words),
        f"## Published figures and ours\n\n{figures_of(record, words)}",
        _transcription(words),
    ]
    return "\n".join(part for part in parts if part)


def _facts(record: Algorithm, words: Words) -> str:
    paper = papers().get(record.citation)
    if paper is None:
        raise PageError(f"{record.citation} is not in words/papers.toml. {AGAIN}")
    learns = ", ".join(f"{TASKS[task]} (`{ESTIMATORS[task]}`)" for task in record.tasks)
    surrogate = f"`{record.default_surrogate}`"
    if record.surrogates == ():
        surrogate = "a surrogate has no say"
    elif record.surrogates is not None:
        surrogate += f"; takes {', '.join(f'`{name}`' for name in record.surrogates)}"
    else:
        surrogate += "; takes every one that meets its needs"
    rows = {
        "from": f"{paper} {words.source}.",
        "learns": learns,
        "privacy": ", ".join(_PRIVACY[kind] for kind in record.privacy),
        "surrogate": surrogate,
        "records one by one": "yes (`partial_fit`)" if record.online else "no",
        "in one line": f"{record.summary}; {record.cost}",
    }
    return "| | |\n|---|---|\n" + "".join(f"| {name} | {value} |\n" for name, value in rows.items())


def _differs(words: Words) -> str:
    if not words.differs:
        return ""
    return "What is different here:\n\n" + "".join(f"- {each}\n" for each in words.differs)


def _lines(record: Algorithm, words: Words) -> str:
    """The planner, what it calls, and the loop; a module without a name is linked only."""
    planner = f"{record.planner.__module__}:{record.planner.__name__}"
    text = "## The lines that are it\n\n"
    text += f"The planner, {library_link(planner)}, decides steps and noise from public numbers:\n"
    text += f"\n```py\n{library_lines(planner)}\n```\n"
    for name in words.code:
        if ":" in name:
            text += f"\n{library_link(name)}:\n\n```py\n{library_lines(name)}\n```\n"
        else:
            text += f"\nOne step of it is compiled: {library_link(name)}.\n"
    return text


def _needs(record: Algorithm) -> str:
    lines = []
    for need in record.needs:
        if need not in needs_in_words():
            raise PageError(f"the need {need!r} is not in words/needs.toml. {AGAIN}")
        lines.append(f"- **{need}**: {needs_in_words()[need]}")
    if record.privacy != ("none",):
        lines.append(f"- **public ranges** of the columns (`bounds`): {needs_in_words()['bounds']}")
    return "\n".join(lines) + "\n"


def _constants(record: Algorithm) -> str:
    said = _TRUE
    if all(row.plan is None or row.plan.pair_gradients == 0 for row in rows_of(key_of(record))):
        said += "No gradient of a pair is taken, so that its constants do not matter.\n" if _pairs(record) else ""
    return f"## Constants\n\n{settings_in_words(record)}\n{said}\n{constants_table(record)}"


def _pairs(record: Algorithm) -> bool:
    return any(row.plan is not None and row.plan.problem.score.pairwise for row in rows_of(key_of(record)))


def _noise(record: Algorithm, words: Words) -> str:
    if record.privacy == ("none",):
        return "## Noise\n\nThere is no private version.\n"
    if bool(words.printed) != ("paper" in record.calibrations):
        raise PageError(f"{key_of(record)} needs words for its printed noise if and only if it has one. {AGAIN}")
    said = (
        f"As printed: {words.printed}.\n"
        if words.printed
        else "We have no printed noise for it: what it adds is ours.\n"
    )
    options = next((row.options for row in rows_of(key_of(record)) if row.label == "as printed" and row.options), None)
    if options:
        said += f"In the table with `options={options}`.\n".replace("'", '"')
    proved = f"Tight (the default) is the least noise for what one record can move: {_proofs(record)}.\n"
    proved += "Sizes are in internal units.\n"
    stages = [row for row in rows_of(key_of(record)) if row.plan is not None and "stages" in row.plan.remarks]
    shares = "".join(f"- {row.setting}: {row.plan.remarks['stages']}.\n" for row in stages if row.plan is not None)
    text = f"## Noise, and what it really gives\n\n{said}{proved}\n"
    text += f"{noise_table(record)}\n{verdict(record)}" if words.printed else noise_table(record)
    return text + (f"\nWhere the budget goes:\n\n{shares}" if shares else "")


def _proofs(record: Algorithm) -> str:
    return ", ".join(f"[{lemma}](../proofs.md#{_anchors()[lemma]})" for lemma in record.lemmas)


@cache
def _anchors() -> dict[str, str]:
    """Where each lemma stands on the page of proofs."""
    proofs = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## ((Lemma \d+): .+)$", proofs, re.MULTILINE)
    return {lemma: re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading, lemma in headings}


def _theory(words: Words) -> str:
    if not words.theory:
        return ""
    known = {each.name: each for each in en.theory.STATEMENTS}
    text = "## What the paper proves\n\n[In numbers](../theory.md), as functions of `entrenous.theory`:\n\n"
    text += "| function | theorem | bounds | formula | constant |\n|---|---|---|---|---|\n"
    for name in words.theory:
        if name not in known:
            raise PageError(f"entrenous.theory has no {name}. {AGAIN}")
        each = known[name]
        cells = (f"`{name}`", each.theorem, each.bounds, f"`{each.formula}`", each.constant)
        text += f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
    return text


def _transcription(words: Words) -> str:
    if not words.transcription:
        return ""
    text = "## The box, step by step\n\nThe tests follow it and compare with what the library runs.\n"
    for name in words.transcription:
        text += f"\n{link_to_a_test(name)}:\n\n```py\n{lines_of_a_test(name)}\n```\n"
    return text
