"""Write a file whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from efface.errors import DataError

_STEM = 40


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, parents: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and put it in place when the body succeeds.

    On any exception, Ctrl-C included, the temporary file goes and ``path`` stays as it was.
    """
    target = Path(os.path.realpath(path))  # through a link, so that the link stays one
    _check(Path(path), target, parents)
    # In the same folder: os.replace is atomic within one file system only.
    partial = target.with_name(f"{target.name[:_STEM]}.{secrets.token_hex(8)}.partial")
    try:
        _create(partial, target)
        yield partial
        _flush(partial)
        os.replace(partial, target)
        with suppress(OSError):  # not every file system can flush a folder
            _flush(target.parent)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror or error}): choose another folder, or "
            "make room and give write permission"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove what writers that were killed left beside ``path``. Only for who knows that nobody
    writes it now; names too long to be told from others' are left alone."""
    target = Path(os.path.realpath(path))
    if len(target.name) > _STEM or not target.parent.is_dir():
        return
    pattern = re.compile(re.escape(target.name) + r"\.[0-9a-f]{16}\.partial")
    for entry in os.listdir(target.parent):
        if pattern.fullmatch(entry):
            with suppress(OSError):
                (target.parent / entry).unlink()


def _check(path: Path, target: Path, parents: bool) -> None:
    if target.exists() and not target.is_file():
        raise DataError(f"{path}: is there already and is no ordinary file: choose another name")
    if parents:
        _make_folder(target.parent)
    if not target.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}: make it first")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{folder}: this folder cannot be made ({error.strerror}): choose another"
        ) from error


def _create(partial: Path, target: Path) -> None:
    """Make the file with the mode of the one it replaces: a private file stays private."""
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    os.close(os.open(partial, flags, 0o666 if mode is None else mode))
    if mode is not None:
        partial.chmod(mode)


def _flush(path: Path) -> None:
    """Make the bytes of a file, or the new name in a folder, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
