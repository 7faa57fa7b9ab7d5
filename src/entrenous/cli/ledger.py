"""The commands of the ledger: init, show, history, verify, export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entrenous.cli.inputs import epsilon_from, free_to_write
from entrenous.cli.messages import clear_errors
from entrenous.errors import InputError
from entrenous.ledger.spending import LEDGER

if TYPE_CHECKING:
    from entrenous.ledger.ledger import Ledger

ledger_commands = typer.Typer(
    help="A total budget for a data set, which no number of fits can overspend.", no_args_is_help=True
)

Place = Annotated[str, typer.Argument(help="The ledger: a SQLite file, or a database's address.", envvar=LEDGER)]
OneDataset = Annotated[str | None, typer.Option(help="Only this data set.")]
_WIDTH = 30


def _opened(place: str) -> Ledger:
    # Here: no other command waits for a database.
    from entrenous.ledger.ledger import Ledger

    return Ledger(place)


@ledger_commands.command()
def init(
    place: Place,
    dataset: Annotated[str, typer.Option(help="Name of the data set.")],
    epsilon: Annotated[float | None, typer.Option(help="Total budget, with --delta.")] = None,
    delta: Annotated[float | None, typer.Option(help="Well below one over the number of records.")] = None,
    mu: Annotated[float | None, typer.Option(help="Total budget in Gaussian privacy, in place of epsilon.")] = None,
    rule: Annotated[str | None, typer.Option(help="'gdp' (default), or 'rdp' for secret samples.")] = None,
    order: Annotated[int | None, typer.Option(help="Order of rdp; by default the best one for the budget.")] = None,
    owner: Annotated[str, typer.Option(help="Who answers for it.")] = "",
    note: Annotated[str, typer.Option(help="Anything worth knowing.")] = "",
    version_of: Annotated[str | None, typer.Option(help="Share the budget of this data set.")] = None,
    part_of: Annotated[str | None, typer.Option(help="A part of this data set, disjoint from its other parts.")] = None,
    membership: Annotated[
        str | None, typer.Option(help="How records got into the part: 'random' or 'position', never by a value.")
    ] = None,
) -> None:
    """Enter a data set with its total budget; create the ledger if it is the first."""
    with clear_errors():
        ledger = _opened(place)
        ledger.init(
            dataset,
            epsilon=epsilon,
            delta=delta,
            mu=mu,
            rule=rule,
            order=order,
            owner=owner,
            note=note,
            version_of=version_of,
            part_of=part_of,
            membership=membership,
        )
        account = ledger.account(dataset)
        terms = account.terms
        at = f" at order {terms.order}" if terms.order is not None else ""
        shared = "" if terms.name == dataset else f", shared with {terms.name}"
        typer.echo(f"{dataset}: {terms.budget}, rule {terms.rule}{at}{shared}")
        typer.echo(f"ledger  {ledger.shown}\nfit with ledger={ledger.shown!r}, dataset={dataset!r}")


@ledger_commands.command()
def show(
    place: Place,
    dataset: OneDataset = None,
    epsilon: Annotated[str | None, typer.Option(help="Say what one more fit of this epsilon would cost.")] = None,
    delta: Annotated[float | None, typer.Option(help="Delta of that fit; by default the data set's.")] = None,
) -> None:
    """What each data set has left, and what one more fit would cost."""
    with clear_errors():
        from rich.bar import Bar
        from rich.console import Console
        from rich.table import Table

        ledger = _opened(place)
        table = Table("data set", "budget", "spent", "left", "", "fits", "unfinished", box=None, header_style="bold")
        table.columns[0].no_wrap = True
        sentences = []
        for name in ledger.datasets() if dataset is None else (dataset,):
            account = ledger.account(name)
            terms = account.terms
            shared = "" if terms.name == name else f" of {terms.name}"
            table.add_row(
                name,
                f"{terms.budget}{shared}",
                terms.spent_in_words(account.spent),
                Bar(1.0, 0.0, account.share_left, width=_WIDTH),
                f"{account.share_left:.0%}",
                str(account.fits),
                str(account.unfinished),
            )
            if epsilon is not None:
                sentences.append(_one_more(name, account, epsilon, delta))
        Console().print(table)
        typer.echo("\n".join([*sentences, f"head {ledger.head()}"]))


def _one_more(name: str, account: Any, epsilon: str, delta: float | None) -> str:
    from entrenous.ledger.terms import FEWEST
    from entrenous.privacy.budget import budget_for

    at = account.terms.delta if delta is None else delta
    if at is None:
        raise InputError("a fit beside a budget in mu needs a delta", "none", "Say --delta 1e-6.")
    budget = budget_for(epsilon_from(epsilon), at, FEWEST)
    if not budget.is_private:
        return f"{name}: a fit without privacy spends nothing that a ledger could count"
    left = account.fits_left(budget)
    if left == 0:
        return f"{name}: no room for a fit at epsilon = {budget.epsilon:g}, delta = {at:g}"
    more = account.spent_after(budget)
    return f"{name}: one more fit at epsilon = {budget.epsilon:g}, delta = {at:g} brings it to {more}; room for {left}"


@ledger_commands.command()
def history(place: Place, dataset: OneDataset = None) -> None:
    """Every fit, in the order in which budgets were set aside."""
    with clear_errors():
        from rich.console import Console
        from rich.table import Table

        titles = ("entry", "data set", "reserved", "status", "algorithm", "n", "epsilon", "delta", "cost")
        table = Table(*titles, box=None, header_style="bold")
        for entry in _opened(place).history(dataset):
            numbers = (f"{entry.epsilon:.4g}", f"{entry.delta:.3g}", f"{entry.cost:.6g}")
            table.add_row(
                str(entry.number),
                entry.dataset,
                entry.reserved,
                entry.status,
                entry.algorithm,
                str(entry.n),
                *numbers,
            )
        Console(width=160 if not Console().is_terminal else None).print(table)


@ledger_commands.command()
def verify(
    place: Place,
    head: Annotated[
        str | None, typer.Option(help="A hash that 'show' printed earlier: it must still be there.")
    ] = None,
) -> None:
    """Recompute every cost from its certificate, every sum and every seal. Exit code 0: all hold, 1: not."""
    with clear_errors():
        for check in _opened(place).verify(head):
            typer.echo(f"  ok  {check}")
        typer.echo("verified")


@ledger_commands.command()
def export(
    place: Place,
    out: Annotated[Path, typer.Option(help=".json for everything, .csv for a table of the fits.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is already there.")] = False,
) -> None:
    """Write the ledger to a file for archives and other programs."""
    with clear_errors():
        if out.suffix not in (".json", ".csv"):
            raise InputError("an export is .json or .csv", f"{out.name}", "Name the file so.")
        free_to_write(force, out)
        ledger = _opened(place)
        if out.suffix == ".json":
            import json

            out.write_text(json.dumps(ledger.export(), indent=2, allow_nan=False) + "\n", encoding="utf-8")
        else:
            import csv

            from entrenous.ledger.ledger import FIELDS

            entries = [entry.to_dict() for entry in ledger.history()]
            with out.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, FIELDS, extrasaction="ignore")
                writer.writeheader()
                writer.writerows(entries)
        typer.echo(f"written: {out}")
