"""What sources of files share: even parts, drawn rows, and a cheap fingerprint."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from efface.errors import StoreError
from efface.stores.contract import Chunk, Part

_EDGE = 1 << 16


def even_parts(total: int, rows: int, *, index: int = 0, start: int = 0) -> Iterator[Part]:
    """Rows in parts of ``rows``, the last one shorter."""
    for at in range(0, total, max(1, rows)):
        yield Part(index, start + at, min(rows, total - at))
        index += 1


def cut(lengths: Sequence[int], rows: int) -> Iterator[tuple[int, int]]:
    """(first row, rows) of each part of a file that comes in pieces of these lengths: small ones go
    together, large ones are divided."""
    start = pending = 0
    for length in lengths:
        if pending and pending + length > rows:
            yield start, pending
            start, pending = start + pending, 0
        pending += length
        if pending > rows:
            pieces = -(-pending // rows)
            for piece in range(pieces):
                a, b = pending * piece // pieces, pending * (piece + 1) // pieces
                yield start + a, b - a
            start, pending = start + pending, 0
    if pending:
        yield start, pending


def drawn(total: int, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Row numbers, uniform and without replacement, in ascending order; all if there are fewer."""
    if rows >= total:
        return np.arange(total)
    return np.sort(rng.choice(total, rows, replace=False))


Read = Callable[[NDArray[np.int64]], tuple[list[Any], list[NDArray[Any]]]]


def drawn_with_vector(
    total: int, rows: int, rng: np.random.Generator, read: Read
) -> tuple[list[Any], list[NDArray[Any]]]:
    """As many rows that have a vector, uniform among these; all of them if there are fewer.

    ``read`` gives labels and vectors of the numbered rows, without those that have none. For
    those others are drawn, until there are enough or no row is left.
    """
    labels: list[Any] = []
    vectors: list[NDArray[Any]] = []
    seen = np.empty(0, np.int64)
    while len(labels) < rows and len(seen) < total:
        wanted = rows - len(labels)
        unseen = np.setdiff1d(drawn(total, wanted + len(seen), rng), seen)
        chosen = unseen[drawn(len(unseen), wanted, rng)]
        more, found = read(chosen)
        labels, vectors = [*labels, *more], [*vectors, *found]
        seen = np.concatenate([seen, chosen])
    return labels, vectors


def fingerprint(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 over names, sizes, times of change, and the first and last 64 KiB of each file.

    It misses a change in the middle of a file that keeps the size and sets the time back.
    """
    sha = hashlib.sha256()
    for name, path in files:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            head = file.read(_EDGE)
            file.seek(max(0, stat.st_size - _EDGE))
            tail = file.read(_EDGE)
        sha.update(f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
        sha.update(head + tail)
    return sha.hexdigest()


def selected(chunk: Chunk, rows: NDArray[np.bool_], rest: Any) -> Chunk:
    """The chosen rows of a chunk; ``rest`` has been cut down already."""
    present = None if chunk.present is None else chunk.present[rows]
    if present is not None and present.all():
        present = None
    labels = [chunk.labels[row] for row in np.flatnonzero(rows).tolist()]
    return Chunk(chunk.vectors[rows], rest, labels, present)


@dataclass(frozen=True)
class RowNames(Sequence[str]):
    """``file:row`` of each row of a folder's file, made when they are asked for."""

    file: str
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return RowNames(self.file, self.rows[at])
        return f"{self.file}:{self.rows[at]}"


def check_target(source: Path, target: Path) -> None:
    """Refuse a target that is the source, lies in it, or would need another form."""
    if target.suffix.lower() != source.suffix.lower() and not source.is_dir():
        raise StoreError(
            f"{target}: the format is kept, so the name must end in {source.suffix} like {source}"
        )
    if target.exists() and target.samefile(source):
        raise StoreError(f"{target}: is the store that is read: give another name with --out")
    if not target.parent.is_dir():
        raise StoreError(f"{target}: there is no folder {target.parent}: make it first")
    if source.is_dir() and source.resolve() in target.resolve().parents:
        raise StoreError(f"{target}: is inside the folder that is read: put it beside {source}")


def check_kind(kind: str, source: Any) -> None:
    """Files are written from files of their own kind: other columns come along as they are."""
    if source.kind != kind:
        raise StoreError(
            f"{source.place}: a {source.kind} store cannot be written as {kind}: name a target of "
            "the same kind"
        )
