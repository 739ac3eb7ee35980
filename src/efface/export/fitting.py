"""How an eraser came to be: the record that travels in its file beside the map."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import msgspec

from efface.errors import ArtefactError
from efface.protect.linear.eraser import LinearEraser
from efface.results import Estimate, Sweep

_LIBRARIES = ("numpy", "scipy", "safetensors", "msgspec")

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, msgspec.Meta(ge=0)]
Dtype = Literal["float16", "float32", "float64"]


class SplitRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who played which part while the eraser was fitted; numbers only, no names."""

    rule: str
    digest: Sha256 | None = None
    counts: dict[str, tuple[Count, Count]] = {}
    """People and rows of each part."""


class Encoder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What made the vectors, as far as the user said so."""

    name: str = ""
    weights: Sha256 | None = None
    """SHA-256 of the file of weights."""


class Validation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measurement on calibration people that justified the rank."""

    far: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    sweep: Sweep

    def at(self, rank: int) -> Estimate | None:
        """The worst case of that rank, if it was measured."""
        return next((p.tar for p in self.sweep.points if p.x == rank), None)


class Fitting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything about an eraser that its map does not say. None or empty: not known."""

    dtype: Dtype | None = None
    """Type in which the vectors are released; the validation was measured in it."""
    dataset: str = ""
    split: SplitRecord | None = None
    seed: int | None = None
    versions: dict[str, str] = {}
    """Libraries that computed it."""
    validation: Validation | None = None
    encoder: Encoder | None = None

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """From plain values, each of the right type; ValueError names the one that is not."""
        return msgspec.convert(dict(fields), cls)

    def plain(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def check(self, eraser: LinearEraser) -> None:
        """Refuse a record that speaks of another eraser."""
        fitted = (self.split.counts if self.split is not None else {}).get("fit")
        if fitted is not None and eraser.identities and fitted[0] != eraser.identities:
            raise ArtefactError(
                f"the record of the fit names {fitted[0]} people, the eraser was fitted on "
                f"{eraser.identities}: give the record that belongs to this eraser"
            )
        chosen = None if self.validation is None else self.validation.sweep.chosen
        if chosen is not None and chosen != eraser.rank:
            raise ArtefactError(
                f"the validation chose rank {chosen}, the eraser has rank {eraser.rank}: give the "
                "record that belongs to this eraser"
            )


def library_versions() -> dict[str, str]:
    """Python and the libraries that a fit computes with."""
    found = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    return {"python": platform.python_version(), **found}
