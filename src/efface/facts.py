"""What an encoder is and what it wants of a picture: plain facts that travel with its vectors.

A wrong declaration is the commonest silent error with encoders: the vectors look like any others.
So the facts are complete, they are checked here, and every file of vectors carries them.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

from efface.errors import DataError

Fit = Literal["squash", "crop", "shorter"]
Filter = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos", "area"]
Colour = Literal["RGB", "BGR", "grey"]
Layout = Literal["NCHW", "NHWC"]
Alignment = Literal["none", "arcface", "dlib"]

Side = Annotated[int, msgspec.Meta(ge=1, le=8192)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Preprocessing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From an RGB picture to numbers: fit it to the size, then (pixel * scale - mean) / std."""

    height: Side
    width: Side
    fit: Fit = "squash"
    """``squash``: to the size, whatever the proportions. ``crop``: the shorter side to ``shorter``,
    then the middle. ``shorter``: the shorter side to ``shorter``, proportions kept, any size."""
    shorter: Side | None = None
    filter: Filter = "bilinear"
    """Pillow's filter of this name; ``area`` averages over the exact area of each new pixel."""
    rounded: bool = True
    """Whether resized pixels are whole numbers again before they are normalised."""
    colour: Colour = "RGB"
    """Order of the channels that the network sees."""
    scale: float = 1 / 255
    mean: tuple[float, ...] = (0.0,)
    """After ``scale``; one number, or one for each channel in the order of ``colour``."""
    std: tuple[float, ...] = (1.0,)
    layout: Layout = "NCHW"

    def __post_init__(self) -> None:
        if (self.fit == "squash") != (self.shorter is None):
            raise DataError(f"fit {self.fit!r}: 'shorter' goes with crop and shorter only")
        if self.fit == "crop" and (self.shorter or 0) < max(self.height, self.width):
            raise DataError(
                f"a shorter side of {self.shorter} is too small to cut {self.height} x "
                f"{self.width} out of it: give at least {max(self.height, self.width)}"
            )
        for name in ("mean", "std"):
            values = getattr(self, name)
            if len(values) not in (1, self.channels) or not all(map(math.isfinite, values)):
                raise DataError(
                    f"{name} has {len(values)} values {values}: give one finite number, or one "
                    f"for each of {self.channels} channels"
                )
        if min(self.std) <= 0 or not (math.isfinite(self.scale) and self.scale > 0):
            raise DataError("scale and std must be above zero: pixels are multiplied and divided")

    @property
    def channels(self) -> int:
        return 1 if self.colour == "grey" else 3

    @property
    def fixed(self) -> bool:
        """Whether every fitted picture has the same size."""
        return self.fit != "shorter"

    def __str__(self) -> str:
        size = {
            "squash": f"{self.height} x {self.width}, proportions not kept",
            "crop": f"{self.height} x {self.width} from the middle, after {self.shorter} on the "
            "shorter side",
            "shorter": f"{self.shorter} on the shorter side",
        }[self.fit]
        return f"{size}; {self.filter}; {self.colour}; {self.formula}; {self.layout}"

    @property
    def formula(self) -> str:
        """The normalisation as one writes it, for a reader to compare with the encoder's page."""
        if self.scale == 1 and set(self.mean) == {0.0} and set(self.std) == {1.0}:
            return "pixels as they are, 0 to 255"
        whole = abs(1 / self.scale - round(1 / self.scale)) < 1e-6
        shown = f"x / {1 / self.scale:.6g}" if whole else f"x * {self.scale}"
        if set(self.mean) != {0.0}:
            shown = f"{shown} - {_listed(self.mean)}"
        return shown if set(self.std) == {1.0} else f"({shown}) / {_listed(self.std)}"


class EncoderFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The card of one encoder with its weights."""

    name: str
    kind: str
    """The name it is registered under: ``onnx``, ``huggingface`` ..."""
    weights: Sha256
    """SHA-256 of the file of weights; of several files see :func:`efface.encoders.weights.digest`.
    """
    dimension: Annotated[int, msgspec.Meta(ge=1)]
    preprocessing: Preprocessing
    alignment: Alignment = "none"
    """The face geometry it was trained on: a picture that was not brought to it is misread."""
    pooling: str = ""
    licence: str = ""
    """Licence of the weights as declared at their source; empty where nobody said."""
    source: str = ""
    assumed: list[str] = []
    """What was neither declared nor found in the file."""


class GeometryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was cut out of each picture for the encoder."""

    name: Literal["whole picture", "FCR crop", "ArcFace alignment", "dlib chip"]
    settings: dict[str, str | int | float] = {}
    """Size, coverage, which of several faces ..."""
    detector: str = ""
    detector_weights: Sha256 | None = None
    achieved: dict[str, tuple[float, float, float]] = {}
    """Mean, standard deviation and largest of what was measured on the pictures encoded."""


class PictureCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the pictures: ``found`` is ``encoded`` and all of ``left_out``."""

    found: Count
    encoded: Count
    people: Count
    left_out: dict[str, Count] = {}
    """By reason: ``damaged``, ``no face``, ``face at the border`` ..."""
    treated: dict[str, Count] = {}
    """What was done to those encoded: ``grey``, ``turned by EXIF``, ``several faces`` ..."""
    passed_over: dict[str, Count] = {}
    """Files that were not taken for pictures, by their ending."""
    near_duplicates: Count = 0
    """Pairs of near-duplicates of one person."""
    near_duplicates_across: Count = 0
    """Pairs that two people share: nearly always a wrong label."""


class Encoding(msgspec.Struct, frozen=True, kw_only=True):
    """How a file of vectors came to be; it travels in the file and into reports."""

    format: Literal["efface.encoding/1"] = "efface.encoding/1"
    encoder: EncoderFacts
    geometry: GeometryFacts
    pictures: PictureCounts
    identity_rule: str = ""
    limits: dict[str, Count] = {}
    versions: dict[str, str] = {}


def _listed(values: tuple[float, ...]) -> str:
    texts = [f"{value:.6g}" for value in values]
    return texts[0] if len(set(texts)) == 1 else f"({', '.join(texts)})"
