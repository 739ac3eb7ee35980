"""Options that say what an encoder is and what it wants, for every command that takes pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from efface.encoders.declared import Sheet
    from efface.encoding.geometry import Geometry
    from efface.pictures.entry import Source
    from efface.types import Encoder

F = TypeVar("F", bound=Callable[..., Any])
NORMALISE = ("imagenet", "clip", "half", "half-128", "unit", "pixel")
FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos", "area")
IDENTITY_BY = ("auto", "folder", "lfw", "pattern", "label", "column")


class Size(click.ParamType[Any]):
    """``224`` or ``224x192`` (height x width)."""

    name = "N|HxW"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        sides = str(value).lower().split("x")
        if len(sides) not in (1, 2) or not all(side.isdigit() for side in sides):
            self.fail(f"{value!r} is neither a number of pixels nor height x width", param, ctx)
        return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))


class Numbers(click.ParamType[Any]):
    """``0.5`` or ``0.485,0.456,0.406``."""

    name = "X[,X,X]"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of numbers", param, ctx)


def picture_options(function: F) -> F:
    """Where the pictures are and who is on them."""
    return _with(function, (
        click.option("--identity-by", type=click.Choice(IDENTITY_BY), default="auto",
                     show_default=True, help="What tells people apart; found out by itself."),
        click.option("--pattern", metavar="REGEX",
                     help="Finds the person in a picture's path: a group, or (?P<identity>...)."),
        click.option("--identity", metavar="COL", default="identity", show_default=True,
                     help="Column of a CSV list, or key of the JSON beside a picture."),
        click.option("--picture", metavar="COL", help="Column of a CSV list with the paths."),
        click.option("--max-pixels", type=click.IntRange(1), default=100_000_000,
                     show_default=True, help="Larger pictures are left out and listed."),
        click.option("--min-side", type=click.IntRange(1), default=16, show_default=True,
                     help="Pictures with a shorter side are left out and listed."),
    ))  # fmt: skip


def encoder_options(function: F) -> F:
    """Which encoder, and what it wants of a picture."""
    encoder = click.option(
        "--encoder", required=True, metavar="ENCODER",
        help="File, KIND:PATH, a folder, a name of 'efface models list', or dlib.",
    )  # fmt: skip
    return encoder(declaration_options(function))


def declaration_options(function: F) -> F:
    """What the encoder wants of a picture."""
    return _with(function, (
        click.option("--size", type=Size(), help="Pixels that the network takes."),
        click.option("--fit", type=click.Choice(["squash", "crop", "shorter"]),
                     help="How a picture comes to that size."),
        click.option("--shorter", type=click.IntRange(1), help="Shorter side before the crop."),
        click.option("--filter", type=click.Choice(FILTERS), help="How pixels are resampled."),
        click.option("--colour", type=click.Choice(["RGB", "BGR", "grey"]), help="Channel order."),
        click.option("--normalise", type=click.Choice(NORMALISE), help="Numbers for pixels."),
        click.option("--mean", type=Numbers(), help="Subtracted, after division by 255."),
        click.option("--std", type=Numbers(), help="Divided by."),
        click.option("--layout", type=click.Choice(["NCHW", "NHWC"]), help="Order of the axes."),
        click.option("--output", metavar="NAME", help="The output that is the vector."),
        click.option("--pooling", help="One vector of tokens or a map: cls, mean, cls+mean ...",
                     type=click.Choice(["cls", "mean", "cls+mean", "pooler", "projection"])),
        click.option("--models", type=click.Path(), help="Folder of named models."),
        click.option("--manifest", type=click.Path(), help="A manifest of your own."),
    ))  # fmt: skip


def face_options(function: F) -> F:
    """What is cut out for the encoder."""
    return _with(function, (
        click.option("--face", type=click.Choice(["auto", "none", "crop", "arcface", "dlib"]),
                     default="auto", show_default=True,
                     help="Whole pictures, FCR crops or aligned faces; auto: as the encoder says."),
        click.option("--detector", metavar="FILE|NAME|dlib", default="dlib", show_default=True,
                     help="Finds the face."),
        click.option("--faces", type=click.Path(),
                     help="Faces found already (.npz), in place of a detector."),
        click.option("--policy", type=click.Choice(["largest", "central", "only"]),
                     default="largest", show_default=True, help="Which of several faces."),
        click.option("--coverage", type=click.FloatRange(0, 1, min_open=True), default=0.33,
                     show_default=True, help="Share of an FCR crop that the face takes."),
    ))  # fmt: skip


def sheet(typed: dict[str, Any]) -> Sheet:
    """What was typed of the encoder, as a declaration."""
    from efface.encoders.declared import Declared, Sheet

    names = ("size", "fit", "shorter", "filter", "colour", "normalise", "mean", "std", "layout")
    said = Declared(**{name: typed[name] for name in names})
    return Sheet(output=typed["output"], pooling=typed["pooling"], preprocessing=said)


def encoder(typed: dict[str, Any]) -> Encoder:
    from efface.encoders.choose import open_encoder

    return open_encoder(
        typed["encoder"], sheet(typed), batch=typed.get("batch"), models=typed["models"],
        manifest=typed["manifest"],
    )  # fmt: skip


def source(images: str, typed: dict[str, Any]) -> Source:
    from efface.pictures.source import open_source

    return open_source(
        images, identity_by=typed["identity_by"], pattern=typed["pattern"],
        identity=typed["identity"], picture=typed["picture"],
    )  # fmt: skip


def geometry(made: Encoder, typed: dict[str, Any]) -> Geometry:
    """The cut that was asked for, or that the encoder was trained on."""
    from efface.encoders.choose import open_detector_path
    from efface.encoding.geometry import FaceCut, Whole

    facts = made.facts
    wanted = typed["face"]
    if wanted == "auto":
        wanted = facts.alignment
    if wanted == "none":
        return Whole(facts.preprocessing)
    detector = typed["detector"]
    if not typed["faces"]:
        detector = open_detector_path(detector, typed["models"], typed["manifest"])
    return FaceCut(
        wanted, facts.preprocessing, detector, typed["policy"], coverage=typed["coverage"],
        faces=typed["faces"],
    )  # fmt: skip


def _with(function: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        function = option(function)
    return function
