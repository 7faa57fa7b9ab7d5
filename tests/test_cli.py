"""The commands as a person types them: real files, real processes for the entry points."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from typer.testing import CliRunner

import entrenous as en
from entrenous.cli.app import app

NAMES = ["age", "bmi", "pressure"]
RANGES = "[bounds]\nage = [-5, 5]\nbmi = [-5, 5]\npressure = [-5, 5]\n"


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path):
    X, y = make_classification(300, 3, n_informative=2, n_redundant=1, random_state=2)
    frame = pd.DataFrame(X, columns=NAMES)
    frame["id"] = np.arange(300)
    frame["outcome"] = y
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame.to_parquet(tmp_path / "table.parquet")
    frame.assign(outcome=np.where(y == 1, "ill", "well")).to_csv(tmp_path / "words.csv", index=False)
    (tmp_path / "bounds.toml").write_text(RANGES)
    return tmp_path


@pytest.mark.parametrize("table", ["table.csv", "table.parquet"])
def test_fit_predict_verify(folder, table):
    model = folder / "model.entrenous"
    fit = run(
        "fit",
        folder / table,
        "--target",
        "outcome",
        "--drop",
        "id",
        "--epsilon",
        2,
        "--bounds",
        folder / "bounds.toml",
        "--out",
        model,
    )
    assert fit.exit_code == 0, fit.output
    assert "epsilon = 2" in fit.stdout
    certificate = folder / "model.entrenous.certificate.json"
    assert json.loads(certificate.read_text())["epsilon"] == 2.0
    for file in (model, certificate):
        verified = run("verify", file)
        assert verified.exit_code == 0
        assert verified.stdout.endswith("verified\n")
    scores = folder / "scores.csv"
    predict = run("predict", model, folder / table, "--out", scores, "--keep", "id")
    assert predict.exit_code == 0, predict.output
    written = pd.read_csv(scores)
    assert list(written.columns) == ["id", "score", "prediction"]
    clf = en.load(model)
    np.testing.assert_allclose(written["score"], clf.decision_function(pd.read_csv(folder / "table.csv")[NAMES]))
    assert clf.score(pd.read_csv(folder / "table.csv")[NAMES], pd.read_csv(folder / "table.csv")["outcome"]) > 0.6


def test_bounds_on_the_command_line_and_words_as_labels(folder):
    model = folder / "model"
    words = [word for name in NAMES for word in ("--bounds", f"{name}=-5:5")]
    fit = run(
        "fit",
        folder / "words.csv",
        "--target",
        "outcome",
        "--drop",
        "id",
        "--classes",
        "well,ill",
        *words,
        "--clip",
        1.5,
        "--out",
        model,
    )
    assert fit.exit_code == 0, fit.output
    clf = en.load(model)
    assert clf.classes_.tolist() == ["well", "ill"]
    assert clf.plan_.features.clip == 1.5
    predict = run("predict", model, folder / "words.csv", "--out", folder / "scores.parquet")
    assert predict.exit_code == 0
    assert set(pd.read_parquet(folder / "scores.parquet")["prediction"]) <= {"well", "ill"}


def test_a_range_on_the_command_line_replaces_an_earlier_one_and_a_file_has_each_once(folder):
    words = ("plan", "--n", 100, "--json", "--bounds", folder / "bounds.toml", "--bounds", "age=0:1")
    made = en.Plan.from_json(run(*words, "--bounds", "age=0:2").stdout)
    assert made.features.ranges() == {"age": (0.0, 2.0), "bmi": (-5.0, 5.0), "pressure": (-5.0, 5.0)}
    (folder / "twice.json").write_text('{"age": [0, 1], "age": [0, 2]}')
    refused = run("plan", "--n", 100, "--bounds", folder / "twice.json")
    assert refused.exit_code == 2
    assert "'age' is there twice" in " ".join(refused.output.split())


@pytest.mark.parametrize("table", ["table.csv", "table.parquet", "words.csv"])
@pytest.mark.parametrize("algorithm", ["sgd-previous", "ogd-previous"])
def test_fit_in_chunks(folder, table, algorithm):
    classes = ("--classes", "well,ill") if table == "words.csv" else ()
    columns = ("--target", "outcome", "--drop", "id", "--bounds", folder / "bounds.toml")
    words = ("fit", folder / table, *columns, *classes, "--algorithm", algorithm, "--chunk-rows", 70)
    fit = run(*words, "--out", folder / "model")
    assert fit.exit_code == 0, fit.output
    clf = en.load(folder / "model")
    assert clf.plan_.algorithm == algorithm
    assert clf.plan_.phases[0].stream.order == "arrival"
    assert clf.n_iter_ == 299
    assert run("verify", folder / "model").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--drop", "id"), "sgd-previous, ogd-previous"),
        (("--drop", "nothing", "--algorithm", "sgd-previous"), "no nothing"),
        (("--drop", "outcome2,id", "--algorithm", "sgd-previous"), "no outcome2"),
        (("--algorithm", "sgd-previous"), "'id'"),
    ],
)
def test_chunks_that_cannot_be(folder, words, message):
    fit = run(
        "fit",
        folder / "table.csv",
        "--target",
        "outcome",
        "--bounds",
        folder / "bounds.toml",
        "--chunk-rows",
        70,
        *words,
    )
    assert fit.exit_code == 2
    assert message in " ".join(fit.output.replace("\n", " ").split())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "0 in"),
        (["1,0"], "1 in"),
        ([*(f"{k},{k % 2}" for k in range(9)), "9,none"], "among the public classes (0, 1)"),
        ([*(f"{k},{k % 2}" for k in range(9)), "Anna,1"], "features must be numbers"),
    ],
    ids=["empty", "one row", "a late label", "a late text"],
)
def test_chunks_of_odd_tables(tmp_path, lines, message):
    (tmp_path / "table.csv").write_text("\n".join(["a,y", *lines]) + "\n")
    words = ("--target", "y", "--bounds", "a=0:9", "--algorithm", "sgd-previous", "--chunk-rows", 5)
    fit = run("fit", tmp_path / "table.csv", *words, "--out", tmp_path / "model")
    assert fit.exit_code == 2
    found = " ".join(fit.output.replace("\n", " ").split())
    assert message in found
    assert "Anna" not in found


@pytest.mark.parametrize("chunks", [(), ("--algorithm", "sgd-previous", "--chunk-rows", 5)], ids=["whole", "chunks"])
def test_a_table_without_header_is_not_quoted(tmp_path, chunks):
    (tmp_path / "table.csv").write_text("71.25,1\n64.5,0\n")
    fit = run("fit", tmp_path / "table.csv", "--target", "y", "--bounds", "a=0:9", *chunks, "--out", tmp_path / "model")
    assert fit.exit_code == 2
    assert "header" in fit.output
    assert "71.25" not in fit.output


@pytest.mark.parametrize("chunks", [(), ("--algorithm", "sgd-previous", "--chunk-rows", 2)], ids=["whole", "chunks"])
@pytest.mark.parametrize(
    "words",
    [
        ("--target", "y", "--bounds", "age=0:9"),
        ("--target", "y", "--bounds", "age=0:9", "--drop", "name"),
        # A cell that happens to be called as the target is: the numbers beside it give the record away.
        ("--target", "1", "--bounds", "age=0:9"),
        ("--target", "1", "--bounds", "age=0:9", "--drop", "name"),
        ("--target", "1", "--epsilon", "none"),
        ("--target", "y", "--bounds", "table.csv"),
    ],
)
@pytest.mark.parametrize("record", ["Alice,Female,37.5,1", "Alice,Female,yes,1"])
def test_no_message_has_a_cell_of_a_table_without_header(tmp_path, monkeypatch, record, words, chunks):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(f"{record}\nBob,Male,41.5,0\nCarol,Female,29.5,1\n")
    fit = run("fit", "table.csv", *words, *chunks, "--out", "model")
    assert fit.exit_code == 2, fit.output
    for cell in ("Alice", "Female", "37.5", "yes", "Bob", "Male", "41.5", "Carol", "29.5"):
        assert cell not in fit.output


def test_predict_has_no_cell_of_a_table_without_header(folder):
    words = ("--target", "outcome", "--drop", "id", "--bounds", folder / "bounds.toml", "--out", folder / "model")
    assert run("fit", folder / "table.csv", *words).exit_code == 0
    (folder / "new.csv").write_text("Alice,Female,37.5\nBob,Male,41.5\n")
    predict = run("predict", folder / "model", folder / "new.csv", "--out", folder / "scores.csv")
    assert predict.exit_code == 2
    assert "3 columns" in predict.output
    assert "Alice" not in predict.output
    (folder / "text.csv").write_text("age,bmi,pressure\n1,2,3\n1,Alice,3\n")
    predict = run("predict", folder / "model", folder / "text.csv", "--out", folder / "scores.csv")
    assert predict.exit_code == 2
    assert "Alice" not in predict.output


def test_fit_without_privacy_says_so(folder):
    fit = run(
        "fit",
        folder / "table.csv",
        "--target",
        "outcome",
        "--drop",
        "id",
        "--epsilon",
        "none",
        "--out",
        folder / "model",
    )
    assert fit.exit_code == 0, fit.output
    assert "not private" in fit.stdout
    verified = run("verify", folder / "model")
    assert verified.exit_code == 1
    assert "without privacy" in verified.stdout


def test_a_false_certificate_is_found_out(folder):
    run(
        "fit",
        folder / "table.csv",
        "--target",
        "outcome",
        "--drop",
        "id",
        "--bounds",
        folder / "bounds.toml",
        "--out",
        folder / "model",
    )
    path = folder / "model.certificate.json"
    content = json.loads(path.read_text())
    content["epsilon"] = 0.5
    path.write_text(json.dumps(content))
    verified = run("verify", path)
    assert verified.exit_code == 1
    assert "the certificate is false" in verified.output.lower()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "result", "--bounds", "BOUNDS"], "no result"),
        (["--target", "outcome", "--epsilon", "much"], "--epsilon must be a number"),
        (["--target", "outcome", "--epsilon", "-1"], "--epsilon must be a number"),
        (["--target", "outcome"], "needs public bounds"),
        (["--target", "outcome", "--bounds", "BOUNDS"], "no bounds for 'id'"),
        (["--target", "outcome", "--drop", "nr", "--bounds", "BOUNDS"], "no nr"),
        (["--target", "outcome", "--drop", "id", "--bounds", "age=0"], "col=lo:hi"),
        (["--target", "outcome", "--drop", "id", "--bounds", "nowhere.toml"], "readable TOML"),
        (["--target", "outcome", "--drop", "id", "--bounds", "BOUNDS", "--classes", "no,yes"], "--classes"),
        (["--target", "outcome", "--drop", "id", "--bounds", "BOUNDS", "--classes", "1,2"], "public classes"),
        (["--target", "outcome", "--drop", "id", "--bounds", "BOUNDS", "--algorithm", "best"], "algorithm must be"),
        (["--target", "outcome", "--drop", "id", "--bounds", "BOUNDS", "--delta", "0"], "ridge"),
    ],
)
def test_mistakes_get_a_reason_and_a_way_out(folder, words, message):
    words = [folder / "bounds.toml" if word == "BOUNDS" else word for word in words]
    result = run("fit", folder / "table.csv", *words, "--out", folder / "model")
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert "way out" in result.output
    assert "Traceback" not in result.output
    assert not (folder / "model").exists()


def test_missing_values_and_text_are_refused_by_column_name(folder):
    frame = pd.read_csv(folder / "words.csv")
    frame["ward"] = "north"
    frame.to_csv(folder / "text.csv", index=False)
    result = run("fit", folder / "text.csv", "--target", "outcome", "--epsilon", "none", "--out", folder / "model")
    assert "text in ward" in result.output
    frame.loc[3, "age"] = np.nan
    frame.drop(columns=["ward", "id"]).to_csv(folder / "holes.csv", index=False)
    result = run(
        "fit",
        folder / "holes.csv",
        "--target",
        "outcome",
        "--classes",
        "well,ill",
        "--bounds",
        folder / "bounds.toml",
        "--out",
        folder / "model",
    )
    assert result.exit_code == 2
    assert "NaN" in result.output


def test_nothing_is_overwritten_unasked(folder):
    model = folder / "model"
    model.write_text("mine")
    words = [
        "fit",
        folder / "table.csv",
        "--target",
        "outcome",
        "--drop",
        "id",
        "--bounds",
        folder / "bounds.toml",
        "--out",
        model,
    ]
    refused = run(*words)
    assert refused.exit_code == 2
    assert model.read_text() == "mine"
    assert run(*words, "--force").exit_code == 0
    assert model.read_bytes().startswith(b"entrenous-model/2")


def test_plan_needs_no_data():
    shown = run("plan", "--n", 10_000, "--features", 20, "--algorithm", "dpgdsc", "--ridge", 0.01)
    assert shown.exit_code == 0, shown.output
    for part in ("per coefficient", "sensitivity", "pair gradients", "Lemma 3"):
        assert part in shown.stdout
    assert en.Plan.from_json(run("plan", "--n", 100, "--features", 2, "--json").stdout).n == 100
    assert run("plan", "--n", 1, "--features", 2).exit_code == 2


def test_scores_bend_where_that_pays_unless_told_otherwise(folder):
    assert "with 9 ramps each" in run("plan", "--n", 50_000, "--features", 3).stdout.replace("\n", " ")
    assert "ramps" not in run("plan", "--n", 50_000, "--features", 3, "--shape", "linear").stdout
    refused = run("plan", "--n", 50_000, "--features", 3, "--shape", "cubic")
    assert refused.exit_code == 2
    assert "linear, additive, auto" in refused.output
    model = folder / "bent.entrenous"
    words = ["--target", "outcome", "--drop", "id", "--bounds", folder / "bounds.toml", "--out", model]
    assert run("fit", folder / "table.csv", *words, "--shape", "additive").exit_code == 0
    assert en.load(model).rises_.shape[1] > 0


def test_plan_shows_what_the_ranges_imply(folder):
    (folder / "dictionary.csv").write_text("variable,minimum,maximum\nage,0,120\nbmi,10,70\n")
    shown = run("plan", "--n", 1000, "--bounds", folder / "dictionary.csv", "--bounds", "male=0:1")
    assert shown.exit_code == 0, shown.output
    assert "3 features" in shown.stdout
    assert [line.split()[0] for line in shown.stdout.splitlines() if "  range  " in line] == ["age", "bmi", "male"]
    stored = run("plan", "--n", 1000, "--bounds", folder / "dictionary.csv", "--json").stdout
    assert en.Plan.from_json(stored).features.names == ("age", "bmi")
    for words in ([], ["--bounds", "age=0:120", "--features", 2]):
        refused = run("plan", "--n", 1000, *words)
        assert refused.exit_code == 2
        assert "--features" in refused.output


def test_warnings_are_shown():
    shown = run("plan", "--n", 100, "--features", 2, "--delta", 0.5)
    assert shown.exit_code == 0
    assert "warning: delta=0.5" in shown.output


def test_algorithms_are_listed():
    shown = run("algorithms")
    for record in en.algorithms():
        assert record.name in shown.stdout


@pytest.mark.parametrize(
    "start", [[sys.executable, "-m", "entrenous"], [sys.executable, "-c", "from entrenous.cli import main; main()"]]
)
def test_the_entry_points_start(start):
    shown = subprocess.run([*start, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"entrenous {en.__version__}\n"


def test_help_does_not_wait_for_heavy_imports():
    code = (
        "import sys, entrenous.cli.app; heavy = {'numpy', 'sklearn', 'scipy', 'pandas', 'dp_accounting', 'matplotlib'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_predict_says_when_a_model_does_not_score_rows(folder):
    frame = pd.read_csv(folder / "table.csv")
    learner = en.MahalanobisLearner(bounds=(-5, 5)).fit(frame[NAMES], frame["outcome"])
    refused = run("predict", en.save(learner, folder / "metric"), folder / "table.csv", "--out", folder / "scores.csv")
    assert refused.exit_code == 2
    assert "MahalanobisLearner" in refused.output
    assert not (folder / "scores.csv").exists()


def test_several_classes_and_loose_ranges(folder):
    frame = pd.read_csv(folder / "table.csv")
    frame["outcome"] = np.where(frame["outcome"] == 1, "ill", np.where(frame[NAMES[0]] > 0, "well", "unsure"))
    frame.to_csv(folder / "three.csv", index=False)
    wide = [f"{name}=-100:100" for name in NAMES]
    ranges = [word for entry in wide for word in ("--bounds", entry)]
    words = ["--target", "outcome", "--drop", "id", "--classes", "well,unsure,ill", "--loose", "0.2", "--epsilon", "8"]
    fit = run("fit", folder / "three.csv", *words, *ranges, "--out", folder / "three.entrenous")
    assert fit.exit_code == 0, fit.output
    assert run("verify", folder / "three.entrenous.certificate.json").exit_code == 0
    run("predict", folder / "three.entrenous", folder / "three.csv", "--out", folder / "scores.csv")
    scores = pd.read_csv(folder / "scores.csv")
    assert list(scores.columns) == ["score well", "score unsure", "score ill", "prediction"]
    assert set(scores["prediction"]) <= {"well", "unsure", "ill"}
    wrong = run("fit", folder / "three.csv", *words[:-3], "2", *ranges, "--out", folder / "x.entrenous")
    assert wrong.exit_code != 0
