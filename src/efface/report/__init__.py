"""Reports: one versioned JSON from which the HTML, the JUnit XML and the exit code are made."""

from __future__ import annotations

import os
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from efface.results import Report

__all__ = ["save"]


def save(report: Report, folder: str | PathLike[str]) -> None:
    """Write report.json, report.html and report.junit.xml into ``folder``.

    Everything is made before anything is written, and all three are complete on the disk before
    the first takes its name: a full disk or Ctrl-C leaves what was there.
    """
    from efface.errors import DataError
    from efface.report.html import to_html
    from efface.report.junit import to_junit
    from efface.report.schema import to_json

    contents = {
        "report.json": to_json(report),
        "report.html": to_html(report).encode("utf-8", "replace"),
        "report.junit.xml": to_junit(report),
    }
    folder = Path(folder)
    try:
        write_all(folder, contents)
    except OSError as error:
        raise DataError(
            f"{folder}: the report cannot be written there ({error.strerror or error}): "
            "choose another folder with --out, or make this one writable"
        ) from error


def write_all(folder: Path, contents: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    partial = {name: folder / f".{name}.{os.getpid()}.partial" for name in contents}
    try:
        for name, data in contents.items():
            _write(partial[name], data)
        for name, path in partial.items():
            os.replace(path, folder / name)
    finally:
        for path in partial.values():
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    """On the disk, not only in its cache, before it may take the place of an older file."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
