"""The commands: fit, predict, plan, algorithms, verify, demo, reproduce; the ledger's have a file of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entrenous.cli.inputs import (
    bounds_from,
    epsilon_from,
    free_to_write,
    label_values,
    loosely,
    n_features_from,
    names_from,
    need_bounds,
)
from entrenous.cli.ledger import ledger_commands
from entrenous.cli.messages import clear_errors
from entrenous.errors import InputError
from entrenous.ledger.spending import DATASET, LEDGER
from entrenous.version import __version__

app = typer.Typer(
    help="Learn from pairs of records, privately, with a certificate that can be checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(ledger_commands, name="ledger")

Epsilon = Annotated[str, typer.Option(help="Privacy budget, or 'none' for a fit without privacy.")]
Delta = Annotated[float | None, typer.Option(help="Default 1/n^2, at least 1e-18; 0 asks for pure privacy.")]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        help="Public ranges, known before the table: a TOML or JSON file, a data dictionary (.csv: name, min, max), "
        "or col=lo:hi. Repeat it for more columns."
    ),
]
Clip = Annotated[float | None, typer.Option(help="Clipping radius in half-widths; smaller means less noise.")]
Algorithm = Annotated[str, typer.Option(help="A name from 'entrenous algorithms', or 'auto'.")]
Surrogate = Annotated[str | None, typer.Option(help="Loss of a pair, such as logistic or hinge.")]
Shape = Annotated[
    str,
    typer.Option(
        help="'linear', 'additive' for scores that bend in every numeric column, or 'auto': additive where public "
        "numbers say that it pays."
    ),
]
Radius = Annotated[float | None, typer.Option(help="Radius of the parameter ball (rows have norm at most 1).")]
Ridge = Annotated[float, typer.Option(help="Strength of the l2 penalty (rows have norm at most 1).")]
MaxIter = Annotated[int | None, typer.Option(help="Steps of an iterative algorithm.")]
Calibration = Annotated[str, typer.Option(help="'tight', or 'paper' for a paper's printed noise.")]
Loose = Annotated[
    float | None,
    typer.Option(help="The bounds are loose: spend this share of the budget, such as 0.1, on tighter ones."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are already there.")]


def main() -> None:
    """Entry point of ``entrenous``."""
    app()


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Learn from pairs of records, privately, with a certificate that can be checked."""
    if version:
        typer.echo(f"entrenous {__version__}")
        raise typer.Exit


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(help="The private table, .csv or .parquet.")],
    target: Annotated[str, typer.Option(help="Column with the label.")],
    epsilon: Epsilon = "1.0",
    bounds: Bounds = None,
    clip: Clip = None,
    loose: Loose = None,
    classes: Annotated[str, typer.Option(help="Public labels, the event last, such as no,yes.")] = "0,1",
    drop: Annotated[str, typer.Option(help="Columns that are no features, such as id,date.")] = "",
    delta: Delta = None,
    algorithm: Algorithm = "auto",
    surrogate: Surrogate = None,
    shape: Shape = "auto",
    radius: Radius = None,
    ridge: Ridge = 0.0,
    max_iter: MaxIter = None,
    calibration: Calibration = "tight",
    ledger: Annotated[
        str | None,
        typer.Option(help="Ledger to spend from, a file or a database's address.", envvar=LEDGER, show_envvar=True),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The table's data set in the ledger.", envvar=DATASET, show_envvar=True)
    ] = None,
    chunk_rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Read so many rows at a time, in memory that does not depend on the table's length, in the table's "
            "order: shuffle a sorted one before. For algorithms that take records as they come, such as sgd-previous.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The model; its certificate goes beside it.")] = Path("model.entrenous"),
    force: Force = False,
) -> None:
    """Fit an AUC model to a table; write the model and its certificate."""
    with clear_errors():
        certificate_path = out.with_name(out.name + ".certificate.json")
        free_to_write(force, out, certificate_path)
        budget = epsilon_from(epsilon)
        ranges = bounds_from(bounds, clip)
        need_bounds(budget, ranges)
        from entrenous.cli.inputs import chunks_of, features_and_label, options_for_chunks
        from entrenous.engine.progress import progress_bar
        from entrenous.estimators.auc import AUCClassifier
        from entrenous.files.model_files import save

        estimator = AUCClassifier(
            budget,
            delta,
            algorithm=algorithm,
            surrogate=surrogate,
            shape=shape,
            bounds=loosely(ranges, loose),
            radius=radius,
            ridge=ridge,
            max_iter=max_iter,
            calibration=calibration,
            ledger=ledger,
            dataset=dataset,
        )
        # A long table takes its time to read, so the bar is there from the beginning.
        with progress_bar(f"fitting {table.name}"):
            if chunk_rows is None:
                X, y = features_and_label(table, target, names_from(drop), ranges)
                estimator.set_params(classes=label_values(names_from(classes), y)).fit(X, y)
            else:
                estimator.set_params(options=options_for_chunks(algorithm))
                n_total, chunks = chunks_of(table, target, names_from(drop), ranges, chunk_rows)
                for X, y in chunks:
                    if estimator.classes is None:
                        estimator.set_params(classes=label_values(names_from(classes), y))
                    estimator.partial_fit(X, y, n_total=n_total)
        save(estimator, out)
        typer.echo(f"model        {out}")
        if estimator.certificate_ is None:
            typer.echo("certificate  none: this fit is not private")
        else:
            certificate_path.write_text(estimator.certificate_.to_json() + "\n", encoding="utf-8")
            typer.echo(f"certificate  {certificate_path}\n{estimator.certificate_}")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model that 'entrenous fit' wrote.")],
    table: Annotated[Path, typer.Argument(help="The table to score, .csv or .parquet.")],
    out: Annotated[Path, typer.Option(help="Where scores go, .csv or .parquet.")] = Path("scores.csv"),
    keep: Annotated[str, typer.Option(help="Columns of the table to copy, such as id.")] = "",
    force: Force = False,
) -> None:
    """Score the rows of a table; write score and predicted label."""
    with clear_errors():
        free_to_write(force, out)
        from entrenous.cli.inputs import columns_of
        from entrenous.files.model_files import load
        from entrenous.files.tables import read_table, write_table

        estimator = load(model)
        if not hasattr(estimator, "decision_function"):
            raise InputError(
                "predict needs a model that scores rows", f"a {type(estimator).__name__}", "Use it from Python."
            )
        frame = read_table(table)
        X = columns_of(frame, estimator.feature_names_in_, table)
        scored = columns_of(frame, names_from(keep), table).copy()
        scores = estimator.decision_function(X)
        if scores.ndim == 1:
            scored["score"] = scores
        else:
            for label, column in zip(estimator.classes_, scores.T, strict=True):
                scored[f"score {label}"] = column
        scored["prediction"] = estimator.predict(X)
        write_table(scored, out)
        typer.echo(f"{len(scored)} rows scored: {out}")


