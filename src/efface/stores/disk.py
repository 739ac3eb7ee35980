"""What file stores ask of a disk: bytes that are safe, names that change at once, plain errors."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from efface.errors import StoreError

_HERE = -100  # AT_FDCWD: paths are relative to the working folder
_NO_REPLACE, _EXCHANGE = 1, 2
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNABLE = {errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP}


@contextmanager
def writing(place: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the disk under ``place``, with the way out: the same command goes on."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{place}: {_why(error)}") from error


def _why(error: OSError) -> str:
    said = error.strerror or str(error)
    if error.errno in _FULL:
        return (
            f"the disk or its quota is full ({said}): make room and run the same command again, "
            "which goes on where this one stopped"
        )
    if error.errno in _CLOSED:
        return (
            f"cannot be written ({said}): give write permission and run the same command again, "
            "or choose another folder with --out"
        )
    return f"cannot be written ({said}): see to it and run the same command again"


def flush(path: Path) -> None:
    """Make the bytes of a file survive a power cut; of a folder, the names in it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # not every file system can flush a folder
            raise
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """A small file, safe on the disk, whole or not at all. Always by the same way: what a death
    leaves there, the next run uses up."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    flush(path.parent)


def show(hidden: Path, target: Path) -> None:
    """Give a finished file or folder its name, unless something else has it by now."""
    if not _rename(hidden, target, _NO_REPLACE):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.rename(hidden, target)
    flush(target.parent)


def take_over(new: Path, live: Path, old: Path) -> None:
    """``new`` becomes ``live`` at once and what was live becomes ``old``; never is there neither.

    A death in the middle can leave what was live under the name of ``new``: see ``settle``.
    """
    if not _rename(new, live, _EXCHANGE):
        if new.is_dir():
            raise StoreError(
                f"{live}: this system or disk cannot exchange two folders at once: stop what reads "
                f"it and rename by hand, {live} to {old}, then {new} to {live}"
            )
        os.link(live, old)
        os.replace(new, live)
    settle(new, live, old)


def settle(new: Path, live: Path, old: Path) -> None:
    """The last step of ``take_over``: what was live gets its own name."""
    if os.path.lexists(new):
        os.rename(new, old)
    for folder in {new.parent, live.parent}:
        flush(folder)


def copy_range(source: int, target: int, start: int, at: int, size: int) -> None:
    """``size`` bytes from ``start`` of one open file to ``at`` in another; where the disk can,
    both then share them."""
    done = 0
    while done < size:
        moved = _moved(source, target, start + done, at + done, size - done)
        if not moved:
            raise OSError(errno.EIO, "a file ended before its end")
        done += moved


def _moved(source: int, target: int, start: int, at: int, size: int) -> int:
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(source, target, size, start, at)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
    return os.pwrite(target, os.pread(source, min(size, 1 << 20), start), at)


def write_all(target: int, data: bytes | memoryview, at: int) -> None:
    """All the bytes at their place: the system may take fewer than it is given."""
    rest = memoryview(data).cast("B")
    while rest:
        wrote = os.pwrite(target, rest, at)
        rest, at = rest[wrote:], at + wrote


def _rename(old: Path, new: Path, how: int) -> bool:
    """Linux's ``renameat2``; False where there is none, or not on this disk."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if call(_HERE, os.fsencode(old), _HERE, os.fsencode(new), how) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE and number != errno.EXDEV:
        return False
    raise OSError(number, os.strerror(number), str(new))
