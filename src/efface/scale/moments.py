"""Fit an eraser where the vectors lie: each part gives its sums, and the sums are added in order.

The result has the same bits on any runner and with any number of workers. It differs by rounding
from another division into parts, and from a fit in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from efface import fingerprint
from efface.errors import DataError
from efface.protect.linear.base import LinearProtection
from efface.protect.linear.moments import Moments, identity_codes
from efface.scale.runner import Runner, map_merge

P = TypeVar("P", bound=LinearProtection)
Progress = Callable[[int, int], None]

PART_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a part. ``place`` and ``start`` are for messages."""

    vectors: NDArray[Any]
    labels: NDArray[Any]
    place: str
    start: int


@runtime_checkable
class Labelled(Protocol):
    """Stored vectors with the person of every row. It travels to workers: it pickles as paths."""

    @property
    def place(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def parts(self, rows: int) -> Sequence[Any]:
        """All rows in parts of about ``rows``, the same for the same content; ``str`` names one."""
        ...

    def blocks(self, part: Any) -> Iterator[Block]:
        """The rows of a part, in the type they are stored in, without reading any others."""
        ...


def fit_store(
    source: Labelled,
    protection: P,
    runner: Runner,
    *,
    rows: int = PART_ROWS,
    progress: Progress | None = None,
) -> P:
    """``protection``, fitted on every row of ``source``.

    The eraser's ``fit_digest`` is that of the vectors and of who belongs together, part by part;
    names do not enter. It carries fingerprints of the people, as after any fit.
    """
    protection._check_params()  # now, not after hours of reading
    second = protection._needs_covariance()
    task = Gather(source, source.dim, second, protection.normalise)
    parts = source.parts(rows)
    found = Gathered(task.nothing())
    map_merge(runner, task, parts, lambda a, shard: a.add(shard, len(parts), progress), found)
    return protection.fit_moments(
        found.moments, digest=found.digest(), fingerprints=found.prints.values()
    )


@dataclass(frozen=True, eq=False)
class Shard:
    """What is kept of a part: sums, its people in order of appearance, digest, fingerprints."""

    moments: Moments
    people: list[Hashable]
    digest: bytes
    prints: dict[Hashable, str]


@dataclass(frozen=True, eq=False)
class Gather:
    """The task: a part to its shard."""

    source: Labelled
    dim: int
    second: bool = False
    normalise: bool = True

    def nothing(self) -> Moments:
        return Moments(self.dim, second=self.second, normalise=self.normalise)

    def __call__(self, part: Any) -> Shard:
        moments = self.nothing()
        number: dict[Hashable, int] = {}
        seen: dict[Hashable, str] = {}
        rows, people = hashlib.sha256(), hashlib.sha256()
        for block in self.source.blocks(part):
            _update(moments, block)
            names, codes = identity_codes(block.labels, len(block.vectors))
            rows.update(f"{block.vectors.dtype.str} {block.vectors.shape[1]}".encode())
            rows.update(np.ascontiguousarray(block.vectors).data)
            people.update(_numbered(names, codes, number).tobytes())
            made = fingerprint.of_people(fingerprint.of_rows(block.vectors), codes)
            _merge(seen, {names[code]: text for code, text in made.items()})
        return Shard(moments, list(number), rows.digest() + people.digest(), seen)


@dataclass(eq=False)
class Gathered:
    """Shards added up in the order of the parts."""

    moments: Moments
    prints: dict[Hashable, str] = field(default_factory=dict)
    parts: int = 0
    _number: dict[Hashable, int] = field(default_factory=dict)
    _sha: Any = field(default_factory=hashlib.sha256)

    def add(self, shard: Shard, total: int = 0, progress: Progress | None = None) -> Self:
        self.moments.merge(shard.moments)
        numbers = [self._number.setdefault(name, len(self._number)) for name in shard.people]
        self._sha.update(shard.digest)
        self._sha.update(np.array(numbers, "<i8").tobytes())
        _merge(self.prints, shard.prints)
        self.parts += 1
        if progress is not None:
            progress(self.parts, total)
        return self

    def digest(self) -> str:
        return str(self._sha.hexdigest())


def _update(moments: Moments, block: Block) -> None:
    """Moments count rows from the block's first; a message has to count them as the file does."""
    try:
        moments.update(block.vectors, block.labels)
    except DataError as error:
        wide = block.vectors.astype(np.float64)
        bad = ~np.isfinite(wide).all(axis=1) | (moments.normalise & ~wide.any(axis=1))
        if not bad.any():
            raise DataError(f"{block.place}, from row {block.start} on: {error}") from None
        row = int(np.flatnonzero(bad)[0])
        what = "holds NaN or infinity" if wide[row].any() else "is all zero"
        raise DataError(
            f"{block.place}: row {block.start + row} (counted from 0) {what}: remove or recompute "
            "this vector"
        ) from None


def _numbered(
    names: Sequence[Hashable], codes: NDArray[np.int64], number: dict[Hashable, int]
) -> NDArray[np.int64]:
    """The people of the rows, numbered in the order in which the part shows them first."""
    first = np.unique(codes, return_index=True)[1]
    for code in np.argsort(first):
        number.setdefault(names[code], len(number))
    return np.array([number[name] for name in names], "<i8")[codes]


def _merge(seen: dict[Hashable, str], new: dict[Hashable, str]) -> None:
    """Fingerprints of people some of whose rows lie in other parts."""
    for name, made in new.items():
        seen[name] = fingerprint.merged(seen.get(name, ""), made)
