"""Protections as the audit handles them: specs, remaking at a rank, the finished projector."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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


def own(given: str | Protection | LinearEraser | Spec) -> Protection:
    """A protection that the audit may fit: never the caller's object itself.

    An eraser that came fitted is audited as it is, for its fitted state is what ships.
    """
    protection = as_protection(given)
    if isinstance(protection, Stored):
        return protection
    if came_fitted(protection):
        return Stored(protection.eraser_, getattr(protection, "dtype", None))  # type: ignore[attr-defined]
    try:
        return copy.deepcopy(protection)
    except TypeError:  # it holds something that cannot be copied: a lock, an open file
        return copy.copy(protection)


def came_fitted(given: Any) -> bool:
    """Whether this is a protection object that the caller has fitted already."""
    finished = isinstance(given, str | LinearEraser | Spec | Stored)
    return not finished and isinstance(getattr(given, "eraser_", None), LinearEraser)


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


def movable(protections: Sequence[Protection]) -> Protection:
    """The first that can be fitted on another data set too, at the rank it has on this one."""
    for protection in protections:
        if not isinstance(protection, Stored) and "rank" in _params(protection):
            return protection
    have = "is fitted already" if protections else "is missing"
    raise PlanError(
        f"transfer fits one protection on each data set, and the protection {have}: name one that "
        "has a rank, such as --protect isp"
    )


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
