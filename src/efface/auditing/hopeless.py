"""A limit that so few people can never meet: said before the work, which may take hours."""

from __future__ import annotations

import math
import warnings

from efface.errors import EffaceWarning
from efface.measure.intervals import zero_bound


def warn_if_hopeless(what: str, limit: float | None, people: int, level: float, part: str) -> None:
    """With no success among n people the upper end is 1 - ((1 - level) / 2)^(1/n), and no upper
    end is below that."""
    if limit is None or zero_bound(people, level) <= limit:
        return
    warnings.warn(
        f"{what} is {limit:g}, but with {people:,} {part} people no upper end can be below "
        f"{zero_bound(people, level):.3g}, so this cannot be met whatever is measured: "
        f"{_way(limit, level)}", EffaceWarning, stacklevel=4,
    )  # fmt: skip


def needed(limit: float, level: float) -> int:
    """The fewest people with whom no success at all meets the limit."""
    return max(1, math.ceil(math.log((1 - level) / 2) / math.log1p(-limit) - 1e-9))


def _way(limit: float, level: float) -> str:
    if limit <= 0:
        return "no number of people can show that nobody is linked; give a limit above zero"
    return f"it takes {needed(limit, level):,} of them, or a higher limit"
