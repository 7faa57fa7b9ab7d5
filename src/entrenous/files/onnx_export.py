"""Fitted models as ONNX graphs, to score rows where there is no Python. Needs the extra ``entrenous[onnx]``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.shaped_box import ShapedBox
from entrenous.version import __version__

OPSET = 18
"""A version that current and older runtimes know."""


def to_onnx(estimator: Any, path: str | Path | None = None) -> bytes:
    """The model as ONNX bytes, also written to `path` if there is one.

    The graph takes one input ``X`` (double, rows by features). An `AUCClassifier` or `PointwiseClassifier` gives
    ``label`` and ``score``, the decision function; if it has `predict_proba` also ``probability``, that of the event,
    or of several classes one column each. A regressor gives ``prediction``, a `MahalanobisLearner` ``transformed``.
    Rows are clipped into the bounds first, as in Python. It holds the released numbers of the model, the classes, the
    bounds, the spent budget as metadata, and nothing else.
    """
    if find_spec("onnx") is None:
        raise InputError("to_onnx needs the onnx package", "none installed", 'Run: pip install "entrenous[onnx]"')
    from onnx import TensorProto, checker, helper, numpy_helper

    # Imported here: an estimator brings scikit-learn with it.
    from entrenous.estimators.auc import AUCClassifier
    from entrenous.estimators.entropy import ErrorEntropyRegressor
    from entrenous.estimators.metric import MahalanobisLearner
    from entrenous.estimators.pointwise import PointwiseClassifier, PointwiseRegressor

    kinds = (AUCClassifier, ErrorEntropyRegressor, MahalanobisLearner, PointwiseClassifier, PointwiseRegressor)
    if not isinstance(estimator, kinds) or not hasattr(estimator, "plan_"):
        takes = ", ".join(kind.__name__ for kind in kinds)
        raise InputError(f"to_onnx takes a fitted model: {takes}", type(estimator).__name__, "Call fit first.")
    rows = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", estimator.n_features_in_])
    constants: dict[str, Any] = {}
    if isinstance(estimator, MahalanobisLearner):
        constants["components"] = np.ascontiguousarray(estimator.components_.T)
        domain, clipped = estimator.bounds_, "X"
        nodes = []
        if domain is not None:
            nodes = _drawn("centred", domain, "", constants, helper)
            nodes.append(helper.make_node("Add", ["drawn", "origin"], ["clipped"]))
            clipped = "clipped"
        nodes.append(helper.make_node("MatMul", [clipped, "components"], ["transformed"]))
        columns = estimator.components_.shape[0]
        outputs = [helper.make_tensor_value_info("transformed", TensorProto.DOUBLE, ["rows", columns])]
    elif isinstance(estimator, ErrorEntropyRegressor | PointwiseRegressor):
        coefs, levels, (box,) = _linear_models(estimator)
        constants["flat"] = np.array([-1], dtype=np.int64)
        nodes = _scored(coefs, levels, box, "", "column", constants, helper)
        nodes.append(helper.make_node("Reshape", ["column", "flat"], ["prediction"]))
        outputs = [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, ["rows"])]
    else:
        classes = np.asarray(estimator.classes_)
        numeric = np.issubdtype(classes.dtype, np.number) or classes.dtype == bool
        constants["classes"] = classes.astype(np.int64) if numeric else classes.astype(object)
        if numeric and not np.array_equal(constants["classes"], classes):
            constants["classes"] = classes.astype(np.float64)
        nodes, shape = _linear(estimator, constants, helper)
        kind = numpy_helper.from_array(constants["classes"]).data_type
        outputs = [helper.make_tensor_value_info("label", kind, ["rows"])]
        named = ["score"]
        if hasattr(estimator, "predict_proba"):
            nodes += _probability(estimator, constants, helper)
            named.append("probability")
        outputs += [helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape) for name in named]
    graph = helper.make_graph(
        nodes,
        type(estimator).__name__,
        [rows],
        outputs,
        initializer=[numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="entrenous",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        # The oldest format that has this opset, so that older runtimes read it.
        ir_version=8,
    )
    certificate = estimator.certificate_
    spent = "none" if certificate is None else f"epsilon={certificate.epsilon:.6g}, delta={certificate.delta:.6g}"
    helper.set_model_props(model, {"privacy": spent, "algorithm": estimator.plan_.algorithm})
    checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString()
    if path is not None:
        Path(path).write_bytes(content)
    return content


def _linear_models(estimator: Any) -> tuple[Any, Any, tuple[FeatureDomain | None, ...]]:
    """Coefficients (a row per score), intercepts and the domains that rows are clipped into."""
    if hasattr(estimator, "all_bounds_"):
        return estimator.all_coefs(), estimator.intercept_, estimator.all_bounds_
    return np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_), (estimator.bounds_,)


def _linear(estimator: Any, constants: dict[str, Any], helper: Any) -> tuple[list[Any], list[Any]]:
    """Scores and labels: the sign of one score, or the largest of several; and the shape of the scores."""
    several = len(estimator.coef_) > 1
    score_name = "score" if several else "column"
    coefs, levels, domains = _linear_models(estimator)
    if len(set(domains)) == 1:
        nodes = _scored(coefs, levels, domains[0], "", score_name, constants, helper)
    else:
        # Bounds that every class found for itself.
        nodes, names = [], [f"score_{k}" for k in range(len(coefs))]
        for k, name in enumerate(names):
            one = slice(k, k + 1)
            nodes += _scored(coefs[one], levels[one], domains[k], f"_{k}", name, constants, helper)
        nodes.append(helper.make_node("Concat", names, [score_name], axis=1))
    if several:
        nodes.append(helper.make_node("ArgMax", ["score"], ["code"], axis=1, keepdims=0))
        shape: list[Any] = ["rows", len(estimator.coef_)]
    else:
        constants["flat"] = np.array([-1], dtype=np.int64)
        constants["zero"] = np.zeros(1)
        nodes += [
            helper.make_node("Reshape", ["column", "flat"], ["score"]),
            helper.make_node("Greater", ["score", "zero"], ["positive"]),
            helper.make_node("Cast", ["positive"], ["code"], to=7),
        ]
        shape = ["rows"]
    nodes.append(helper.make_node("Gather", ["classes", "code"], ["label"]))
    return nodes, shape


def _probability(estimator: Any, constants: dict[str, Any], helper: Any) -> list[Any]:
    """The nodes from ``score`` to ``probability``: what a `ProbabilityLink` does in Python, by log-odds throughout."""
    links = estimator.probability_links()
    several = len(links) > 1
    numbers = {
        "even_score": [link.even_score for link in links],
        "log_event": np.log([link.slopes.event for link in links]),
        "log_other": np.log([link.slopes.other for link in links]),
        "log_cap": np.log([link.slopes.cap for link in links]),
        "slope": [link.log_odds_map.slope for link in links],
        "shift": [link.log_odds_map.shift for link in links],
        "nought": np.zeros(1),
        "unit": np.ones(1),
    }
    constants.update({f"link_{name}": np.array(value) for name, value in numbers.items()})
    event = "event" if several else "probability"
    steps = [
        ("Add", ["score", "link_even_score"], "margin"),
        # log sigma(m) = min(m, 0) - log(1 + e^-|m|), and log sigma(-m) is that less m: nothing overflows.
        ("Abs", ["margin"], "margin_size"),
        ("Neg", ["margin_size"], "minus_size"),
        ("Exp", ["minus_size"], "small"),
        ("Add", ["small", "link_unit"], "one_and_small"),
        ("Log", ["one_and_small"], "softened"),
        ("Min", ["margin", "link_nought"], "cut_margin"),
        ("Sub", ["cut_margin", "softened"], "log_right"),
        ("Sub", ["log_right", "margin"], "log_wrong"),
        ("Add", ["log_wrong", "link_log_event"], "free_event"),
        ("Min", ["free_event", "link_log_cap"], "pull_event"),
        ("Add", ["log_right", "link_log_other"], "free_other"),
        ("Min", ["free_other", "link_log_cap"], "pull_other"),
        ("Sub", ["pull_other", "pull_event"], "log_odds"),
        ("Mul", ["log_odds", "link_slope"], "stretched"),
        ("Add", ["stretched", "link_shift"], "mapped"),
        # Not Sigmoid, which loses the digits of small probabilities in some runtimes.
        ("Neg", ["mapped"], "against"),
        ("Exp", ["against"], "odds_against"),
        ("Add", ["odds_against", "link_unit"], "whole"),
        ("Reciprocal", ["whole"], event),
    ]
    nodes = [helper.make_node(kind, inputs, [output]) for kind, inputs, output in steps]
    if several:
        constants["link_columns"] = np.array([1], dtype=np.int64)
        nodes.append(helper.make_node("ReduceSum", [event, "link_columns"], ["together"]))
        nodes.append(helper.make_node("Div", [event, "together"], ["probability"]))
    return nodes


def _scored(
    coef: Any,
    intercept: Any,
    domain: FeatureDomain | None,
    tail: str,
    name: str,
    constants: dict[str, Any],
    helper: Any,
) -> list[Any]:
    """The nodes of linear scores of clipped rows, with the output `name`; `tail` ends the names in between."""
    nodes, rows = [], "X"
    if domain is not None:
        # In internal units, as the estimator does it: far from zero the user's would lose digits.
        nodes, rows = _drawn("internal", domain, tail, constants, helper), "drawn" + tail
        coef, intercept = domain.from_user(coef, intercept)
    constants["coef" + tail], constants["intercept" + tail] = np.ascontiguousarray(coef.T), intercept
    nodes.append(helper.make_node("MatMul", [rows, "coef" + tail], ["weighted" + tail]))
    nodes.append(helper.make_node("Add", ["weighted" + tail, "intercept" + tail], [name]))
    return nodes


def _drawn(what: str, domain: FeatureDomain, tail: str, constants: dict[str, Any], helper: Any) -> list[Any]:
    """The nodes that clip rows into the domain, with the output ``drawn``: what a `FeatureDomain` does in Python.

    `what` is drawn into the ball: ``"internal"``, the rows in internal units, or ``"centred"``, their distance from the
    centre in the user's. `tail` ends all names but that of the input.
    """
    low, high = domain.ends()
    numbers = {"low": low, "high": high, "origin": domain.origin, "scale": domain.scale, "one": np.ones(1)}
    constants.update({name + tail: np.array(value) for name, value in numbers.items()})
    constants["columns" + tail] = np.array([1], dtype=np.int64)
    mapped, bent = "internal", list[Any]()
    if domain.mixes_columns:
        constants["mixing" + tail] = domain.mixed(np.eye(domain.origin.size))
        mapped, bent = "scaled", [("MatMul", ["scaled", "mixing"], "internal")]
    elif isinstance(domain, ShapedBox):
        mapped, bent = "straight", _bent(domain, tail, constants)
    steps = [
        ("Max", ["X", "low"], "raised"),
        ("Min", ["raised", "high"], "boxed"),
        ("Sub", ["boxed", "origin"], "centred"),
        ("Mul", ["centred", "scale"], mapped),
        *bent,
        # Dividing by the largest entry first keeps the norm of enormous rows finite.
        ("Abs", ["internal"], "sizes"),
        ("ReduceMax", ["sizes", "columns"], "row_largest"),
        ("Max", ["row_largest", "one"], "largest"),
        ("Div", ["internal", "largest"], "direction"),
        ("ReduceSumSquare", ["direction", "columns"], "square"),
        ("Sqrt", ["square"], "length"),
        ("Mul", ["length", "largest"], "norm"),
        ("Max", ["norm", "one"], "stretch"),
        ("Div", [what, "stretch"], "drawn"),
    ]
    axes = {"Gather": 1, "Concat": 1}
    return [
        helper.make_node(
            kind,
            [name if name == "X" else name + tail for name in inputs],
            [output + tail],
            **({"axis": axes[kind]} if kind in axes else {}),
        )
        for kind, inputs, output in steps
    ]


def _bent(domain: ShapedBox, tail: str, constants: dict[str, Any]) -> list[tuple[str, list[str], str]]:
    """The steps that add the ramps of a `ShapedBox` to rows in units of their own columns."""
    edges = np.array(domain.edges)
    numbers = {
        "bending": np.array(domain.shaped, dtype=np.int64),
        "ramp_begins": edges[:-1],
        "ramp_steepness": 1.0 / np.diff(edges),
        "ramp_middles": np.array(domain.middles),
        "ramp_heights": np.array(domain.heights),
        "ramp_none": np.zeros(1),
        "ramp_axis": np.array([2], dtype=np.int64),
        "ramp_shape": np.array([-1, domain.added_entries], dtype=np.int64),
    }
    constants.update({name + tail: value for name, value in numbers.items()})
    return [
        ("Gather", ["straight", "bending"], "bent_columns"),
        ("Unsqueeze", ["bent_columns", "ramp_axis"], "bent_entries"),
        ("Sub", ["bent_entries", "ramp_begins"], "past_begin"),
        ("Mul", ["past_begin", "ramp_steepness"], "risen"),
        ("Max", ["risen", "ramp_none"], "risen_above"),
        ("Min", ["risen_above", "one"], "ramps"),
        ("Sub", ["ramps", "ramp_middles"], "centred_ramps"),
        ("Mul", ["centred_ramps", "ramp_heights"], "scaled_ramps"),
        ("Reshape", ["scaled_ramps", "ramp_shape"], "flat_ramps"),
        ("Concat", ["straight", "flat_ramps"], "internal"),
    ]
