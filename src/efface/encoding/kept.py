"""Vectors that an audit keeps: a note beside them tells of which work they are the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from efface.data.readers import open_table
from efface.encoders.weights import file_digest
from efface.encoding.finish import left_out_path, near_path
from efface.errors import EffaceError, StoreError
from efface.facts import Encoding
from efface.stores import disk


class Note(msgspec.Struct, frozen=True):
    """``vectors`` is the SHA-256 of the file; empty while the work is under way."""

    job: dict[str, Any]
    vectors: str = ""


def note_path(out: Path) -> Path:
    """Beside the vectors, under their name."""
    return out.with_name(f"{out.stem}.job.json")


def held(out: Path, job: dict[str, Any]) -> Encoding | None:
    """The record of the vectors, if they are the result of this very job and nobody changed them.

    A file without a note, or changed since, is somebody else's and is not replaced.
    """
    note = _read(out)
    if out.exists() and (note is None or note.vectors not in ("", file_digest(out))):
        raise StoreError(
            f"{out}: is there already, and not as an audit left it: move it away, or choose "
            "another folder with --out"
        )
    files = (out, left_out_path(out), near_path(out))
    if note is None or note.job != job or not note.vectors:
        return None
    return _record(out) if all(file.is_file() for file in files) else None


@contextmanager
def noted(out: Path, job: dict[str, Any]) -> Iterator[None]:
    """Around the work: the note comes first, so that a death in between leaves nothing unknown."""
    _write(out, Note(job))
    yield
    _write(out, Note(job, file_digest(out)))


def _read(out: Path) -> Note | None:
    try:
        return msgspec.json.decode(note_path(out).read_bytes(), type=Note)
    except (OSError, msgspec.MsgspecError):
        return None


def _record(out: Path) -> Encoding | None:
    try:
        found: Encoding | None = getattr(open_table(out), "encoding", None)
    except EffaceError:
        return None
    return found


def _write(out: Path, note: Note) -> None:
    with disk.writing(out):
        disk.write_whole(note_path(out), msgspec.json.format(msgspec.json.encode(note), indent=2))
