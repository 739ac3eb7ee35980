"""``efface vault meter``: what a scheme protects on your embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from efface.cli import options
from efface.cli.vault.hardness import hardening, parameters, radius_options, settled

CODES = {"broken": 1, "guessable": 1, "holds": 0}


@click.command("meter")
@click.argument("emb", type=click.Path())
@options.data_options
@click.option(
    "--population",
    type=click.Path(),
    help="Embeddings of other people: the attacker has them. Without, half of EMB.",
)
@radius_options
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
    "--curve",
    type=click.IntRange(1),
    metavar="N",
    help="Also TPR against the cost of guessing, hardened with N pictures.",
)
@click.option(
    "--bkz", type=click.IntRange(2), metavar="BLOCK", help="The thief of --curve reduces so far."
)
@click.option(
    "--core-hour",
    type=click.FloatRange(0),
    metavar="PRICE",
    help="Assumed price of a core-hour, for --curve.",
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
    from efface.auditing.curve_rules import CurveRules
    from efface.auditing.meter import meter as read_meter
    from efface.registry import make

    folder = options.writable_folder(typed["out"]) if typed["out"] else None
    columns = (typed["identity"], typed["embedding"], typed["labels"])
    users = options.read(emb, *columns)
    others = options.read(population, *columns) if population else None
    given = _settled(typed)
    made: dict[str, Any] = {**parameters(typed["params"]), "hardening": hardening(given)}
    rules = CurveRules(
        people=typed["people"], bkz=typed["bkz"] or 0, core_hour=typed["core_hour"],
        guesses=max(typed["guesses"], CurveRules.guesses), seed=typed["seed"],
    )  # fmt: skip
    reading = read_meter(
        users, make("scheme", typed["scheme"], **made), population=others, fmr=given["fmr"],
        attacks=typed["attacks"] or None, images=given["images"], tries=given["tries"],
        people=typed["people"], guesses=typed["guesses"], bases=typed["bases"],
        curve=typed["curve"] or 0, curve_votes=_curve_votes(typed), curve_rules=rules,
        seed=typed["seed"], command=options.command_line(),
    )  # fmt: skip
    if folder is not None:
        reading.save(folder)
    _show(reading, typed["as_json"], folder)
    return CODES[reading.verdict.finding]


def _settled(typed: dict[str, Any]) -> dict[str, Any]:
    """A try is one picture unless something is said: so the papers measure."""
    plain = not (typed["hardened"] or typed["votes"] or typed["tries"])
    return settled({**typed, "tries": 1 if plain else typed["tries"], "kdf": "blake2b"})


def _curve_votes(typed: dict[str, Any]) -> int:
    """Of the curve's voting arm: those asked for, where its pictures can give them."""
    return min(typed["votes"] or 0, typed["curve"] or 0)


def _show(reading: Any, as_json: bool, folder: Path | None) -> None:
    from efface.report.meter import to_json, to_text

    if as_json:
        click.echo(to_json(reading).decode().rstrip())
        return
    click.echo(to_text(reading))
    if folder is not None:
        click.echo(f"written: {folder / 'meter.html'} and meter.json")
