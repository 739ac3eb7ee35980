"""The listing of a run on the disk: batches of entries that are read when they are needed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, overload

from efface.encoding.prepare import Batch
from efface.errors import DataError
from efface.pictures.entry import Entry, Source


class Spool(Sequence[Batch]):
    """Batches of one listing. What grows with the pictures is a file and a number for each batch.

    ``digest`` is of names, people and what else the source says, and of sizes and times of change:
    a run that is taken up again must find the same pictures, by whatever path it comes to them.
    """

    def __init__(
        self, path: Path, offsets: list[int], total: int, people: int, digest: str
    ) -> None:
        self.path = path
        self.offsets = offsets
        self.total = total
        self.people = people
        self.digest = digest

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Batch: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Batch]: ...
    def __getitem__(self, index: int | slice) -> Batch | Sequence[Batch]:
        if isinstance(index, slice):
            return Slice(self, range(*index.indices(len(self))))
        start, stop = self.offsets[index], self.offsets[index + 1]
        with open(self.path, "rb") as file:
            file.seek(start)
            lines = file.read(stop - start).splitlines()
        return Batch(index, tuple(_entry(json.loads(line)) for line in lines))


class Slice(Sequence[Batch]):
    """Some batches of a spool."""

    def __init__(self, spool: Spool, rows: range) -> None:
        self.spool, self.rows = spool, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.spool[self.rows[index]]


def spooled(source: Source, path: Path, batch: int) -> Spool:
    """List a source once, into a file."""
    sha, offsets, total = hashlib.sha256(), [0], 0
    people: set[str] = set()
    stat = _Stat()
    entries = iter(source.entries())
    with open(path, "wb") as file:
        while some := list(islice(entries, batch)):
            for entry in some:
                sha.update(_bytes(replace(entry, file="")) + stat.of(entry.file) + b"\n")
                file.write(_bytes(entry) + b"\n")
                if not entry.problem:
                    people.add(entry.identity)
            total += len(some)
            offsets.append(file.tell())
    if not total:
        raise DataError(f"{source.place}: lists no pictures: give at least one")
    return Spool(path, offsets, total, len(people), sha.hexdigest())


class _Stat:
    """Size and time of change of a file; of an archive only once."""

    def __init__(self) -> None:
        self._last: tuple[str, bytes] = ("", b"")

    def of(self, file: str) -> bytes:
        if self._last[0] != file:
            try:
                found = os.stat(file)
                told = f" {found.st_size} {found.st_mtime_ns}".encode()
            except (OSError, ValueError):
                told = b" -"
            self._last = (file, told)
        return self._last[1]


def _bytes(entry: Entry) -> bytes:
    return json.dumps(_plain(entry), separators=(",", ":")).encode()


def _plain(entry: Entry) -> list[Any]:
    return [entry.name, entry.identity, entry.file, entry.start, entry.size, entry.problem,
            *entry.extra]  # fmt: skip


def _entry(held: list[Any]) -> Entry:
    name, identity, file, start, size, problem, *extra = held
    return Entry(name, identity, file, start, size, problem, tuple(extra))
