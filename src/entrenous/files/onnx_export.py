"""Fitted models as ONNX graphs, to score rows where there is no Python. Needs the extra ``entrenous[onnx]``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.version import __version__

OPSET = 18
"""A version that current and older runtimes know."""


def to_onnx(estimator: Any, path: str | Path | None = None) -> bytes:
    """The model as ONNX bytes, also written to `path` if there is one.

    The graph takes one input ``X`` (double, rows by features). An `AUCClassifier` gives ``label`` and ``score``, the
    decision function; a `MahalanobisLearner` gives ``transformed``. Rows are clipped into the bounds first, as in
    Python. It holds the released coefficients, the classes, the bounds, the spent budget as metadata, and nothing else.
    """
    if find_spec("onnx") is None:
        raise InputError("to_onnx needs the onnx package", "none installed", 'Run: pip install "entrenous[onnx]"')
    from onnx import TensorProto, checker, helper, numpy_helper

    # Imported here: an estimator brings scikit-learn with it.
    from entrenous.estimators.auc import AUCClassifier
    from entrenous.estimators.metric import MahalanobisLearner

    if not isinstance(estimator, AUCClassifier | MahalanobisLearner) or not hasattr(estimator, "plan_"):
        raise InputError(
            "to_onnx takes a fitted AUCClassifier or MahalanobisLearner", type(estimator).__name__, "Call fit first."
        )
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
    else:
        classes = np.asarray(estimator.classes_)
        numeric = np.issubdtype(classes.dtype, np.number) or classes.dtype == bool
        constants["classes"] = classes.astype(np.int64) if numeric else classes.astype(object)
        if numeric and not np.array_equal(constants["classes"], classes):
            constants["classes"] = classes.astype(np.float64)
        nodes, score = _linear(estimator, constants, helper)
        kind = numpy_helper.from_array(constants["classes"]).data_type
        outputs = [helper.make_tensor_value_info("label", kind, ["rows"]), score(TensorProto.DOUBLE)]
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


def _linear(estimator: Any, constants: dict[str, Any], helper: Any) -> tuple[list[Any], Any]:
    """Scores and labels: the sign of one score, or the largest of several."""
    several = len(estimator.coef_) > 1
    score_name = "score" if several else "column"
    coefs, levels, domains = estimator.coef_, estimator.intercept_, estimator.all_bounds_
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
    return nodes, lambda kind: helper.make_tensor_value_info("score", kind, shape)


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
    if domain.mixes_columns:
        constants["mixing" + tail] = domain.mixed(np.eye(domain.origin.size))
    steps = [
        ("Max", ["X", "low"], "raised"),
        ("Min", ["raised", "high"], "boxed"),
        ("Sub", ["boxed", "origin"], "centred"),
        *(
            [("Mul", ["centred", "scale"], "scaled"), ("MatMul", ["scaled", "mixing"], "internal")]
            if domain.mixes_columns
            else [("Mul", ["centred", "scale"], "internal")]
        ),
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
    return [
        helper.make_node(kind, [name if name == "X" else name + tail for name in inputs], [output + tail])
        for kind, inputs, output in steps
    ]
