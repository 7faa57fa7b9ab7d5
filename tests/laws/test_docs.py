"""Every sensitivity function has its proof, and every proof its function."""

import inspect
import re
from pathlib import Path

import pytest

from entrenous.privacy.lemmas import descent, gradients, metric_moments, pointwise, statistics, streams

ROOT = Path(__file__).parents[2]
PROOFS = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
LEMMA = re.compile(r"Lemma (\d+)")

FAMILIES = (descent, gradients, metric_moments, pointwise, statistics, streams)


def public_functions():
    """Functions defined in the families of lemmas, by name."""
    members = (inspect.getmembers(family, inspect.isfunction) for family in FAMILIES)
    return {
        name: function
        for family in members
        for name, function in family
        if name.endswith("_sensitivity") and name != "sampled_pair_sensitivity"
    }


def sections(text):
    """Heading -> body of every second-level section."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def proofs(text):
    """Lemma number -> body; a number that occurs twice is an error."""
    found = {}
    for heading, body in sections(text).items():
        match = re.fullmatch(r"Lemma (\d+): .+", heading)
        assert match or not heading.startswith("Lemma"), heading
        if match:
            assert match[1] not in found, heading
            found[match[1]] = body
    return found


def backed(body):
    """The function that a proof says it backs."""
    return re.findall(r"^Backs `(\w+)`\.$", body, flags=re.MULTILINE)


def lemma_of(function):
    """The lemma that opens a docstring."""
    match = re.match(r"Lemma (\d+): ", inspect.getdoc(function) or "")
    assert match, f"{function.__name__} does not open with its lemma"
    return match[1]


@pytest.mark.parametrize("name", public_functions())
def test_every_function_cites_its_proof(name):
    function = public_functions()[name]
    number = lemma_of(function)
    assert f"``docs/proofs.md``, Lemma {number}" in inspect.getdoc(function)
    assert backed(proofs(PROOFS)[number]) == [name]


def test_every_proof_has_one_function():
    functions = {lemma_of(function): name for name, function in public_functions().items()}
    assert len(functions) == len(public_functions())
    assert {number: backed(body)[0] for number, body in proofs(PROOFS).items()} == functions


@pytest.mark.parametrize("number", proofs(PROOFS))
def test_every_proof_is_complete(number):
    body = proofs(PROOFS)[number]
    for part in ("**Assumptions.**", "**Statement.**", "**Proof", "**Attained", "**Attacked by**"):
        assert part in body, part
    attack = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "laws").glob("test_*.py"))
    tests = re.findall(r"`(test_\w+)`", body)
    assert tests
    for test in tests:
        assert f"def {test}(" in attack, test


def test_lemmas_are_cited_only_if_they_are_proved():
    cited = {number for function in public_functions().values() for number in LEMMA.findall(inspect.getdoc(function))}
    assert cited <= set(proofs(PROOFS))
    assert set(LEMMA.findall(PROOFS)) <= set(proofs(PROOFS))


@pytest.mark.parametrize(
    "heading",
    [
        "Gaussian composition",
        "Disjoint phases",
        "Sampling without replacement",
        "Pure privacy: the l2 mechanism",
        "Clipping and internal units",
    ],
)
def test_from_sensitivity_to_noise(heading):
    assert len(sections(PROOFS)[heading].split()) > 80


def test_the_checks_see_a_missing_proof():
    without = re.sub(r"^## Lemma 2: .+$", "## Something else", PROOFS, flags=re.MULTILINE)
    assert "2" not in proofs(without)
    assert "2" in proofs(PROOFS)
    with pytest.raises(AssertionError):
        proofs(PROOFS + "\n## Lemma 2: again\n")
    with pytest.raises(AssertionError):
        proofs(PROOFS + "\n## Lemma two\n")
