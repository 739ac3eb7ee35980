"""The encoders of one run: how each sees, and where its vectors are kept; and their projectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from efface.attributing.lens import FaceInput, Lens, lens_of
from efface.attributing.vectors import Vectors, folder_of
from efface.errors import PlanError
from efface.protect.linear.eraser import LinearEraser
from efface.types import Encoder

Given = Encoder | tuple[Encoder, FaceInput]
"""An encoder, or one with what it is to see of a crop."""
Projectors = Sequence[LinearEraser] | Mapping[str, Sequence[LinearEraser]]


@dataclass(eq=False)
class Seat:
    """One encoder with one lens."""

    name: str
    encoder: Encoder
    lens: Lens
    vectors: Vectors
    erasers: list[tuple[str, LinearEraser]] = field(default_factory=list)
    encoded: int = 0
    remembered: int = 0


def seats(given: Sequence[Given], wanted: FaceInput, cache: Path) -> list[Seat]:
    """Names are the encoders' own; of equal ones the lens, and then a number, tells them apart."""
    if not given:
        raise PlanError(
            "an attribution needs an encoder: give one, for example a file with --encoder"
        )
    pairs = [one if isinstance(one, tuple) else (one, wanted) for one in given]
    lenses = [lens_of(encoder.facts, face) for encoder, face in pairs]
    named = [encoder.facts.name for encoder, _ in pairs]
    longer = [f"{name} ({lens.seen})" for name, lens in zip(named, lenses, strict=True)]
    often = Counter(named)
    named = [long if often[name] > 1 else name for name, long in zip(named, longer, strict=True)]
    if len(set(named)) < len(named):
        twice = next(name for name, count in Counter(named).items() if count > 1)
        raise PlanError(f"{twice}: is given twice: give every encoder one name of its own")
    return [
        Seat(name, encoder, lens, _vectors(encoder, lens, cache))
        for name, (encoder, _), lens in zip(named, pairs, lenses, strict=True)
    ]


def give_projectors(to: Sequence[Seat], projectors: Projectors) -> None:
    """Each to the encoder it is named with, or to the only one of its dimension."""
    if isinstance(projectors, Mapping):
        by_name = {seat.name: seat for seat in to}
        for name, erasers in projectors.items():
            if name not in by_name:
                raise PlanError(f"a projector for {name!r}: the encoders are {', '.join(by_name)}")
            for eraser in erasers:
                _give(by_name[name], eraser)
        return
    for eraser in projectors:
        fit = [seat for seat in to if seat.encoder.facts.dimension == eraser.dim]
        if not fit:
            has = ", ".join(f"{seat.name} has {seat.encoder.facts.dimension}" for seat in to)
            raise PlanError(f"a projector of {eraser.dim} dimensions fits no encoder ({has})")
        if len({seat.encoder.facts.weights for seat in fit}) > 1:
            names = " and ".join(seat.name for seat in fit)
            raise PlanError(f"a projector of {eraser.dim} dimensions fits {names}: name the one")
        for seat in fit:
            _give(seat, eraser)


def _give(seat: Seat, eraser: LinearEraser) -> None:
    if eraser.dim != seat.encoder.facts.dimension:
        raise PlanError(
            f"{seat.name}: gives {seat.encoder.facts.dimension} numbers, the projector was fitted "
            f"on {eraser.dim}: give the projector of this encoder"
        )
    taken = {name for name, _ in seat.erasers} | {"raw"}
    base = name = f"{eraser.method}-{eraser.rank}"
    number = 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    seat.erasers.append((name, eraser))


def _vectors(encoder: Encoder, lens: Lens, cache: Path) -> Vectors:
    return Vectors(folder_of(cache, encoder.facts, lens), encoder.facts.dimension)
