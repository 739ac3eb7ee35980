"""The records of several files of vectors as one, where they were made in one way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from efface.facts import Encoding, PictureCounts

Spread = tuple[float, float, float]


def joinable(made: Encoding) -> bytes:
    """Equal for records that differ only in their pictures."""
    geometry = msgspec.structs.replace(made.geometry, achieved={})
    return msgspec.json.encode((made.encoder, geometry, made.limits), order="deterministic")


def joined(parts: Sequence[Encoding], people: Callable[[], int]) -> Encoding:
    """Counts added up. Near-duplicates are those within each file: nobody compared the others."""
    counts = [part.pictures for part in parts]
    numbers = {
        name: sum(getattr(one, name) for one in counts)
        for name in ("found", "encoded", "near_duplicates", "near_duplicates_across")
    }
    groups: dict[str, Any] = {
        name: dict(sum((Counter(getattr(one, name)) for one in counts), Counter()))
        for name in ("left_out", "treated", "passed_over")
    }
    rules = dict.fromkeys(part.identity_rule for part in parts)
    geometry = msgspec.structs.replace(parts[0].geometry, achieved=_achieved(parts))
    return msgspec.structs.replace(
        parts[0], geometry=geometry, identity_rule="; ".join(rules),
        pictures=PictureCounts(people=people(), **numbers, **groups),
    )  # fmt: skip


def _achieved(parts: Sequence[Encoding]) -> dict[str, Spread]:
    """Means and deviations of all pictures together, from those of each file."""
    names = set.intersection(*(set(part.geometry.achieved) for part in parts))
    rows = [part.pictures.encoded for part in parts]
    return {
        name: _pooled([part.geometry.achieved[name] for part in parts], rows)
        for name in parts[0].geometry.achieved if name in names
    }  # fmt: skip


def _pooled(spreads: Sequence[Spread], rows: Sequence[int]) -> Spread:
    total = max(1, sum(rows))
    pairs = list(zip(spreads, rows, strict=True))
    mean = sum(one[0] * n for one, n in pairs) / total
    square = sum((one[1] ** 2 + (one[0] - mean) ** 2) * n for one, n in pairs) / total
    return mean, square**0.5, max(one[2] for one in spreads)
