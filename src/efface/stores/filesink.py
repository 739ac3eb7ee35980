"""What every sink of files and folders does alike: begin, commit in order, finish, swap."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from efface.errors import StoreError
from efface.stores import disk, swapping
from efface.stores.contract import Done, Job, Part, Shape, Source
from efface.stores.flusher import Flusher
from efface.stores.workfolder import (
    Entry,
    WorkFolder,
    is_made,
    plain,
    read_record,
    record_path,
)


class FileSink:
    """A target beside which a work folder lives until it is complete.

    Kinds of files say how a part is written (``prepare``, ``absorb``) and how all of them become
    one file or folder (``complete``). Each step may be cut short anywhere and be done again.
    """

    kind: ClassVar[str]

    def __init__(self, target: Path, read_from: Any) -> None:
        self.target = target
        self.read_from = read_from
        self.work = WorkFolder(target)
        self._entries: list[Entry] = []
        self._job: Job | None = None
        self._flusher = Flusher()
        swapping.settle(target)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_entries": [], "_flusher": Flusher()}

    @property
    def place(self) -> str:
        return str(self.target)

    # --- what a kind of file adds -------------------------------------------------------------

    def start(self, job: Job) -> None:
        """Lay out an empty work folder for this job."""

    def resume(self, entries: Sequence[Entry]) -> None:
        """Cut the data back to these parts."""

    def absorb(self, part: Part, prepared: Any) -> tuple[dict[str, Any], list[Path]]:
        """Make a prepared part count: what to remember of it, and which files it is in."""
        raise NotImplementedError

    def complete(self) -> Path:
        """The finished file or folder, still hidden, with all its bytes on the disk."""
        raise NotImplementedError

    def open(self, path: Path) -> Source:
        """A store of this kind, to read from."""
        raise NotImplementedError

    # --- the contract -------------------------------------------------------------------------

    def begin(self, job: Job, *, resume: bool) -> Sequence[Done]:
        with disk.writing(self.place):
            self._job = job
            if os.path.lexists(self.target) and not self.work.path.exists():
                self._entries = self._finished(job, resume)
            else:
                self.work.open()
                try:
                    self._entries = self._taken_up(job)
                except BaseException:
                    self.work.close()
                    raise
        return [entry.done for entry in self._entries]

    def _taken_up(self, job: Job) -> list[Entry]:
        """With the lock held: go on with what is there, or begin."""
        under_way = self.work.job()
        if os.path.lexists(self.target):
            return self._shown(job, under_way)
        if under_way is None or not (_follows(job, under_way) or self.work.done()):
            self.work.clear()
            self.start(job)
            self.work.start(job)
            return []
        if not _follows(job, under_way):
            raise StoreError(
                f"{self.work.path}: holds unfinished work of another job "
                f"({_differences(under_way, job)}): finish it with its own command, or remove that "
                "folder to start afresh, or give another name with --out"
            )
        entries = self.work.held(job)
        self.resume(entries)
        return entries

    def _shown(self, job: Job, under_way: dict[str, Any] | None) -> list[Entry]:
        """The target is there and so is the work folder: a death between showing and clearing."""
        record = read_record(self.target)
        if record is not None and is_made(record, self.target) and record.job == plain(job):
            return list(record.entries)
        if under_way is None:
            self.work.remove()
        raise _exists(self.target)

    def _finished(self, job: Job, resume: bool) -> list[Entry]:
        record = read_record(self.target)
        if record is None or not is_made(record, self.target):
            raise _exists(self.target)
        if record.job != plain(job):
            raise StoreError(
                f"{self.target}: is there already, made by another job "
                f"({_differences(record.job, job)}): give another name with --out, or remove it"
            )
        if not resume:
            raise StoreError(
                f"{self.target}: is there already and was finished by this very job: give "
                "--resume to verify it again, or another name with --out"
            )
        return list(record.entries)

    def commit(self, part: Part, prepared: Any, done: Done) -> None:
        if part.index != len(self._entries):
            raise StoreError(f"{self.place}: part {part.index} came out of turn: start afresh")
        with disk.writing(self.place):
            extra, files = self.absorb(part, prepared)
            entry = Entry(done, extra)
            self.work.add(entry)
            self._entries.append(entry)
            safe = self._flusher.wrote(files, self._part_bytes(part), len(self._entries))
            if safe is not None:
                self.work.safe(safe)

    def _part_bytes(self, part: Part) -> int:
        shape = self.read_from.shape
        return int(part.rows * shape.dim * np.dtype(shape.dtype).itemsize)

    def finish(self) -> None:
        if self._job is None or len(self._entries) != self._job.parts:
            raise StoreError(f"{self.place}: is not complete: run the same command again")
        with disk.writing(self.place):
            if not is_made(read_record(self.target), self.target):
                self._flusher.wait()
                made = self.complete()
                self.work.note(made)
                disk.show(made, self.target)
            self.work.remove()
            disk.flush(self.target.parent)

    def source(self) -> Source:
        return self.open(self.target)

    def start_of(self, part: Part) -> int:
        """The row of its file in the finished target at which a part begins: rows before it may
        have been dropped."""
        path = record_path(self.target)
        return _starts(self.target, path.stat().st_mtime_ns)[part.index]

    def swap(self, live: str) -> None:
        swapping.swap(self.target, Path(live))


def _exists(target: Path) -> StoreError:
    return StoreError(
        f"{target}: is there already and is not of this job: give another name with --out, or "
        "remove it"
    )


def _follows(job: Job, earlier: dict[str, Any]) -> bool:
    shape = Shape(**earlier["shape"])
    return job.follows(Job(**{**earlier, "shape": shape}))


def _differences(found: dict[str, Any], job: Job) -> str:
    """Which of the things that make a job differ, in words."""
    wanted = plain(job)
    names = {
        "source": "source", "fingerprint": "content of the source", "projector": "projector",
        "shape": "shape", "parts": "number of parts", "part_rows": "rows per part",
        "null": "policy for rows without a vector",
    }  # fmt: skip
    other = [words for key, words in names.items() if found.get(key) != wanted[key]]
    return f"differs in: {', '.join(other)}"


@lru_cache(maxsize=4)
def _starts(target: Path, changed: int) -> list[int]:
    record = read_record(target)
    if record is None:
        raise StoreError(
            f"{record_path(target)}: is gone or damaged: the target cannot be verified"
        )
    starts: list[int] = []
    at, file = 0, None
    for entry in record.entries:
        at = at if entry.extra.get("file") == file else 0
        file = entry.extra.get("file")
        starts.append(at)
        at += entry.done.rows
    return starts