@app.command()
def plan(
    n: Annotated[int, typer.Option("--n", help="Number of records.")],
    features: Annotated[int | None, typer.Option(help="Number of features; --bounds says it too.")] = None,
    epsilon: Epsilon = "1.0",
    bounds: Bounds = None,
    clip: Clip = None,
    delta: Delta = None,
    algorithm: Algorithm = "auto",
    surrogate: Surrogate = None,
    shape: Shape = "auto",
    radius: Radius = None,
    ridge: Ridge = 0.0,
    max_iter: MaxIter = None,
    calibration: Calibration = "tight",
    json: Annotated[bool, typer.Option("--json", help="Print the whole plan as JSON.")] = False,
) -> None:
    """Show what a fit would do and cost, without data: noise per coefficient, sensitivity, pair gradients.

    With --bounds also what the ranges imply, feature by feature.
    """
    with clear_errors():
        ranges = bounds_from(bounds, clip)
        width = n_features_from(features, ranges)
        from entrenous.planners.planning import plan as make_plan
        from entrenous.report.bounds_table import DomainDescription

        made = make_plan(
            algorithm,
            n=n,
            n_features=width,
            bounds=ranges,
            epsilon=epsilon_from(epsilon),
            delta=delta,
            surrogate=surrogate,
            shape=shape,
            radius=radius,
            ridge=ridge,
            max_iter=max_iter,
            calibration=calibration,
        )
        typer.echo(made.to_json() if json else str(made))
        if ranges is not None and not json:
            typer.echo(f"\n{DomainDescription.of(made)}")


@app.command()
def algorithms() -> None:
    """List the algorithms: what each needs, costs and can promise."""
    from rich.console import Console
    from rich.table import Table

    from entrenous.planners.registry import algorithms as listed

    records = listed()
    table = Table(*records.header(), box=None, header_style="bold")
    # A name is what one types: it must not be broken in a narrow terminal.
    table.columns[0].no_wrap = True
    for row in records.rows():
        table.add_row(*row)
    Console().print(table)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A certificate (.json) or a saved model.")],
) -> None:
    """Recompute a certificate from its own public numbers.

    Exit code 0: verified. 3: verified, with reservations that are listed. 1: not verified. It proves the arithmetic of
    the description, not that the noise was drawn.
    """
    with clear_errors():
        from entrenous.files.model_files import certificate_in

        certificate = certificate_in(file)
        if certificate is None:
            typer.echo("this model was fitted without privacy: there is nothing to verify")
            raise typer.Exit(1)
        typer.echo(str(certificate))
        found = certificate.verify()
        typer.echo(str(found))
        if found.reservations:
            typer.echo(f"verified, with reservations ({len(found.reservations)}): read them before you rely on it")
            raise typer.Exit(3)
        typer.echo("verified")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html and results.json.")] = Path("entrenous-demo"),
    splits: Annotated[int, typer.Option(min=2, help="Train/test splits to average over.")] = 10,
) -> None:
    """Train on scikit-learn's breast-cancer data at several epsilon and write a report."""
    with clear_errors():
        from entrenous.demo.show import demo as run_demo

        run_demo(out, splits)


@app.command()
def reproduce(
    target: Annotated[str | None, typer.Argument(help="A table or figure; without one they are listed.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few repetitions of a few cells: does it work?")] = False,
    out: Annotated[Path, typer.Option(help="Folder for figures, drawing and page.")] = Path("entrenous-reproduce"),
    preprocessing: Annotated[str, typer.Option(help="Rows as the paper prepares them, or 'ours'.")] = "paper",
    processes: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 1,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Instead of the target's own number.")] = None,
    explain: Annotated[
        bool, typer.Option("--describe", help="Say how a target prepares rows and what it runs; run nothing.")
    ] = False,
) -> None:
    """Run a published experiment again and set ours beside what the paper prints.

    A run that was stopped goes on where it was; one that is complete is only shown and drawn again.
    """
    with clear_errors():
        from entrenous.reproduce.show import describe, list_targets
        from entrenous.reproduce.show import reproduce as run_target

        if target is None:
            list_targets()
            return
        if explain:
            describe(target)
            return
        if preprocessing not in ("paper", "ours"):
            raise InputError("preprocessing must be 'paper' or 'ours'", repr(preprocessing), "'paper' is the default.")
        run_target(
            target,
            out,
            quick=quick,
            preprocessing="ours" if preprocessing == "ours" else "paper",
            processes=processes,
            repetitions=repetitions,
        )
