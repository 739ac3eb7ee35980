"""``efface vault meter``: what a scheme protects on your embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from efface.cli import options
from efface.cli.vault.setup import SCHEMES
from efface.errors import PlanError

CODES = {"broken": 1, "guessable": 1, "holds": 0}


@click.command("meter")
@click.argument("emb", type=click.Path())
@options.data_options
@click.option(
    "--population",
    type=click.Path(),
    help="Embeddings of other people: the attacker has them. Without, half of EMB.",
)
@click.option(
    "--scheme",
    type=click.Choice(SCHEMES),
    default="l2fe-hash",
    show_default=True,
    help="How templates are made.",
)
@click.option(
    "--param",
    "params",
    metavar="NAME=VALUE",
    multiple=True,
    help="Parameter of the scheme; may be repeated.",
)
@click.option(
    "--fmr",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Choose the radius that accepts people of the population at this rate.",
)
@click.option("--attack", "attacks", multiple=True, help="Only this attack; repeat.")
@click.option(
    "--images",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Pictures of a person that are enrolled.",
)
@click.option("--people", type=click.IntRange(2), help="Enrol so many people at most.")
@click.option(
    "--guesses",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Guesses of a dictionary on each template.",
)
@click.option(
    "--bases",
    type=click.IntRange(0),
    default=4,
    show_default=True,
    help="Lattices that people share in the measurement; 0 for one each, which is slow.",
)
@options.seed_option
@click.option("--out", type=click.Path(), help="Folder for meter.json and meter.html.")
@click.option("--json", "as_json", is_flag=True, help="Print the reading as JSON.")
@options.quiet_warnings
def meter(emb: str, population: str | None, **typed: Any) -> int:
    """Enrol the people of EMB in a scheme, steal every template, and say what is left.

    The verdict is broken, guessable in N tries, or holds against what was tried. The exit code is 1
    for the first two.
    """
    from efface.auditing.meter import meter as read_meter
    from efface.registry import make

    folder = options.writable_folder(typed["out"]) if typed["out"] else None
    columns = (typed["identity"], typed["embedding"], typed["labels"])
    users = options.read(emb, *columns)
    others = options.read(population, *columns) if population else None
    scheme = make("scheme", typed["scheme"], **parameters(typed["params"]))
    reading = read_meter(
        users, scheme, population=others, attacks=typed["attacks"] or None, fmr=typed["fmr"],
        images=typed["images"], people=typed["people"], guesses=typed["guesses"],
        bases=typed["bases"], seed=typed["seed"], command=options.command_line(),
    )  # fmt: skip
    if folder is not None:
        reading.save(folder)
    _show(reading, typed["as_json"], folder)
    return CODES[reading.verdict.finding]


def parameters(words: Sequence[str]) -> dict[str, int | float]:
    """``name=number`` words as keyword arguments."""
    return dict(_parameter(word) for word in words)


def _parameter(word: str) -> tuple[str, int | float]:
    name, _, value = word.partition("=")
    for kind in (int, float):
        try:
            return name.strip(), kind(value)
        except ValueError:
            continue
    raise PlanError(f"--param {word}: write it as NAME=NUMBER, for example scale=0.0014")


def _show(reading: Any, as_json: bool, folder: Path | None) -> None:
    from efface.report.meter import to_json, to_text

    if as_json:
        click.echo(to_json(reading).decode().rstrip())
        return
    click.echo(to_text(reading))
    if folder is not None:
        click.echo(f"written: {folder / 'meter.html'} and meter.json")
