"""``efface encode``: pictures to a file of vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from efface.cli import encoding, options

if TYPE_CHECKING:
    from efface.encoding.run import Order
    from efface.facts import EncoderFacts, Encoding


@click.command()
@click.argument("images", type=click.Path())
@encoding.encoder_options
@encoding.face_options
@encoding.picture_options
@click.option("--out", type=click.Path(), required=True, help="emb.parquet")
@click.option(
    "--dtype",
    type=click.Choice(["float16", "float32"]),
    default="float32",
    show_default=True,
    help="Type of the numbers that are written.",
)
@click.option(
    "--batch", type=click.IntRange(1), default=32, show_default=True, help="Pictures at a time."
)
@click.option("--workers", type=click.IntRange(1), help="Processes that decode; one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
@options.quiet_warnings
def encode(images: str, **typed: Any) -> int:
    """Encode the pictures in IMAGES: a folder, a CSV list, or tar archives.

    Pictures that cannot be used are listed beside the vectors, and so are near-duplicates across
    people. Killed at any moment, the same command goes on where it stopped.
    """
    import msgspec

    from efface.encoding.run import encode as run
    from efface.progress import Progress

    order = _order(images, typed)
    if not typed["as_json"]:
        _announce(order)
    with Progress[None]("encode", 0, unit="picture") as bar:
        made = run(order, bar.of)
    if typed["as_json"]:
        click.echo(msgspec.json.format(msgspec.json.encode(made), indent=2).decode())
    else:
        _tell(order, made)
    return 0


def _order(images: str, typed: dict[str, Any]) -> Order:
    from efface.encoding.run import Order
    from efface.pictures.decode import Limits
    from efface.threads import cores

    out = options.writable_file(typed["out"])
    source = encoding.source(images, typed)
    made = encoding.encoder(typed)
    return Order(
        source, made, out, encoding.geometry(made, typed),
        Limits(typed["max_pixels"], typed["min_side"]), typed["batch"], typed["dtype"],
        typed["workers"] or cores(),
    )  # fmt: skip


def _announce(order: Order) -> None:
    """What will be done, before it takes hours: a wrong declaration is silent later."""
    click.echo(f"encoder   {_named(order.encoder.facts)}")
    click.echo(f"takes     {order.encoder.facts.preprocessing}")
    if order.encoder.facts.assumed:
        click.echo(f"assumed   {', '.join(order.encoder.facts.assumed)}: declare what is not so")
    facts = order.cut.facts
    by = f" by {facts.detector}" if facts.detector else ""
    settings = ", ".join(f"{name} {value}" for name, value in facts.settings.items())
    click.echo(f"cuts      {facts.name}{by}{f' ({settings})' if settings else ''}")
    click.echo(f"people    told by {order.source.rule}")


def _named(facts: EncoderFacts) -> str:
    licence = facts.licence or "licence not declared"
    pooling = f", {facts.pooling}" if facts.pooling else ""
    return (
        f"{facts.name} ({facts.kind}{pooling}), {facts.dimension} numbers, {licence}, SHA-256 "
        f"{facts.weights[:16]}…"
    )


def _tell(order: Order, made: Encoding) -> None:
    from efface.encoding.finish import left_out_path, near_path

    found = made.pictures
    click.echo(
        f"{order.out}: {found.encoded:,} of {found.found:,} pictures of {found.people:,} people"
    )
    if found.left_out:
        click.echo(f"left out  {_counted(found.left_out)}: {_beside(left_out_path(order.out))}")
    if found.treated:
        click.echo(f"treated   {_counted(found.treated)}")
    if found.passed_over:
        click.echo(f"no pictures by their names  {_counted(found.passed_over)}")
    for name, (mean, spread, largest) in made.geometry.achieved.items():
        click.echo(f"{name}  mean {mean:.3f}, sd {spread:.3f}, largest {largest:.3f}")
    if found.near_duplicates_across:
        click.echo(
            f"near-duplicates across people  {found.near_duplicates_across:,} pairs, most likely "
            f"wrong labels: {_beside(near_path(order.out))}"
        )
    if found.near_duplicates:
        click.echo(f"near-duplicates of one person  {found.near_duplicates:,} pairs")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())


def _beside(path: Path) -> str:
    return str(path)
