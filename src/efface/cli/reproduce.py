"""``efface reproduce``: a paper's tables on your data, beside the paper's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from efface.cli import options
from efface.cli.options import data_options, seed_option

if TYPE_CHECKING:
    from efface.auditing.printed import Printed


@click.command()
@click.argument("plan")
@click.option(
    "--data",
    type=click.Path(),
    multiple=True,
    required=True,
    help="Labelled embeddings; again for a second data set of the same encoder (ISP-X).",
)
@data_options
@click.option("--utility", type=click.Path(), help="Labelled vectors that are not faces.")
@click.option("--label", default="label", show_default=True, help="Class column of --utility.")
@click.option("--copies", type=click.Path(), help="Vectors of originals and edited copies.")
@click.option("--original", default="original", show_default=True, help="Column of --copies.")
@click.option("--table", multiple=True, help="Only this table; repeat.")
@click.option("--rank", type=int, help="Rank of the eraser instead of the paper's.")
@click.option("--bootstrap", type=int, default=2000, show_default=True, help="Resamples of people.")
@seed_option
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
@options.quiet_warnings
def reproduce(plan: str, data: tuple[str, ...], **typed: Any) -> int:
    """Run PLAN (a paper's name, as isp-cvpr2026, or a TOML file) on your data.

    Prints each table in the paper's layout with 95 % intervals over people, then the paper's own
    rows. Your encoder and people differ from the paper's: compare patterns, not digits.
    """
    from efface.auditing.papers import read_paper
    from efface.auditing.reproduce import reproduce as run

    paper = read_paper(plan)
    if len(data) > 2:
        raise click.UsageError(f"--data takes one or two data sets, here are {len(data)}")
    embedding = typed["embedding"]
    samples = [options.read(f, typed["identity"], embedding, typed["labels"]) for f in data]
    utility, copies = typed["utility"], typed["copies"]
    printed = run(
        paper,
        samples,
        labelled=options.read(utility, typed["label"], embedding, None) if utility else None,
        copies=options.read(copies, typed["original"], embedding, None) if copies else None,
        tables=typed["table"],
        rank=typed["rank"],
        seed=typed["seed"],
        bootstrap=typed["bootstrap"],
    )
    if typed["as_json"]:
        click.echo(msgspec.json.format(msgspec.json.encode(printed), indent=2).decode())
        return _code(printed)
    click.echo(f"{paper.title}\n{paper.citation}")
    for table in printed:
        click.echo(f"\nTable {table.number}. {table.caption}")
        _table(table)
    return _code(printed)


def _code(printed: list[Printed]) -> int:
    """3, with the reasons, where there is not a single figure."""
    if any(table.measured for table in printed):
        return 0
    why = list(dict.fromkeys(note for table in printed for note in table.notes if note))
    click.echo(f"nothing could be measured: {'; '.join(why) or 'too little data'}", err=True)
    return 3


def _table(table: Printed) -> None:
    rows = [
        *table.ours,
        *([c if i else f"paper: {c}" for i, c in enumerate(r)] for r in table.paper),
    ]
    # The paper's columns are those of its own protocol; shorter rows of ours leave some empty.
    width = max(len(r) for r in [table.columns, *rows])
    grid = [[*r, *[""] * (width - len(r))] for r in [table.columns, *rows]]
    sizes = [max(len(row[j]) for row in grid) for j in range(width)]
    for row in grid:
        click.echo("  " + "  ".join(c.ljust(s) for c, s in zip(row, sizes, strict=True)).rstrip())
    for note in table.notes:
        click.echo(f"  {note}")
