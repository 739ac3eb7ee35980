"""All altered pictures through all encoders, each once; what is remembered is not made again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from efface.attributing.drawing import Plan
from efface.attributing.lens import Lens
from efface.attributing.material import Material
from efface.attributing.seats import Seat
from efface.attributing.settings import Settings
from efface.attributing.stimuli import (
    Made,
    Make,
    MakeAll,
    Sheet,
    Strip,
    Tell,
    forms,
    swapped_key,
)
from efface.attributing.swaps import Swap
from efface.attributing.vectors import Swaps, key_of
from efface.encoding.ahead import ahead
from efface.faces.face import Outcome
from efface.scale.runner import Processes, Runner, Serial, in_order

_FLUSH = 512
"""Vectors that a death may cost each encoder."""


def encode_all(
    material: Material, plan: Plan, to: Sequence[Seat], settings: Settings, swap: Swap,
    known: Swaps, workers: int, tell: Tell,
) -> None:  # fmt: skip
    """Vectors of every form of every query, identity match and context match. Encoders have all
    cores; of the workers half alter, in a thread of this process where that is one."""
    strips = _strips(material, plan, to, settings, swap, known)
    sheets = _sheets(strips)
    tell("encode", 0, len(strips))
    wanted = min(workers // 2, len(sheets))
    runner: Runner = Processes(wanted) if wanted > 1 else Serial()
    done = 0
    with runner, ahead(in_order(runner, MakeAll(Make(settings, swap)), sheets)) as results:
        for made in chain.from_iterable(results):
            _take(made, to, known)
            done += 1
            tell("encode", done, len(strips))
    _flush(to, known)


def context_key(material: Material, plan_row: tuple[int, int], swap: Swap) -> str:
    """The content of a query's crop with the other's face."""
    query, other = (material.rows[row].digest for row in plan_row)
    return swapped_key(query, other, swap)


def wanted_forms(
    material: Material, plan: Plan, settings: Settings, swap: Swap
) -> dict[str, tuple[int, int | None, tuple[str, ...]]]:
    """For every picture to be altered, by the key of its content: the row of its crop, that of
    the donor, and its forms."""
    found: dict[str, tuple[int, int | None, tuple[str, ...]]] = {}
    own, exchanged = (forms(settings, ring) for ring in (True, False))
    for query in plan.queries:
        for row in (query.query, query.match):
            names = own if material.rows[row].matched else exchanged
            found.setdefault(material.rows[row].digest, (row, None, names))
        if query.ready:
            found.setdefault(material.rows[query.other].digest, (query.other, None, exchanged))
        else:
            key = context_key(material, (query.query, query.other), swap)
            found.setdefault(key, (query.query, query.other, exchanged))
    return found


def _strips(
    material: Material, plan: Plan, to: Sequence[Seat], settings: Settings, swap: Swap,
    known: Swaps,
) -> list[Strip]:  # fmt: skip
    """What is missing somewhere; and how much each encoder has already."""
    strips = []
    for key, (row, donor, names) in wanted_forms(material, plan, settings, swap).items():
        if donor is not None and known.failed(key):
            continue
        # Vectors without a record of their swap: it is made again, and they are not.
        again = donor is not None and key not in known.held
        missing: dict[Lens, list[str]] = {}
        for seat in to:
            lacks = [name for name in names if key_of(key, name) not in seat.vectors]
            seat.remembered += len(names) - len(lacks)
            held = missing.setdefault(seat.lens, [])
            held += [name for name in (names if again else lacks) if name not in held]
        wants = tuple((lens, tuple(some)) for lens, some in missing.items() if some)
        if wants:
            other = None if donor is None else material.place(donor)
            strips.append(Strip(key, material.place(row), other, wants))
    return strips


def _sheets(strips: list[Strip]) -> list[Sheet]:
    """Those of one crop together: they share what is made of its face."""
    found: dict[tuple[str, int], list[Strip]] = {}
    for strip in strips:
        found.setdefault((strip.crop.file, strip.crop.row), []).append(strip)
    return [Sheet(tuple(some)) for some in found.values()]


def _take(made: Made, to: Sequence[Seat], known: Swaps) -> None:
    """Through all encoders; what was made is written down from time to time."""
    _encode(made, to)
    if made.strip.donor is not None:
        known.put(made.strip.key, made.swap, made.covered)
    if any(seat.vectors.waiting >= _FLUSH for seat in to):
        _flush(to, known)


def _encode(made: Made, to: Sequence[Seat]) -> None:
    if made.swap is not Outcome.ONE:
        return
    for seat in to:
        for (lens, names), stack in zip(made.strip.wants, made.seen, strict=True):
            if lens != seat.lens:
                continue
            keys = [key_of(made.strip.key, name) for name in names]
            fresh = [k for k, key in enumerate(keys) if key not in seat.vectors]
            if fresh:
                found = seat.encoder.encode(stack if len(fresh) == len(keys) else stack[fresh])
                seat.vectors.add([keys[k] for k in fresh], found)
                seat.encoded += len(fresh)


def _flush(to: Sequence[Seat], known: Swaps) -> None:
    """What became of the swaps first: a vector is never there without it."""
    known.flush()
    for seat in to:
        seat.vectors.flush()
