"""Rows in blocks that fit the cache, a thread for each core and one BLAS thread in each.

Many small products on one thread each beat one product on all: the passes over memory between the
products run in parallel too, and a BLAS whose threads wait for a busy core stands still.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from efface.threads import free_cores, one_blas_thread

ROWS = 640
"""Rows of a block: enough for a product to run at full speed, few enough for the passes between
products to find them in the cache."""


def each(work: Callable[[slice], None], rows: int) -> None:
    """``work`` on every block of ``rows`` rows; the error of the first bad block is raised."""
    blocks = list(slices(rows, ROWS))
    threads = min(free_cores(), len(blocks)) if len(blocks) > 1 else 1
    if threads < 2:
        for block in blocks:
            work(block)
        return
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, blocks):
            pass


def slices(rows: int, step: int) -> Iterator[slice]:
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


class Scratch(threading.local):
    """Arrays that a thread uses again for every block: the system clears fresh memory first."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[np.float64]] = {}

    def array(self, name: str, rows: int, columns: int) -> NDArray[np.float64]:
        held = self._held.get(name)
        if held is None or len(held) < rows or held.shape[1] != columns:
            held = self._held[name] = np.empty((rows, columns))
        return held[:rows]
