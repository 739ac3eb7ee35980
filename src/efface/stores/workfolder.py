"""The journal of a run under way: what a target will be made of, beside it and hidden from it.

``<target>.efface-work/`` holds the lock, the job, the journal and the data that are not yet shown.
When the target is complete, the journal moves to ``<target>.efface-parts.jsonl`` and the folder
goes. That small file says which job made the target and what each part's vectors were; without it
the target is a store like any other, and no run takes it for its own.

A line of the journal is written when a part is committed, and holds after any death of the process.
A *safe* line is written once the disk has all data up to there. After a power cut (the machine has
another boot id) parts behind the last safe line are done again.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from efface.errors import StoreError
from efface.stores import disk
from efface.stores.contract import Done, Job
from efface.stores.lock import Lock, locked

_FORMAT = 1
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Entry:
    """A committed part, and what the sink wants to know of it later."""

    done: Done
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """What is known of a target: the job, its parts, and the file or folder they became."""

    job: dict[str, Any]
    entries: Sequence[Entry] = ()
    made: Sequence[int] = ()
    """Inode, bytes and time of change of the target; bytes and time are 0 for a folder."""
    live: str = ""
    """The name it is about to take over, while a swap is under way."""


def work_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.efface-work")


def record_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.efface-parts.jsonl")


def plain(job: Job) -> dict[str, Any]:
    """As JSON would give it back."""
    found: dict[str, Any] = json.loads(json.dumps(asdict(job)))
    return found


class WorkFolder:
    """One target's work folder, locked by this process from ``open`` to ``remove``."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = work_path(target)
        self._lock: Lock | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None}

    def open(self) -> None:
        """Make the folder and lock it; a second run on the same target is refused."""
        while self._lock is None:
            self.path.mkdir(exist_ok=True)
            self._lock = locked(self.path / "lock", self.target)

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def clear(self) -> None:
        """Empty it, but for the lock: what lies here belongs to no job."""
        for path in self.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink()

    # --- the journal ------------------------------------------------------------------------

    @property
    def journal(self) -> Path:
        return self.path / "journal.jsonl"

    def start(self, job: Job) -> None:
        head = {"efface-parts": _FORMAT, "boot": _boot(), "job": plain(job)}
        disk.write_whole(self.journal, _line(head))
        disk.flush(self.path.parent)

    def job(self) -> dict[str, Any] | None:
        """The job under way here; None where none has begun."""
        lines = _lines(self.journal)
        return lines[0].get("job") if lines else None

    def done(self) -> bool:
        """Has any part been committed here?"""
        return bool(_entries(_lines(self.journal)))

    def held(self, job: Job) -> list[Entry]:
        """The parts that count for this job, and a journal that says no more than that."""
        lines = _lines(self.journal)
        entries, boot = _entries(lines), _boot()
        safe = max((int(line["safe"]) for line in lines if "safe" in line), default=0)
        if not boot or lines[0].get("boot") != boot:
            entries = entries[:safe]
        head = _line({**lines[0], "boot": boot, "job": plain(job)})
        body = b"".join(map(_entry_line, entries))
        disk.write_whole(self.journal, head + body + _line({"safe": safe}))
        return entries

    def add(self, entry: Entry) -> None:
        self._append(_entry_line(entry))

    def safe(self, count: int) -> None:
        """The disk has the data of the first ``count`` parts."""
        self._append(_line({"safe": count}), flush=True)

    def _append(self, line: bytes, flush: bool = False) -> None:
        # One call for the whole line: it is in the file, or it is not.
        handle = os.open(self.journal, os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(handle, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if flush:
                os.fsync(handle)
        finally:
            os.close(handle)

    # --- the end ----------------------------------------------------------------------------

    def note(self, made: Path) -> None:
        """Before the target is shown: which job made it, so that it is known by its inode."""
        job = self.job() or {}
        write_record(self.target, Record(job, _entries(_lines(self.journal)), identity(made)))

    def remove(self) -> None:
        """Only what is there already: nothing of the target's is in here any more."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.close()


def identity(path: Path) -> list[int]:
    """Tells this very file or folder from any other of its name; survives renaming."""
    stat = path.stat()
    if path.is_dir():
        return [stat.st_ino, 0, 0]
    return [stat.st_ino, stat.st_size, stat.st_mtime_ns]


def is_made(record: Record | None, path: Path) -> bool:
    """Is this the very file or folder of the record, unchanged?"""
    return record is not None and path.exists() and identity(path) == list(record.made)


def write_record(target: Path, record: Record) -> None:
    head = {
        "efface-parts": _FORMAT, "job": record.job, "made": list(record.made), "live": record.live,
    }  # fmt: skip
    disk.write_whole(
        record_path(target), _line(head) + b"".join(_entry_line(e) for e in record.entries)
    )


def read_record(target: Path) -> Record | None:
    """What is written beside a finished target; None where there is nothing that can be read."""
    lines = _lines(record_path(target))
    if not lines or "made" not in lines[0]:
        return None
    head = lines[0]
    return Record(head["job"], _entries(lines), head["made"], head.get("live", ""))


def _entries(lines: Sequence[dict[str, Any]]) -> list[Entry]:
    """Committed parts, in order; only the run from part 0 on counts."""
    found: list[Entry] = []
    for line in lines:
        if "done" in line:
            entry = Entry(Done(**line["done"]), line.get("extra", {}))
            if entry.done.index == len(found):
                found.append(entry)
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a journal; a torn one ends it."""
    found: list[dict[str, Any]] = []
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return found
    for text in data.split(b"\n")[:-1]:
        try:
            line = json.loads(text)
        except ValueError:
            break
        found.append(line)
    if found and found[0].get("efface-parts") != _FORMAT:
        raise StoreError(f"{path}: is of another version of efface: remove it and start afresh")
    return found


def _entry_line(entry: Entry) -> bytes:
    return _line({"done": asdict(entry.done), "extra": entry.extra})


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
