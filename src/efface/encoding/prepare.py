"""What a worker does with a batch: read, decode, cut. What cannot be used is named, not dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from efface.encoding.geometry import Geometry, Prepared
from efface.errors import DataError, PictureError
from efface.pictures.decode import Decoded, Limits, decode
from efface.pictures.entry import Entry
from efface.pictures.likeness import perceptual_hash
from efface.types import Picture


@dataclass(frozen=True)
class Batch:
    """Entries that are worked on together."""

    index: int
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        return f"pictures from {self.entries[0].name!r} on" if self.entries else "no pictures"


@dataclass(frozen=True)
class Left:
    """A picture that was not encoded, and why."""

    name: str
    identity: str
    kind: str
    why: str


@dataclass(frozen=True)
class Row:
    """What is known of a picture that goes to the encoder."""

    entry: Entry
    width: int
    height: int
    phash: bytes
    measured: tuple[float, ...]
    treated: tuple[str, ...]


@dataclass(eq=False)
class Made:
    """A batch ready for the encoder; ``images`` is one array where all have one size."""

    index: int
    rows: list[Row] = field(default_factory=list)
    images: Sequence[Picture] | Picture = ()
    left: list[Left] = field(default_factory=list)


@dataclass(frozen=True)
class Prepare:
    """The task that worker processes run."""

    limits: Limits
    geometry: Geometry

    def __call__(self, batch: Batch) -> Made:
        made = Made(batch.index)
        images: list[Picture] = []
        for entry in batch.entries:
            try:
                decoded = decode(entry.read(), self.limits)
                prepared = self._cut(decoded, entry.name)
            except PictureError as error:
                made.left.append(Left(entry.name, entry.identity, error.kind, str(error)))
                continue
            if prepared.image is None:
                left = Left(entry.name, entry.identity, prepared.outcome, prepared.detail)
                made.left.append(left)
                continue
            made.rows.append(self._row(entry, decoded, prepared))
            images.append(prepared.image)
        same = len({(image.shape, image.dtype) for image in images}) == 1
        made.images = np.stack(images) if same else images
        return made

    def _cut(self, decoded: Decoded, name: str) -> Prepared:
        try:
            return self.geometry(decoded.pixels, name)
        except DataError as error:  # the geometry itself was checked before the work
            raise PictureError("refused", str(error)) from error

    def _row(self, entry: Entry, decoded: Decoded, prepared: Prepared) -> Row:
        height, width = decoded.pixels.shape[:2]
        measured = tuple(float(prepared.measured[name]) for name in self.geometry.columns)
        treated = (*decoded.remarks, *([prepared.outcome] if prepared.outcome else []))
        phash = perceptual_hash(decoded.pixels).tobytes()
        return Row(entry, width, height, phash, measured, treated)
