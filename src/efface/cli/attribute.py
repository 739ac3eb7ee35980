"""``efface attribute``: is it the face or its surroundings that similarities come from?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from efface.cli import encoding, options
from efface.errors import PlanError

if TYPE_CHECKING:
    from efface.attributing.seats import Given, Projectors
    from efface.attributing.settings import Settings
    from efface.attributing.survey import Finder
    from efface.attributing.swaps import Swap
    from efface.attributions import Attribution, Finding
    from efface.export.safetensors import Projector

EXPECTED = ("face", "context")


def measure_options(function: encoding.F) -> encoding.F:
    """What is measured, on how many, and how faces are exchanged."""
    for option in reversed((
        click.option("--fcr", type=float, default=0.33, show_default=True,
                     help="Share of a crop that the face takes."),
        click.option("--canvas", type=int, default=224, show_default=True,
                     help="Side of the crops, in pixels; blurs are in these."),
        click.option("--people", type=int, help="People with queries at most, by lot."),
        click.option("--per-person", type=int, default=2, show_default=True,
                     help="Queries of each person at most."),
        click.option("--swap", metavar="FILE",
                     help="A face-swap network, in place of transplants."),
        click.option("--swap-encoder", metavar="ENCODER",
                     help="The recogniser that network was trained with."),
        click.option("--bootstrap", type=int, default=2000, show_default=True,
                     help="Resamples of people."),
    )):  # fmt: skip
        function = option(function)
    return function


def seen_options(function: encoding.F) -> encoding.F:
    """Where the face is, and what of the crop the encoders see."""
    for option in reversed((
        click.option("--face", type=click.Choice(["auto", "crop", "arcface", "dlib"]),
                     default="auto", show_default=True,
                     help="What the encoders see; auto: as each was trained."),
        click.option("--detector", metavar="FILE|NAME|dlib", default="dlib", show_default=True,
                     help="Finds the face."),
        click.option("--faces", type=click.Path(),
                     help="Faces found already (.npz), in place of a detector."),
        click.option("--policy", type=click.Choice(["largest", "central", "only"]),
                     default="largest", show_default=True, help="Which of several faces."),
    )):  # fmt: skip
        function = option(function)
    return function


@click.command()
@click.argument("images", type=click.Path())
@click.option(
    "--encoder", multiple=True, required=True, metavar="ENCODER",
    help="File, KIND:PATH, a folder, a name of 'efface models list', or dlib; repeat.",
)  # fmt: skip
@encoding.declaration_options
@click.option(
    "--projector", multiple=True, metavar="[ENCODER=]FILE", help="Stored projector; repeat."
)
@seen_options
@measure_options
@encoding.picture_options
@click.option("--expect", type=click.Choice(EXPECTED), help="Gate: what raw vectors must be.")
@click.option("--show-pictures", is_flag=True, help="Put pictures of a few people into the report.")
@click.option("--workers", type=click.IntRange(1), help="Processes that decode; one per core.")
@options.seed_option
@click.option("--cache", type=click.Path(), help="Crops and vectors; by default in --out.")
@click.option("--out", type=click.Path(), default="efface-attribution", show_default=True)
@click.option("--date", default="", help="Date to print in the report; by default none.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@options.quiet_warnings
def attribute(images: str, **typed: Any) -> int:
    """Say of each encoder whether similarities of IMAGES come from faces or their surroundings.

    IMAGES is a folder, a CSV list, or tar archives. Writes attribution.json and attribution.html
    into the --out folder. Crops and vectors stay in its cache, so that another projector costs
    no second pass; killed at any moment, the same command goes on where it stopped.
    """
    from efface.attributing.run import attribution
    from efface.pictures.decode import Limits
    from efface.progress import Stages
    from efface.report.attribution import to_json
    from efface.threads import cores

    out = options.writable_folder(typed["out"])
    settings = _settings(typed)
    source, finder, swap = encoding.source(images, typed), _finder(typed), _swap(typed)
    encoders = _encoders(typed)
    with Stages() as tell:
        found = attribution(
            source, encoders, projectors=_projectors(typed["projector"]), settings=settings,
            face=typed["face"], finder=finder,
            limits=Limits(typed["max_pixels"], typed["min_side"]), swap=swap,
            cache=typed["cache"] or out / "cache", workers=typed["workers"] or cores(),
            show_pictures=typed["show_pictures"], tell=tell, command=options.command_line(),
            date=typed["date"],
        )  # fmt: skip
    found.save(out)
    if typed["as_json"]:
        click.echo(to_json(found).decode(), nl=False)
    else:
        _print(found, out)
    return exit_code(found, typed["expect"])


def exit_code(found: Attribution, expected: str | None) -> int:
    """Without a gate 0, or 3 where nothing could be measured; with one as for an audit."""
    raw = [one for one in found.findings if one.release == "raw"]
    if expected is None:
        return 0 if any(_measured(one) for one in found.findings) else 3
    sides = {one.side for one in raw}
    if sides == {expected}:
        return 0
    return 3 if sides <= {expected, "undecided"} else 1


def _measured(found: Finding) -> bool:
    """Whether there is any figure."""
    fii, cpi = found.importance, found.preference
    figures = [fii.fii if fii else None, cpi.cpi[0] if cpi else None]
    return any(one is not None and one.value is not None for one in figures)


def _settings(typed: dict[str, Any]) -> Settings:
    from efface.attributing.settings import Settings

    return Settings(
        canvas=typed["canvas"], coverage=typed["fcr"], per_person=typed["per_person"],
        people=typed["people"], bootstrap=typed["bootstrap"], seed=typed["seed"],
    )  # fmt: skip


def _finder(typed: dict[str, Any]) -> Finder:
    from efface.attributing.survey import Finder
    from efface.encoders.choose import open_detector_path

    detector = typed["detector"]
    if not typed["faces"]:
        detector = open_detector_path(detector, typed["models"], typed["manifest"])
    return Finder(detector, typed["policy"], typed["faces"])


def _encoders(typed: dict[str, Any]) -> list[Given]:
    """With several encoders each one's declaration stands beside its file."""
    names = typed["encoder"]
    said = encoding.sheet(typed)
    from efface.encoders.declared import Sheet

    if len(names) > 1 and said != Sheet():
        raise PlanError(
            "options that say what an encoder wants are for one encoder: with several write a "
            "TOML file beside each"
        )
    return [encoding.encoder({**typed, "encoder": name}) for name in names]


def _swap(typed: dict[str, Any]) -> Swap:
    from efface.attributing.swaps import Swap
    from efface.encoders.choose import open_encoder

    if bool(typed["swap"]) != bool(typed["swap_encoder"]):
        raise PlanError("--swap and --swap-encoder go together: the network reads its vectors")
    if not typed["swap"]:
        return Swap()
    recogniser = open_encoder(
        typed["swap_encoder"], models=typed["models"], manifest=typed["manifest"]
    )
    return Swap(typed["swap"], recogniser)


def _projectors(given: tuple[str, ...]) -> Projectors:
    """All by the names of their encoders, or none."""
    from efface.export.safetensors import read_projector

    named: dict[str, list[Projector]] = {}
    plain: list[Projector] = []
    for one in given:
        name, equals, path = one.rpartition("=")
        if equals and not Path(one).exists():
            named.setdefault(name, []).append(read_projector(path))
        else:
            plain.append(read_projector(one))
    if named and plain:
        raise PlanError("name the encoder of every projector, as ENCODER=FILE, or of none")
    return named or plain


def _print(found: Attribution, out: Path) -> None:
    from efface.report.attribution import to_text

    click.echo(to_text(found))
    click.echo(f"{out}/attribution.html  attribution.json")
