"""Brings committed data to the disk beside the work, so that nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from efface.stores import disk

_BYTES = 256 << 20
"""How much is done again after a power cut, at most twice this."""


class Flusher:
    """One thread that flushes files; it knows up to which part all data are on the disk."""

    def __init__(self) -> None:
        self._files: set[Path] = set()
        self._bytes = 0
        self._thread: ThreadPoolExecutor | None = None
        self._under_way: Future[int] | None = None

    def wrote(self, files: Iterable[Path], size: int, parts: int) -> int | None:
        """Note what a commit wrote; the number of parts that became safe by now, if any did."""
        self._files.update(files)
        self._bytes += size
        safe = None
        if self._under_way is not None and self._under_way.done():
            safe, self._under_way = self._under_way.result(), None
        if self._under_way is None and self._bytes >= _BYTES:
            self._begin(parts)
        return safe

    def _begin(self, parts: int) -> None:
        files, self._files, self._bytes = self._files, set(), 0
        self._thread = self._thread or ThreadPoolExecutor(1, "flush")
        self._under_way = self._thread.submit(_flush, files, parts)

    def wait(self) -> None:
        """Until everything noted is on the disk."""
        if self._under_way is not None:
            self._under_way.result()
            self._under_way = None
        _flush(self._files, 0)
        self._files = set()
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None


def _flush(files: set[Path], parts: int) -> int:
    for path in sorted(files):
        disk.flush(path)
    for folder in sorted({path.parent for path in files}):
        disk.flush(folder)
    return parts
