"""What the user named, opened as a source of pictures."""

from __future__ import annotations

import os
from pathlib import Path

from efface.errors import DataError
from efface.pictures.entry import Source, is_picture
from efface.pictures.folder import Folder
from efface.pictures.identity import By, rule
from efface.pictures.listing import Listing
from efface.pictures.shards import Shards

_LISTS = (".csv", ".tsv")


def open_source(
    path: str | Path,
    *,
    identity_by: By = "auto",
    pattern: str | None = None,
    identity: str = "identity",
    picture: str | None = None,
) -> Source:
    """A folder, a CSV list, a tar archive or a folder of tar archives.

    ``identity`` is a column of the list, or a key of the JSON beside a picture in an archive.
    """
    where = Path(path)
    kind = _kind(where)
    wanted = rule(identity_by, pattern)
    if kind == "list":
        if wanted.by not in ("auto", "column"):
            raise DataError(f"{where}: a list names people in a column: give --identity COLUMN")
        return Listing(where, identity, picture)
    if wanted.by == "column" or (picture is not None):
        raise DataError(f"{where}: only a CSV list has columns of pictures and people")
    if kind == "archive":
        return Shards([where], str(where), wanted, identity)
    shards = _archives(where)
    if shards:
        return Shards(shards, str(where), wanted, identity)
    if wanted.by == "label":
        raise DataError(f"{where}: only tar archives have labels beside their pictures")
    return Folder(where, wanted)


def _kind(where: Path) -> str:
    try:
        if where.is_dir():
            return "folder"
        found = where.exists()
    except OSError as error:  # a name that is too long, for example
        raise DataError(f"{where}: cannot be read ({error.strerror}): check the path") from error
    if not found:
        raise DataError(f"{where}: no such folder, list or archive: check the path")
    if where.suffix.lower() in _LISTS:
        return "list"
    if where.suffix.lower() == ".tar":
        return "archive"
    compressed = where.name.lower().endswith((".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"))
    hint = (
        "a compressed archive cannot be read from the middle: unpack it to .tar first"
        if compressed
        else "give a folder of pictures, a .csv or .tsv list, or .tar archives"
    )
    raise DataError(f"{where}: {hint}")


def _archives(folder: Path) -> list[Path]:
    """The tar files of a folder that holds nothing else to read."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda one: one.name)
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror}): check it") from error
    if any(entry.is_dir() or is_picture(entry.name) for entry in entries):
        return []
    return [Path(entry.path) for entry in entries if entry.name.lower().endswith(".tar")]
