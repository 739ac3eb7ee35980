"""One run per target: a lock on a file, which ends with the process whatever ends it."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

from efface.errors import StoreError


class Lock:
    """An open file that is locked; released by hand, with the object, or with the process."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.thread = threading.get_ident()
        self._handle: int | None = handle

    def is_of(self, path: Path) -> bool:
        """Is the locked file still the one of this name?"""
        try:
            return self._handle is not None and os.path.samestat(
                os.fstat(self._handle), path.stat()
            )
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    __del__ = release


_LAST: dict[Path, Lock] = {}


def locked(path: Path, target: Path) -> Lock | None:
    """The lock; None where another run removed the file between our opening and our locking it.

    A run that failed in this very thread is over, though its error may still keep its lock alive:
    in a notebook, for example. It gives way.
    """
    last = _LAST.get(path.absolute())
    if last is not None and last.thread == threading.get_ident():
        last.release()
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    lock = Lock(path, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StoreError(
            f"{target}: another run is writing it: wait for that one, or give another name with "
            "--out"
        ) from error
    if not lock.is_of(path):
        return None
    _LAST[path.absolute()] = lock
    return lock
