"""``efface check``: was this store really projected? A gate for pipelines."""

from __future__ import annotations

from typing import Any

import click

from efface.cli import options


@click.command()
@click.argument("store")
@click.argument("projector", type=click.Path())
@options.store_options
@click.option("--rows", type=click.IntRange(1), help="Rows to draw instead.")
@click.option("--all", "everything", is_flag=True, help="Read every row.")
@click.option(
    "--max-raw",
    type=float,
    default=0.001,
    show_default=True,
    help="Share of raw rows that must not be missed.",
)
@click.option(
    "--error",
    type=float,
    default=0.01,
    show_default=True,
    help="Probability of missing it that is accepted.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the draw."
)
@click.option("--json", "as_json", is_flag=True, help="Print the check as JSON.")
@options.quiet_warnings
def check(store: str, projector: str, **typed: Any) -> int:
    """Say whether the vectors in STORE went through PROJECTOR, from a random sample.

    \b
    Exit codes: 0 clean, 1 not clean, 2 usage or bad input, 3 inconclusive.
    """
    from efface.export.safetensors import load_eraser
    from efface.stores.address import open_source, parse
    from efface.stores.check import check_store

    if typed["rows"] and typed["everything"]:
        raise click.UsageError("--rows and --all exclude each other")
    options.check_order(projector, store, f"efface check {projector} {store}")
    eraser = load_eraser(projector)
    source = open_source(parse(store, embedding=typed["embedding"], key=typed["key"]))
    found = check_store(
        source, eraser, rows=typed["rows"], everything=typed["everything"],
        max_raw=typed["max_raw"], error=typed["error"], seed=typed["seed"],
    )  # fmt: skip
    if typed["as_json"]:
        click.echo(found.to_json(), nl=False)
    else:
        click.echo(f"{found.store}: {found.outcome}. {' '.join(found.says)}")
    return found.exit_code
