"""Protections as the audit handles them: specs, remaking at a rank, the stored projector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from efface.data.fingerprint import overlap
from efface.errors import EraserError, PlanError, SplitError
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.stored import Stored
from efface.registry import make
from efface.results import Spec
from efface.types import Codes, Protection, Samples, Split


def as_protection(given: str | Protection | LinearEraser | Spec) -> Protection:
    """A name, a spec, a stored eraser or a ready protection."""
    if isinstance(given, LinearEraser):
        return Stored(given)
    if isinstance(given, str):
        made: Protection = make("protection", given)
        return made
    if isinstance(given, Spec):
        made = make("protection", given.name, **given.params)
        return made
    if not isinstance(given, Protection):
        raise PlanError(f"{type(given).__name__} is not a protection: it needs fit and release")
    return given


def spec_of(protection: Protection) -> Spec:
    """Name and plain parameters, for the report and the cache key."""
    if isinstance(protection, Stored):
        eraser = protection.eraser
        return Spec(eraser.method, {"stored": True, **dict(eraser.params)})
    card = getattr(protection, "card", None)
    name = card.name if card is not None else type(protection).__name__.lower()
    params = _params(protection)
    plain = {k: v for k, v in params.items() if isinstance(v, str | int | float | bool)}
    return Spec(name, plain)


def remaker(protection: Protection) -> Callable[[int], Protection]:
    """How to make the same protection at another rank."""

    def remake(rank: int) -> Protection:
        if isinstance(protection, Stored):
            raise EraserError(f"a stored projector has no rank {rank}")
        return type(protection)(**{**_params(protection), "rank": rank})

    return remake


def wants_rank(protection: Protection) -> bool:
    """Whether the rank is left to be chosen (P6)."""
    return bool(_params(protection).get("rank") == "auto")


def known_people(samples: Samples, protections: Sequence[Protection]) -> Codes:
    """Codes of people that a stored projector was fitted on, by content fingerprint."""
    marks = [m for p in protections if isinstance(p, Stored) for m in p.eraser.fingerprints]
    return overlap(samples, marks)


def check_unseen(samples: Samples, split: Split, known: Codes) -> None:
    """An eraser must not be judged on people it was fitted on."""
    for part in ("calibration", "test"):
        both = np.intersect1d(split.people(part), known)
        if len(both):
            who = ", ".join(str(samples.names[c]) for c in both[:3])
            raise SplitError(
                f"the projector was fitted on {len(both)} of the people in {part!r} ({who} ...): "
                "audit it on people it has not seen, or let efface make the split"
            )


def _params(protection: Protection) -> dict[str, Any]:
    get = getattr(protection, "get_params", None)
    return dict(get(deep=False)) if get is not None else {}
