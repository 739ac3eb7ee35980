"""The altered forms of one picture: face blurred, ring blurred, surroundings revealed, face
exchanged. Made in worker processes, once for all encoders."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from efface.attributing.lens import Lens
from efface.attributing.regions import Regions, regions_of
from efface.attributing.settings import Settings
from efface.attributing.swaps import Swap
from efface.faces.blur import blurred_through, planes_of
from efface.faces.face import Face, Outcome, Pixels, Reals
from efface.faces.reveal import HIDDEN, over_grey

WHOLE = "whole"
_SOURCE = Path(__file__).resolve().parents[1]


def face_blurred(sigma: float) -> str:
    """The name of a form; names are what vectors are remembered by."""
    return WHOLE if sigma == 0 else f"face {sigma:g}"


def ring_blurred(sigma: float) -> str:
    return f"ring {sigma:g}"


def revealed_to(level: float) -> str:
    return WHOLE if level == 1 else f"shown {level:g}"


def forms(settings: Settings, ring: bool) -> tuple[str, ...]:
    """All forms of one picture, the untouched one first."""
    names = [WHOLE, *map(face_blurred, settings.blurs)]
    names += [ring_blurred(settings.occlusion)] * ring
    return (*names, *(revealed_to(level) for level in settings.levels[:-1]))


@dataclass(frozen=True, eq=False)
class Place:
    """A crop on the disk, and the face in it."""

    file: str
    row: int
    face: Face

    def pixels(self) -> Pixels:
        held: Pixels = np.load(self.file, mmap_mode="r")
        return np.array(held[self.row])


@dataclass(frozen=True, eq=False)
class Strip:
    """One picture whose altered forms are wanted: a crop, or a crop with another's face in it."""

    key: str
    """SHA-256 of its content, before anything is altered."""
    crop: Place
    donor: Place | None
    wants: tuple[tuple[Lens, tuple[str, ...]], ...]
    """For each lens the forms for which some encoder has no vector."""

    def __str__(self) -> str:
        return f"crop {self.crop.row} of {self.crop.file}"


@dataclass(frozen=True, eq=False)
class Sheet:
    """Strips that are made one after the other, by one worker."""

    strips: tuple[Strip, ...]

    def __str__(self) -> str:
        return str(self.strips[0])


@dataclass(frozen=True, eq=False)
class Made:
    """The forms as encoders see them; none where a face could not be exchanged."""

    strip: Strip
    seen: tuple[Pixels, ...]
    """For each lens of the strip, in the order of its forms."""
    swap: Outcome = Outcome.ONE
    covered: float = 1.0


@dataclass(frozen=True)
class Make:
    """From a strip to what encoders see."""

    settings: Settings
    swap: Swap

    def __call__(self, strip: Strip) -> Made:
        crop, face = strip.crop.pixels(), strip.crop.face
        outcome, covered = Outcome.ONE, 1.0
        if strip.donor is not None:
            donor = strip.donor
            crop, outcome, covered = self.swap(crop, face, donor.pixels(), donor.face)
            if outcome is not Outcome.ONE:
                return Made(strip, tuple(np.zeros((0, 1, 1, 3), np.uint8) for _ in strip.wants),
                            outcome, covered)  # fmt: skip
        wanted = tuple(dict.fromkeys(name for _, names in strip.wants for name in names))
        made = altered(crop, face, wanted)
        seen = tuple(
            lens.cut(
                made if names == wanted else made[[wanted.index(n) for n in names]], face, crop
            )
            for lens, names in strip.wants
        )
        return Made(strip, seen, outcome, covered)


@dataclass(frozen=True)
class MakeAll:
    """The task that worker processes run."""

    make: Make

    def __call__(self, sheet: Sheet) -> list[Made]:
        return [self.make(strip) for strip in sheet.strips]


def altered(crop: Pixels, face: Face, names: Sequence[str]) -> Pixels:
    """The forms of these names, in their order."""
    work = _Work(crop, regions_of(face, crop.shape[:2]))
    out = np.empty((len(names), *crop.shape), np.uint8)
    for form, name in zip(out, names, strict=True):
        work.write(form, name)
    return out


class _Work:
    """A crop whose forms are written; a form is the same whatever others are wanted beside it, as
    its vector is remembered by its name."""

    def __init__(self, crop: Pixels, regions: Regions) -> None:
        self.crop, self.regions = crop, regions
        self.planes = planes_of(crop)

    @cached_property
    def change(self) -> Reals:
        """From plain grey."""
        return self.planes - HIDDEN

    def write(self, form: Pixels, name: str) -> None:
        if name == WHOLE:
            form[:] = self.crop
            return
        kind, number = name.split()
        if kind == "shown":
            form[:] = over_grey(self.change, self.regions.shown(float(number)))
            return
        form[:] = self.crop
        soft = self.regions.face if kind == "face" else self.regions.ring
        if soft is not None:
            form[soft.part] = blurred_through(self.planes, soft, float(number))


def swapped_key(crop: str, donor: str, swap: Swap) -> str:
    """The content of a crop with another's face, before it is made."""
    return hashlib.sha256(f"{swap.name} {swap.digest} {crop} {donor}".encode()).hexdigest()


@cache
def code_digest() -> str:
    """SHA-256 over the code that opens, alters and encodes pictures: what it made before a change
    is not taken for what it makes now."""
    sha = hashlib.sha256()
    beside = (Path(__file__).with_name(f"{name}.py") for name in ("lens", "regions", "swaps"))
    folders = ("pictures", "faces", "encoders")
    files = [*(file for one in folders for file in sorted((_SOURCE / one).glob("*.py"))),
             Path(__file__), *beside]  # fmt: skip
    for file in files:
        sha.update(file.read_bytes())
    return sha.hexdigest()


Tell = Callable[[str, int, int], None]
"""Progress: which stage, how many of how many."""
