"""Was this store really projected? An answer from a sample, with the chance that it is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.protect.linear.cone import Cone, dimensions
from efface.protect.linear.eraser import LinearEraser
from efface.stores.contract import Shape, Source
from efface.stores.engine import default_part_rows, parts_of
from efface.stores.erase import reaching
from efface.stores.words import sentences

FORMAT = "efface.check/1"
Outcome = Literal[
    "clean", "raw", "mixed", "another projector", "raw or another projector",
    "wrong dimension", "inconclusive",
]  # fmt: skip
EXIT: dict[Outcome, int] = {
    "clean": 0, "raw": 1, "mixed": 1, "another projector": 1, "raw or another projector": 1,
    "wrong dimension": 2, "inconclusive": 3,
}  # fmt: skip
SEPARABLE = 0.1
"""Largest chance of a raw row to pass at which rows can still be told apart."""
_NAMED = 10
_LEVEL = 0.95


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """Of rows that are not clean, in the store: exact (Clopper-Pearson) at the level."""

    value: float
    low: float
    high: float
    level: float


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What a sample says of a store."""

    format: str = FORMAT
    outcome: Outcome
    store: str
    projector: str
    rows: int
    dim: int
    dtype: str
    looked_at: int = 0
    """Rows that were judged."""
    everything: bool = False
    """Whether they are all the rows there are."""
    empty: int = 0
    """Rows met that have no direction (all zero, or not finite): neither clean nor raw."""
    not_clean: int = 0
    labels: list[str] = []
    """The first rows that are not clean, as the store calls them."""
    share: Share | None = None
    max_raw: float
    error: float
    """The chance that was asked for, to miss more than ``max_raw``."""
    error_reached: float | None = None
    """The chance with this sample; None where nothing was drawn."""
    needed: int = 0
    """Rows that reach the error that was asked for."""
    tolerance: float = 0.0
    """Largest distance from what is clean that rounding explains, as a share of a row's length."""
    chance: float = 0.0
    """Probability that a raw row of random direction lies within it."""
    distance: tuple[float, float] | None = None
    """Smallest and largest distance that was found."""
    fills: int | None = None
    """Dimensions that the sample fills, where this was asked and there were rows enough."""
    seed: int = 0
    says: list[str] = []

    @property
    def exit_code(self) -> int:
        return EXIT[self.outcome]

    def to_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


@dataclass
class Tally:
    """What has been seen so far."""

    cone: Cone
    seen: int = 0
    empty: int = 0
    not_clean: int = 0
    labels: list[str] = field(default_factory=list)
    tolerance: float = 0.0
    least: float = math.inf
    most: float = 0.0

    def add(self, labels: Sequence[Any], rows: NDArray[Any]) -> None:
        away, allowed = self.cone.distances(rows), self.cone.tolerances(rows)
        judged = np.isfinite(away)
        bad = judged & (away > allowed)
        self.seen += int(judged.sum())
        self.empty += int((~judged).sum())
        self.not_clean += int(bad.sum())
        room = _NAMED - len(self.labels)
        self.labels += [str(labels[row]) for row in np.flatnonzero(bad)[:room].tolist()]
        if judged.any():
            self.tolerance = max(self.tolerance, float(allowed[judged].max()))
            self.least = min(self.least, float(away[judged].min()))
            self.most = max(self.most, float(away[judged].max()))


def check_store(
    source: Source,
    eraser: LinearEraser,
    *,
    rows: int | None = None,
    everything: bool = False,
    max_raw: float = 0.001,
    error: float = 0.01,
    seed: int = 0,
    projector_digest: str | None = None,
) -> Check:
    """Whether the store went through this eraser, judged by a random sample of its rows.

    By default as many as show, but for the chance ``error``, at least one raw row where more
    than the share ``max_raw`` is raw. ``rows`` draws another number, ``everything`` reads all.
    """
    _check_shares(max_raw, error)
    with reaching(source.place, "read"):
        shape, cone = source.shape, Cone(eraser)
        blank = Check(
            outcome="wrong dimension", store=source.place,
            projector=projector_digest or eraser.digest(), rows=shape.rows, dim=shape.dim,
            dtype=shape.dtype, max_raw=max_raw, error=error, seed=seed,
        )  # fmt: skip
        if shape.dim != eraser.dim:
            return _said(blank, cone)
        needed = sample_size(max_raw, error, cone.chance(cone.tolerance(_type(shape))))
        wanted = shape.rows if everything else min(rows or needed, shape.rows)
        tally = _looked(source, cone, shape, wanted, everything, seed)
        judged = _judged(blank, tally, needed, wanted)
        return _said(_told_apart(judged, source, cone, seed), cone)


