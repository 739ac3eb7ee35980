"""Which people play which part: drawn by identity, seeded, recorded (P3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.errors import SplitError
from efface.registry import nearest
from efface.types import PARTS, Codes, Samples, Split

Size = float | int
_LEAST = {"fit": 1, "shadow": 0, "calibration": 2, "test": 2}
_WORDS = {
    "fit": "fit",
    "train": "fit",
    "shadow": "shadow",
    "calibration": "calibration",
    "val": "calibration",
    "validation": "calibration",
    "test": "test",
}


def split(
    samples: Samples,
    *,
    fit: Size = 0.4,
    shadow: Size | None = None,
    calibration: Size = 0.2,
    test: Size = 0.2,
    seed: int = 0,
    taken: ArrayLike | None = None,
) -> Split:
    """Divide the people at random; sizes are shares (0.4) or counts (40) of people.

    ``shadow=None`` takes whoever is left. The people in ``taken`` (codes, for example those an
    existing projector was fitted on) are the fit part, whatever its size; the others are then
    divided among shadow, calibration and test in proportion. The same names and seed give the
    same people in every part, whatever the order of the rows.
    """
    people = samples.people
    asked = {"fit": fit, "shadow": shadow, "calibration": calibration, "test": test}
    quotas = _quotas(asked, len(people), samples.dataset)
    order = np.random.default_rng(seed).permutation(people)
    mine = _present(taken, samples)
    if not mine.size:
        counts = _rounded(quotas)
        rule = f"by identity, seed {seed}: " + _in_words(asked, counts)
    else:
        order = np.concatenate([mine, order[~np.isin(order, mine)]])
        counts = _around(len(mine), len(people), quotas)
        rule = f"by identity, seed {seed}: fit the {len(mine)} people given, " + ", ".join(
            f"{part} {counts[part]}" for part in PARTS[1:]
        )
    _check(counts, len(people), samples.dataset)
    ends = np.cumsum([0, *(counts[part] for part in PARTS)])
    chosen = {part: order[ends[i] : ends[i + 1]] for i, part in enumerate(PARTS)}
    return _made(samples, {part: _rows(samples, c) for part, c in chosen.items()}, seed, rule)


def split_by_column(samples: Samples, column: str) -> Split:
    """Parts as an attribute gives them: fit (train), shadow, calibration (val, validation),
    test. Nothing is drawn, so the seed is 0."""
    if column not in samples.attributes:
        raise SplitError(
            f"{samples.dataset}: no attribute {column!r}{nearest(column, list(samples.attributes))}"
        )
    values, which = np.unique(samples.attributes[column].astype(str), return_inverse=True)
    parts = [_WORDS.get(value.strip().lower(), "") for value in values.tolist()]
    part = np.array(parts)[which]
    odd = np.flatnonzero(part == "")
    if odd.size:
        raise SplitError(
            f"{samples.dataset}: {column} is {values[which[odd[0]]]!s} in row {odd[0]} (counted "
            f"from 0): use {', '.join(_WORDS)}"
        )
    rows = {name: np.flatnonzero(part == name) for name in PARTS}
    made = _made(samples, rows, 0, f"by column {column}")
    counts = {name: len(made.people(name)) for name in PARTS}
    _check(counts, len(samples.people), samples.dataset)
    return made


def _quotas(asked: Mapping[str, Size | None], people: int, place: str) -> dict[str, float]:
    """How many people each part is due, before rounding."""
    due = {
        part: _due(part, size, people, place) for part, size in asked.items() if size is not None
    }
    total = sum(due.values())
    if total > people * (1 + 1e-9):
        sizes = " + ".join(f"{part} {asked[part]}" for part in due)
        raise SplitError(
            f"{place}: {sizes} is {total:.6g} people, there are {people}: lower the sizes"
        )
    left = max(0.0, people - total)
    return {part: due.get(part, left) for part in PARTS}


def _due(part: str, size: Size, people: int, place: str) -> float:
    if isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 0:
        return float(size)
    if isinstance(size, float | np.floating) and 0 <= size <= 1:
        return float(size) * people
    raise SplitError(
        f"{place}: {part}={size!r}: give a share between 0.0 and 1.0, or a whole number of people"
    )


def _rounded(quotas: Mapping[str, float]) -> dict[str, int]:
    """Largest remainders: whole numbers with the rounded sum, each less than 1 off.

    Counts asked for have no remainder, so they come out as asked.
    """
    counts = {part: int(quota) for part, quota in quotas.items()}
    seats = int(sum(quotas.values()) + 0.5) - sum(counts.values())
    # Rounded, so that 0.1 + 0.2 noise does not decide between equal remainders.
    remainder = {part: round(quota - counts[part], 9) for part, quota in quotas.items()}
    for part in sorted(PARTS, key=lambda part: -remainder[part])[:seats]:
        counts[part] += 1
    return counts


def _around(taken: int, people: int, quotas: Mapping[str, float]) -> dict[str, int]:
    """Counts when ``taken`` people are fit and the others keep their parts' proportions."""
    others = {part: quotas[part] for part in PARTS[1:]}
    scale = (people - taken) / (sum(others.values()) or 1.0)
    return _rounded({"fit": float(taken), **{p: q * scale for p, q in others.items()}})


def _present(taken: ArrayLike | None, samples: Samples) -> Codes:
    codes = np.unique(np.asarray([] if taken is None else taken, dtype=np.int64))
    strangers = codes[~np.isin(codes, samples.people)]
    if strangers.size:
        raise SplitError(
            f"{samples.dataset}: taken= has identity code {strangers[0]}, which no row has: give "
            "codes of these samples"
        )
    return codes


def _check(counts: Mapping[str, int], people: int, place: str) -> None:
    for part, least in _LEAST.items():
        if counts[part] < least:
            all_parts = ", ".join(f"{name} {counts[name]}" for name in PARTS)
            raise SplitError(
                f"{place}: {part} would get {counts[part]} of {people} identities and needs at "
                f"least {least} ({all_parts}): add people, change the sizes "
                "(fit=, test= ...), or say in a column who is what (--split-column)"
            )


def _in_words(asked: Mapping[str, Size | None], counts: Mapping[str, int]) -> str:
    """Sizes as they were asked for; what was left as a share if the others are shares."""
    sizes = [size for size in asked.values() if size is not None]
    shares = all(isinstance(size, float) for size in sizes)
    left: Size = max(0.0, 1 - sum(sizes)) if shares else counts["shadow"]
    words = {part: left if size is None else size for part, size in asked.items()}
    return ", ".join(f"{part} {_shown(words[part])}" for part in PARTS)


def _shown(size: Size) -> str:
    return f"{size:.6g}" if isinstance(size, float) else str(size)


def _made(samples: Samples, rows: Mapping[str, NDArray[np.int64]], seed: int, rule: str) -> Split:
    fit, shadow, calibration, test = (rows[part] for part in PARTS)
    try:
        return Split(fit, shadow, calibration, test, samples.identity, samples.names, seed, rule)
    except SplitError as error:
        raise SplitError(f"{samples.dataset}: {error}") from None


def _rows(samples: Samples, codes: NDArray[Any]) -> NDArray[np.int64]:
    member = np.zeros(len(samples.names), bool)
    member[codes] = True
    return np.flatnonzero(member[samples.identity])
