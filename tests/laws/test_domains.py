"""Laws of the parameter domains (nearest points) and of the feature domains (internal units)."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entrenous.errors import InputError, PrivacyError
from entrenous.problem.features.ball import FeatureBall
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.declared import feature_domain_from, missing_bounds
from entrenous.problem.features.domain import INTERNAL_DIAMETER
from entrenous.problem.parameter_domains import PARAMETER_DOMAINS, FrobeniusPSD, L2Ball, NuclearPSD, WholeSpace

PARAMETER_CASES = [
    *(kind() if kind is WholeSpace else kind(1.0) for kind in PARAMETER_DOMAINS.values()),
    L2Ball(0.2),
    L2Ball(5.0),
    FrobeniusPSD(0.3),
    NuclearPSD(2.5),
]
over_parameter_domains = pytest.mark.parametrize("domain", PARAMETER_CASES, ids=repr)


def is_matrix(domain) -> bool:
    return isinstance(domain, FrobeniusPSD | NuclearPSD)


def feasible(domain, w) -> bool:
    slack = 1e-12 * (1.0 + (domain.radius if math.isfinite(domain.radius) else 0.0))
    if not is_matrix(domain):
        return bool(np.linalg.norm(w) <= domain.radius + slack)
    values = np.linalg.eigvalsh(w)
    size = values.sum() if isinstance(domain, NuclearPSD) else np.linalg.norm(w)
    return bool(np.allclose(w, w.T, atol=1e-14) and values.min() >= -slack and size <= domain.radius + slack)


def some_point(domain, rng, spread):
    """A point of the ambient space: vectors, or symmetric matrices."""
    if not is_matrix(domain):
        return rng.normal(size=3) * spread
    half = rng.normal(size=(3, 3)) * spread
    return (half + half.T) / 2.0


def feasible_point(domain, rng):
    """A point of the domain, made without its projection."""
    size = min(domain.radius, 3.0) * (1.0 if rng.uniform() < 0.5 else rng.uniform())
    if not is_matrix(domain):
        w = rng.normal(size=3)
        return w * size / np.linalg.norm(w)
    factor = rng.normal(size=(3, int(rng.integers(1, 4))))
    w = factor @ factor.T
    return w * size / (np.trace(w) if isinstance(domain, NuclearPSD) else np.linalg.norm(w))


def test_every_registered_parameter_domain_is_a_case():
    assert {type(domain) for domain in PARAMETER_CASES} == set(PARAMETER_DOMAINS.values())


@over_parameter_domains
def test_projection_is_feasible_idempotent_and_keeps_what_is_inside(domain):
    rng = np.random.default_rng(20)
    for spread in (0.05, 1.0, 30.0):
        for _ in range(15):
            w = some_point(domain, rng, spread)
            projected = domain.project(w)
            assert feasible(domain, projected)
            np.testing.assert_allclose(domain.project(projected), projected, rtol=0, atol=1e-12)
            if feasible(domain, w):
                np.testing.assert_allclose(projected, w, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(domain.project(0.0 * w), 0.0 * w)


@over_parameter_domains
def test_projection_is_non_expansive(domain):
    rng = np.random.default_rng(21)
    for spread in (0.1, 1.0, 10.0):
        for _ in range(40):
            v, w = some_point(domain, rng, spread), some_point(domain, rng, spread * rng.uniform())
            moved = np.linalg.norm(domain.project(v) - domain.project(w))
            assert moved <= np.linalg.norm(v - w) * (1.0 + 1e-12)


@over_parameter_domains
def test_projection_is_the_nearest_point(domain):
    rng = np.random.default_rng(22)
    for _ in range(25):
        w = some_point(domain, rng, 2.0)
        nearest = domain.project(w)
        distance = np.linalg.norm(w - nearest)
        for _ in range(40):
            other = feasible_point(domain, rng)
            assert feasible(domain, other)
            assert distance <= np.linalg.norm(w - other) + 1e-12
            # The obtuse angle that characterises the projection onto a convex set.
            assert float(((w - nearest) * (other - nearest)).sum()) <= 1e-10


def test_a_nuclear_ball_is_no_frobenius_ball():
    w = np.eye(2)
    np.testing.assert_allclose(NuclearPSD(1.0).project(w), np.eye(2) / 2.0)
    np.testing.assert_allclose(FrobeniusPSD(1.0).project(w), np.eye(2) / math.sqrt(2.0))


def test_matrices_need_no_symmetric_input():
    w = np.array([[1.0, 3.0], [0.0, 1.0]])
    for domain in (FrobeniusPSD(1.0), NuclearPSD(1.0)):
        np.testing.assert_allclose(domain.project(w), domain.project((w + w.T) / 2.0), atol=1e-15)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("kind", [L2Ball, FrobeniusPSD, NuclearPSD])
def test_bad_radius(kind, radius):
    with pytest.raises(InputError, match="radius"):
        kind(radius)


FEATURE_CASES = [
    FeatureBounds(0.0, 1.0),
    FeatureBounds((0.0, 40.0, -5.0), (120.0, 250.0, -1.0)),
    FeatureBounds((0.0, 40.0, -5.0), (120.0, 250.0, -1.0), clip=1.0),
    FeatureBounds((0.0, 40.0, -5.0), (120.0, 250.0, -1.0), clip=0.3),
    FeatureBounds((0.0, 40.0, -5.0), (120.0, 250.0, -1.0), clip=50.0),
    FeatureBounds((0.0, 7.0, -5.0), (120.0, 7.0, -1.0)),
    FeatureBounds((1.0, 7.0, -5.0), (1.0, 7.0, -5.0)),
    FeatureBounds(-1e100, 1e100),
    FeatureBounds(-1e-100, 1e-100),
    FeatureBall(1.0),
    FeatureBall(2.5, (1.0, -2.0, 3.0)),
    FeatureBall(1e-30),
    FeatureBall(1e30),
]
over_feature_domains = pytest.mark.parametrize("domain", [d.for_features(3) for d in FEATURE_CASES], ids=repr)


def rows_around(domain, rng, n=60):
    """Rows inside, outside and far outside; one per size."""
    size = np.repeat([0.3, 1.0, 3.0, 1e6], n // 4)[:, None]
    return domain.origin + rng.normal(size=(n, 3)) * domain.unit * size


def inside(domain, X):
    """Which rows lie in the domain, by its definition."""
    half = np.where(domain.unit > 0.0, domain.unit, 1.0)
    in_ball = np.linalg.norm((X - domain.origin) / half, axis=1) <= 1.0
    if isinstance(domain, FeatureBall):
        return in_ball
    return in_ball & (np.array(domain.low) <= X).all(axis=1) & (np.array(domain.high) >= X).all(axis=1)


@over_feature_domains
def test_internal_rows_have_norm_at_most_one(domain):
    rng = np.random.default_rng(30)
    internal = domain.to_internal(rows_around(domain, rng))
    norms = np.linalg.norm(internal, axis=1)
    assert norms.max() <= 1.0 + 1e-12
    distances = np.linalg.norm(internal[:, None] - internal[None, :], axis=2)
    assert distances.max() <= INTERNAL_DIAMETER * (1.0 + 1e-12)
    if domain.unit.any():
        assert norms.max() >= 0.3


def literally_internal(domain, X):
    """One row after the other, from the definition: cut, mapped, and drawn into the unit ball."""
    rows = []
    for row in X:
        if isinstance(domain, FeatureBounds):
            row = np.minimum(np.maximum(row, domain.low), domain.high)
        row = np.minimum(np.maximum(row, -1e150), 1e150) - domain.origin
        row = np.array([x / u if u > 0.0 else 0.0 for x, u in zip(row, domain.unit, strict=True)])
        norm = math.hypot(*row)
        rows.append(row / norm if norm > 1.0 else row)
    return np.array(rows).reshape(X.shape)


@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), max_size=6),
    st.sampled_from(FEATURE_CASES),
    st.integers(0, 6),
)
@settings(max_examples=300, deadline=None)
def test_internal_rows_are_their_definition(cells, case, doublings):
    domain = case.for_features(3)
    rows = np.array(cells).reshape(-1, 3)
    # Repeated, they fill several blocks.
    X = np.concatenate([rows, domain.origin + np.clip(rows, -1e3, 1e3) / 1e3 * domain.unit][: 1 + doublings % 2])
    for _ in range(2 * doublings):
        X = np.concatenate([X, X])
    before = X.copy()
    found = domain.to_internal(X)
    np.testing.assert_array_equal(X, before)
    expected = literally_internal(domain, X[: 2 * len(rows)])
    np.testing.assert_allclose(found[: 2 * len(rows)], expected, rtol=1e-12, atol=1e-15)
    if len(X) > 2 * len(rows) and len(rows):
        size = len(rows) * (1 + doublings % 2)
        np.testing.assert_array_equal(found, np.tile(found[:size], (len(X) // size, 1)))
    assert (np.linalg.norm(found, axis=1) <= 1.0 + 1e-12).all()


@over_feature_domains
def test_rows_inside_are_only_mapped(domain):
    rng = np.random.default_rng(31)
    X = rows_around(domain, rng)
    kept = inside(domain, X)
    assert kept.any() or not domain.unit.all()
    scale = np.where(domain.unit > 0.0, domain.unit, 1.0)
    expected = (X[kept] - domain.origin) / scale * (domain.unit > 0.0)
    np.testing.assert_allclose(domain.to_internal(X[kept]), expected, rtol=1e-12, atol=1e-13)


@over_feature_domains
def test_clipping_is_idempotent_and_row_by_row(domain):
    rng = np.random.default_rng(32)
    X = rows_around(domain, rng)
    internal = domain.to_internal(X)
    clipped = domain.origin + internal * domain.unit
    # Rows that came back from far away lose digits to the centre.
    digits = np.divide(np.abs(domain.origin), domain.unit, out=np.zeros(3), where=domain.unit > 0.0).max()
    if digits < 1e6:
        np.testing.assert_allclose(domain.to_internal(clipped), internal, rtol=0, atol=1e-12)
    # Replacing one record changes one internal row and no other: adjacency survives.
    X2 = X.copy()
    X2[7] = domain.origin - 2.0 * domain.unit
    changed = (domain.to_internal(X2) != internal).any(axis=1)
    assert set(np.flatnonzero(changed)) <= {7}
    for i in (0, 20, 59):
        np.testing.assert_array_equal(domain.to_internal(X[i : i + 1])[0], internal[i])


@over_feature_domains
def test_user_units_give_the_same_score(domain):
    rng = np.random.default_rng(33)
    X = rows_around(domain, rng)
    X = np.where(domain.unit > 0.0, X, domain.origin)[inside(domain, np.where(domain.unit > 0.0, X, domain.origin))]
    w, intercept = rng.normal(size=3), 0.7
    coef, shifted = domain.to_user(w, intercept)
    expected = domain.to_internal(X) @ w + intercept
    size = np.abs(coef * domain.origin).sum() + 1.0
    np.testing.assert_allclose(X @ coef + shifted, expected, rtol=0, atol=1e-12 * size)
    assert len(X)
    assert not coef[domain.unit == 0.0].any()


@over_feature_domains
def test_enormous_rows_stay_finite(domain):
    X = np.array([[1e308, -1e308, 1e308], [-1e308, 1e308, 0.0], [1e308, 1e308, 1e308], [5e-324, 0.0, -1e-308]])
    internal = domain.to_internal(X)
    assert np.isfinite(internal).all()
    assert np.linalg.norm(internal, axis=1).max() <= 1.0 + 1e-12


@pytest.mark.parametrize("radius", [1e-160, 1e-200, 1e-310])
def test_a_tiny_domain_stays_finite_or_is_refused(radius):
    X = np.array([[1e150, 0.0], [1.0, 2.0], [0.0, 0.0]])
    for make in (lambda: FeatureBall(radius), lambda: FeatureBounds(0.0, radius)):
        try:
            internal = make().for_features(2).to_internal(X)
        except InputError:
            continue
        assert np.isfinite(internal).all()


def test_constant_columns_take_no_room():
    narrow = FeatureBounds((0.0, 3.0), (2.0, 3.0))
    np.testing.assert_allclose(narrow.unit, [1.0, 0.0])
    np.testing.assert_array_equal(narrow.to_internal(np.array([[2.0, 99.0]])), [[1.0, 0.0]])
    assert narrow.to_user(np.array([5.0, 5.0]), 0.0)[0].tolist() == [5.0, 0.0]


def test_box_units_and_clip():
    box = FeatureBounds((0.0, 0.0), (2.0, 4.0))
    np.testing.assert_allclose(box.unit, np.array([1.0, 2.0]) * math.sqrt(2.0))
    np.testing.assert_allclose(np.linalg.norm(box.to_internal(np.array([[2.0, 4.0]]))), 1.0)
    # A clipping radius of one half-width: the corner is drawn to the ellipsoid through the faces' centres.
    clipped = FeatureBounds((0.0, 0.0), (2.0, 4.0), clip=1.0)
    np.testing.assert_allclose(clipped.to_internal(np.array([[2.0, 2.0], [2.0, 4.0]])), [[1, 0], [0.5**0.5] * 2])
    assert FeatureBounds(0.0, 1.0, clip=9.0).for_features(2).unit.tolist() == (
        FeatureBounds(0.0, 1.0).for_features(2).unit.tolist()
    )
    # Clipping to the box comes first, so a row is drawn to the box and then towards the centre.
    np.testing.assert_allclose(clipped.to_internal(np.array([[100.0, 2.0]])), [[1.0, 0.0]])


TOML = "clip = 2.5\n[bounds]\nage = [0, 120]\nglucose = [40, 400]\n"
EXPECTED = FeatureBounds((0.0, 40.0), (120.0, 400.0), 2.5, ("age", "glucose"))


def test_bounds_files(tmp_path):
    nested, flat, as_json = (tmp_path / name for name in ("nested.toml", "flat.toml", "bounds.json"))
    nested.write_text(TOML)
    flat.write_text(TOML.replace("[bounds]\n", ""))
    as_json.write_text(json.dumps({"clip": 2.5, "bounds": {"age": [0, 120], "glucose": [40, 400]}}))
    for path in (nested, flat, as_json, str(nested)):
        assert FeatureBounds.from_file(path) == EXPECTED


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "age = "),
        ("a.json", "{"),
        ("a.json", "[1, 2]"),
        ("a.toml", ""),
        ("a.toml", "age = 3"),
        ("a.toml", "age = [1, 2, 3]"),
        ("a.toml", "age = [3, 1]"),
        ("a.toml", 'age = ["a", "b"]'),
        ("a.toml", 'age = "ab"'),
        ("a.toml", "age = [0, nan]"),
        ("a.toml", "clip = true\nage = [0, 1]"),
        ("a.toml", "clip = -1\nage = [0, 1]"),
        ("a.toml", 'clip = "wide"\nage = [0, 1]'),
        ("a.toml", "bounds = [0, 1]"),
        ("a.toml", "bounds = 3"),
        ("a.toml", "height = [0, 2]\n[bounds]\nage = [0, 120]"),
    ],
)
def test_bad_bounds_files(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError):
        FeatureBounds.from_file(path)


def test_a_missing_or_unreadable_bounds_file(tmp_path):
    with pytest.raises(InputError, match="readable"):
        FeatureBounds.from_file(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xff\xfe = 1")
    with pytest.raises(InputError, match="readable"):
        FeatureBounds.from_file(tmp_path / "latin.toml")


def test_names_follow_the_table():
    bounds = FeatureBounds.from_mapping({"age": (0, 120), "bmi": (10, 70)})
    domain = feature_domain_from(bounds, 2, ["bmi", "age"])
    assert (domain.low, domain.high, domain.names) == ((10.0, 0.0), (70.0, 120.0), ("bmi", "age"))
    assert feature_domain_from({"age": (0, 120), "bmi": (10, 70)}, 2, ["bmi", "age"]) == domain
    assert feature_domain_from(bounds, 2).low == (0.0, 10.0)
    with pytest.raises(InputError, match=r"no bounds for 'height'.*no such column: 'bmi'"):
        feature_domain_from(bounds, 2, ["age", "height"])
    with pytest.raises(InputError, match="no bounds for 'height'"):
        feature_domain_from(bounds, 3, ["age", "bmi", "height"])
    with pytest.raises(InputError, match="no such column: 'bmi'"):
        feature_domain_from(bounds, 1, ["age"])
    with pytest.raises(InputError, match="without column names"):
        feature_domain_from(bounds, 3)


def test_spellings_of_one_domain():
    assert feature_domain_from((0, 1), 2) == feature_domain_from(([0, 0], [1, 1]), 2)
    assert feature_domain_from([0, np.ones(2)], 2) == feature_domain_from((0, 1), 2)
    assert feature_domain_from(FeatureBall(2.0), 2) == FeatureBall(2.0, (0.0, 0.0))
    assert feature_domain_from((0, 1), 2).public_numbers() == {
        "kind": "box",
        "low": (0.0, 0.0),
        "high": (1.0, 1.0),
        "clip": None,
        "names": None,
    }
    assert FeatureBall(2.0).public_numbers() == {"kind": "ball", "radius": 2.0, "center": 0.0}


@pytest.mark.parametrize(
    "make",
    [
        lambda: FeatureBounds(1.0, 0.0),
        lambda: FeatureBounds((0.0, 1.0), (1.0, 0.5)),
        lambda: FeatureBounds((0.0, 1.0), (1.0, 0.5), names=("a", "b")),
        lambda: FeatureBounds((0.0, 1.0), (1.0, 2.0, 3.0)),
        lambda: FeatureBounds(math.nan, 1.0),
        lambda: FeatureBounds(0.0, math.inf),
        lambda: FeatureBounds("a", "b"),
        lambda: FeatureBounds(None, 1.0),
        lambda: FeatureBounds([[0.0]], [[1.0]]),
        lambda: FeatureBounds([], []),
        lambda: FeatureBounds(0.0, 1.0, clip=0.0),
        lambda: FeatureBounds(0.0, 1.0, clip=-1.0),
        lambda: FeatureBounds(0.0, 1.0, clip=math.inf),
        lambda: FeatureBounds(0.0, 1.0, clip=math.nan),
        lambda: FeatureBounds(0.0, 1.0, clip="2"),
        lambda: FeatureBounds((0.0, 1.0), (1.0, 2.0), names=("a",)),
        lambda: FeatureBounds.from_mapping({}),
        lambda: FeatureBounds.from_mapping({"age": 3}),
        lambda: FeatureBounds.from_mapping({"age": "01"}),
        lambda: FeatureBounds.from_mapping({"age": (1, 2, 3)}),
        lambda: FeatureBounds((0.0, 1.0), 2.0).for_features(3),
        lambda: FeatureBall(0.0),
        lambda: FeatureBall(-1.0),
        lambda: FeatureBall(math.inf),
        lambda: FeatureBall((1.0, 2.0)),
        lambda: FeatureBall("big"),
        lambda: FeatureBall(1.0, math.nan),
        lambda: FeatureBall(1.0, (1.0, 2.0)).for_features(3),
        lambda: feature_domain_from("01", 1),
        lambda: feature_domain_from((1, 2, 3), 1),
        lambda: feature_domain_from(5, 1),
        lambda: feature_domain_from((0, [1, 2, 3]), 2),
        lambda: feature_domain_from(None, 2),
    ],
)
def test_bad_domains_are_refused(make):
    with pytest.raises(InputError, match="got"):
        make()


def test_missing_bounds_shows_the_way_out():
    error = missing_bounds("a private fit")
    assert isinstance(error, PrivacyError)
    assert "bounds={" in str(error)
    assert "epsilon=None" in str(error)
