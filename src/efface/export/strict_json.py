"""JSON from strangers: one meaning or none."""

from __future__ import annotations

import json
import math
from typing import Any


def parse(text: str | bytes) -> Any:
    """The value, or ValueError: no key twice, no NaN, no infinity, no endless nesting.

    Two readers of one text must not see two things; a key given twice is how that is done.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def render(value: Any) -> str:
    """The one text of a value; ValueError or TypeError for what is no JSON."""
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is out of range")
    return number