def sample_size(max_raw: float, error: float, chance: float) -> int:
    """Rows that show a raw one, but for the chance ``error``, where more than ``max_raw`` are."""
    shows = max_raw * (1 - min(chance, SEPARABLE))
    return math.ceil(math.log(error) / math.log1p(-shows)) if shows < 1 else 1


def _check_shares(max_raw: float, error: float) -> None:
    for name, value in (("max-raw", max_raw), ("error", error)):
        if not 0 < value < 1:
            raise DataError(f"--{name} {value}: give a share between 0 and 1")


def _looked(
    source: Source, cone: Cone, shape: Shape, wanted: int, everything: bool, seed: int
) -> Tally:
    tally = Tally(cone)
    if everything:
        for labels, rows in _all_rows(source, shape):
            tally.add(labels, rows)
    elif wanted:
        tally.add(*source.sample(wanted, np.random.default_rng(seed)))
    return tally


def _all_rows(source: Source, shape: Shape) -> Iterator[tuple[Sequence[Any], NDArray[Any]]]:
    for part in parts_of(source, default_part_rows(shape)):
        chunk = source.read(part)
        if chunk.present is None:
            yield chunk.labels, chunk.vectors
        else:
            there = np.flatnonzero(chunk.present)
            yield [chunk.labels[row] for row in there.tolist()], chunk.vectors[there]


def _judged(blank: Check, tally: Tally, needed: int, wanted: int) -> Check:
    """Counts and their certainty; the outcome by the counts alone."""
    chance = tally.cone.chance(tally.tolerance) if tally.seen else 1.0
    whole = wanted >= blank.rows or tally.seen + tally.empty < wanted  # or no more have a vector
    reached = _error(blank.max_raw, chance, tally.seen, whole)
    return msgspec.structs.replace(
        blank, outcome=_outcome(tally, chance, reached <= blank.error), looked_at=tally.seen,
        everything=whole, empty=tally.empty, not_clean=tally.not_clean, labels=tally.labels,
        share=_share(tally.not_clean, tally.seen, whole), error_reached=reached, needed=needed,
        tolerance=tally.tolerance, chance=chance,
        distance=(tally.least, tally.most) if tally.seen else None,
    )  # fmt: skip


def _outcome(tally: Tally, chance: float, enough: bool) -> Outcome:
    if not tally.seen:
        return "inconclusive"
    if not tally.not_clean:
        return "clean" if enough and chance <= SEPARABLE else "inconclusive"
    return "raw" if _all_raw(tally, chance) else "mixed"


def _all_raw(tally: Tally, chance: float) -> bool:
    """Are those that pass no more than raw rows would by chance?"""
    from scipy.stats import binom

    passed = tally.seen - tally.not_clean
    return not passed or bool(binom.sf(passed - 1, tally.seen, chance) > 1 - _LEVEL)


def _error(max_raw: float, chance: float, seen: int, whole: bool) -> float:
    """Chance to see no raw row although more than ``max_raw`` of the rows are raw."""
    if whole:  # none was left out; each raw one would have to pass
        return float(chance ** (math.floor(max_raw * seen) + 1))
    return float((1 - max_raw * (1 - chance)) ** seen)


def _share(bad: int, seen: int, whole: bool) -> Share | None:
    from scipy.stats import beta

    if not seen:
        return None
    value, out = bad / seen, (1 - _LEVEL) / 2
    low = 0.0 if bad == 0 else float(beta.ppf(out, bad, seen - bad + 1))
    high = 1.0 if bad == seen else float(beta.ppf(1 - out, bad + 1, seen - bad))
    return Share(
        value=value, low=value if whole else low, high=value if whole else high, level=_LEVEL
    )


def _told_apart(check: Check, source: Source, cone: Cone, seed: int) -> Check:
    """Raw, or clean under another projector? That one's rows fill fewer dimensions."""
    if check.outcome != "raw":
        return check
    wanted = min(check.rows, 2 * check.dim + 20)
    _, rows = source.sample(wanted, np.random.default_rng([seed, 1]))
    fills = dimensions(rows[np.isfinite(cone.distances(rows))])
    outcome: Outcome = "raw"
    if fills is None:
        outcome = "raw or another projector"
    elif fills < check.dim:
        outcome = "another projector"
    return msgspec.structs.replace(check, outcome=outcome, fills=fills)


def _said(check: Check, cone: Cone) -> Check:
    return msgspec.structs.replace(check, says=sentences(check, cone.eraser))


def _type(shape: Shape) -> np.dtype[Any]:
    return np.dtype(shape.dtype)
