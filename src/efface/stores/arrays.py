"""A sink for one array: workers write their rows straight to the place where they will stay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import StoreError
from efface.stores import disk
from efface.stores.contract import Chunk, Done, Job, Part
from efface.stores.filesink import FileSink
from efface.stores.npyfile import header_bytes


class ArraySink(FileSink):
    """The array is a ``.npy`` file of the final size in the work folder from the start on.

    So a full disk is told before the work begins, and a part that was cut short is simply written
    again.
    """

    @property
    def array(self) -> Path:
        return self.work.path / "vectors.npy"

    def start(self, job: Job) -> None:
        header, size = self._layout()
        with self.array.open("wb") as file:
            file.write(header)
            file.flush()
            _reserve(file.fileno(), len(header) + size)
        disk.flush(self.array)

    def _layout(self) -> tuple[bytes, int]:
        shape = self.read_from.shape
        dtype = np.dtype(shape.dtype)
        header = header_bytes((shape.rows, shape.dim), dtype)
        return header, shape.rows * shape.dim * dtype.itemsize

    def resume(self, entries: Any) -> None:
        header, size = self._layout()
        if not self.array.exists() or self.array.stat().st_size != len(header) + size:
            raise StoreError(
                f"{self.work.path}: what an earlier run left is damaged: remove that folder to "
                "start afresh"
            )

    def prepare(self, part: Part, chunk: Chunk, vectors: NDArray[Any]) -> Any:
        header, _ = self._layout()
        rows = np.ascontiguousarray(vectors, np.dtype(self.read_from.shape.dtype))
        with disk.writing(self.place):
            file = os.open(self.array, os.O_WRONLY)
            try:
                at = len(header) + part.start * rows.shape[1] * rows.itemsize
                disk.write_all(file, rows.reshape(-1).view(np.uint8).data, at)
            finally:
                os.close(file)
        return None

    def absorb(self, part: Part, prepared: Any) -> tuple[dict[str, Any], list[Path]]:
        return {}, [self.array]

    def written(self, part: Part, done: Done) -> NDArray[Any]:
        return self.source().read(part).vectors


def _reserve(file: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)
