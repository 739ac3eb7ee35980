"""Parameters of an attack as a plan gives them: checked before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from efface.errors import PlanError
from efface.registry import nearest


def positive(
    attack: str, name: str, values: Any, *, whole: bool = False, zero: bool = False
) -> None:
    """One or more numbers above zero (or from zero on), whole ones if asked for."""
    kinds = int if whole else (int, float)
    listed = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
    if not listed or not all(
        isinstance(v, kinds) and not isinstance(v, bool) and _fits(v, zero) for v in values
    ):
        numbers = "whole numbers" if whole else "numbers"
        least = "from zero on" if zero else "above zero"
        raise PlanError(f"{attack}: {name} takes {numbers} {least}, not {values!r}")


def chosen(attack: str, name: str, values: Any, known: Sequence[str]) -> None:
    """One or more of the known words."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise PlanError(f"{attack}: {name} takes a list of {', '.join(known)}, not {values!r}")
    for value in values:
        if value not in known:
            raise PlanError(f"{attack}: no {name} {value!r}{nearest(str(value), list(known))}")


def _fits(value: float, zero: bool) -> bool:
    return math.isfinite(value) and (value > 0 or (zero and value == 0))
