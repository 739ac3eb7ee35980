"""The encoders of one run: how each sees, and where its vectors are kept; and their projectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from efface.attributing.lens import FaceInput, Lens, lens_of
from efface.attributing.vectors import Vectors, folder_of
from efface.errors import PlanError
from efface.export.safetensors import Projector
from efface.protect.linear.eraser import LinearEraser
from efface.types import Encoder

Given = Encoder | tuple[Encoder, FaceInput]
"""An encoder, or one with what it is to see of a crop."""
Stored = LinearEraser | Projector
"""A projector; one read from its file knows which encoder it was fitted for."""
Projectors = Sequence[Stored] | Mapping[str, Sequence[Stored]]


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
    """Each to the encoder it is named with, to the one it was fitted for, or to the only one of
    its dimension."""
    if isinstance(projectors, Mapping):
        by_name = {seat.name: seat for seat in to}
        for name, some in projectors.items():
            if name not in by_name:
                raise PlanError(f"a projector for {name!r}: the encoders are {', '.join(by_name)}")
            for stored in some:
                _check(by_name[name], stored)
                _give(by_name[name], _eraser(stored))
        return
    for stored in projectors:
        for seat in _meant(to, stored):
            _give(seat, _eraser(stored))


def _meant(to: Sequence[Seat], stored: Stored) -> list[Seat]:
    """The seats of the one encoder that a projector can be for."""
    dim = _eraser(stored).dim
    fit = [seat for seat in to if seat.encoder.facts.dimension == dim]
    if not fit:
        has = ", ".join(f"{seat.name} has {seat.encoder.facts.dimension}" for seat in to)
        raise PlanError(f"a projector of {dim} dimensions fits no encoder ({has})")
    fitted = _fitted_for(stored)
    own = [seat for seat in fit if fitted is not None and seat.encoder.facts.weights == fitted]
    if not own:
        _check(fit[0], stored)
    fit = own or fit
    if len({seat.encoder.facts.weights for seat in fit}) > 1:
        names = " and ".join(seat.name for seat in fit)
        raise PlanError(f"a projector of {dim} dimensions fits {names}: name the one")
    return fit


def _check(seat: Seat, stored: Stored) -> None:
    """Vectors of one length may be of two networks: where both are known, they have to agree."""
    facts, dim, fitted = seat.encoder.facts, _eraser(stored).dim, _fitted_for(stored)
    if dim != facts.dimension:
        raise PlanError(
            f"{seat.name}: gives {facts.dimension} numbers, the projector was fitted on {dim}: "
            "give the projector of this encoder"
        )
    if fitted not in (None, facts.weights):
        raise PlanError(
            f"{seat.name}: has SHA-256 {facts.weights[:16]}…, the projector was fitted on vectors "
            f"of an encoder with {str(fitted)[:16]}…: give the projector of this encoder"
        )


def _eraser(stored: Stored) -> LinearEraser:
    return stored.eraser if isinstance(stored, Projector) else stored


def _fitted_for(stored: Stored) -> str | None:
    """SHA-256 of the weights that made the vectors it was fitted on, where that is known."""
    made = stored.fitting.encoder if isinstance(stored, Projector) else None
    return None if made is None else made.weights


def _give(seat: Seat, eraser: LinearEraser) -> None:
    taken = {name for name, _ in seat.erasers} | {"raw"}
    base = name = f"{eraser.method}-{eraser.rank}"
    number = 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    seat.erasers.append((name, eraser))


def _vectors(encoder: Encoder, lens: Lens, cache: Path) -> Vectors:
    return Vectors(folder_of(cache, encoder.facts, lens), encoder.facts.dimension)
