"""``efface apply``: a whole store of embeddings through a projector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from efface.cli import options

if TYPE_CHECKING:
    from efface.stores.address import Address
    from efface.stores.receipt import Receipt
    from efface.stores.run import Order


@click.command()
@click.argument("projector", type=click.Path())
@click.argument("store")
@click.option("--out", metavar="TARGET", required=True, help="New store: a path or an address.")
@options.store_options
@click.option(
    "--null",
    type=click.Choice(["fail", "keep", "drop"]),
    default="fail",
    show_default=True,
    help="Rows without a vector: end, keep them so, or leave them out.",
)
@click.option("--resume", is_flag=True, help="Take a finished target of the same work as it is.")
@click.option("--workers", type=click.IntRange(1), help="Processes; as many as usable cores.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler to work on instead.")
@click.option("--part-rows", type=click.IntRange(1), help="Rows per part; about 64 MB of them.")
@click.option(
    "--verify",
    type=click.Choice(["sample", "full", "none"]),
    default="sample",
    show_default=True,
    help="How many parts to read again from the finished target.",
)
@click.option("--swap", metavar="LIVE", help="Then make TARGET the one called LIVE.")
@click.option("--receipt", type=click.Path(), help="Where the receipt goes; beside TARGET.")
@click.option("--date", default="", help="Date to write into the receipt.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as JSON.")
@options.quiet_warnings
def apply(projector: str, store: str, **typed: Any) -> int:
    """Write STORE to a new TARGET with its vectors erased by PROJECTOR.

    Everything else in it stays as it is. Killed at any moment, the same command goes on where it
    stopped.
    """
    from efface.export.safetensors import read_projector
    from efface.progress import Progress
    from efface.stores.run import run

    options.check_order(projector, store, f"efface apply {store} {projector}")
    order = _order(store, typed)
    found = read_projector(projector)
    with Progress[None]("apply", 0, unit="row") as bar:
        receipt = run(order, found.eraser, made_for=found.fitting.dtype, progress=bar.of)
    click.echo(
        receipt.to_json() if typed["as_json"] else _summary(receipt), nl=not typed["as_json"]
    )
    return 0


def _order(store: str, typed: dict[str, Any]) -> Order:
    from efface.stores.address import parse
    from efface.stores.receipt import default_path
    from efface.stores.run import Order

    columns = {"embedding": typed["embedding"], "key": typed["key"]}
    source, target = parse(store, **columns), parse(typed["out"], **columns)
    _writable(target)
    receipt = Path(typed["receipt"]) if typed["receipt"] else default_path(target)
    options.writable_file(str(receipt))
    kept = ("null", "resume", "part_rows", "verify", "swap", "workers", "scheduler", "date")
    return Order(source, target, receipt, **{name: typed[name] for name in kept})


def _writable(target: Address) -> None:
    """Fail before the work, not after it, if a file or folder cannot be written."""
    if target.table:
        return
    if Path(target.location).suffix:
        options.writable_file(target.location)
    else:
        options.writable_folder(target.location)


def _summary(receipt: Receipt) -> str:
    rows, used, checked = receipt.rows, receipt.projector, receipt.verified
    notes = [f"{rows.written:,} vectors" if not rows.null_kept else f"{rows.written:,} rows"]
    if rows.null_kept:
        notes.append(f"{rows.null_kept:,} of them without a vector")
    if rows.null_dropped:
        notes.append(f"{rows.null_dropped:,} rows without a vector dropped")
    notes.append(f"{used.rank} of {used.dim} directions removed")
    notes.append(
        f"verified by reading {checked.parts:,} of {receipt.parts.count:,} parts again"
        if checked.parts
        else "rows counted, not read again"
    )
    if receipt.swapped:
        notes.append(f"now live as {receipt.swapped}")
    return f"{receipt.target}: {', '.join(notes)}"
