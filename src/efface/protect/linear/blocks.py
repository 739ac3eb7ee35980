"""Rows in blocks that fit the cache, a thread for each core and one BLAS thread in each.

Many small products on one thread each beat one product on all: the passes over memory between the
products run in parallel too, and a BLAS whose threads wait for a busy core stands still.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = 512
_LIMITING = Lock()


def each(work: Callable[[slice], None], rows: int) -> None:
    """``work`` on every block of ``rows`` rows; the error of the first bad block is raised."""
    blocks = [slice(start, min(start + ROWS, rows)) for start in range(0, rows, ROWS)]
    if len(blocks) < 2:
        for block in blocks:
            work(block)
        return
    with _one_blas_thread() as threads:
        if threads == 1:
            for block in blocks:
                work(block)
            return
        with ThreadPoolExecutor(min(threads, len(blocks))) as pool:
            for _ in pool.map(work, blocks):
                pass


def subtract_product(
    y: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64]
) -> None:
    """y -= left @ right' in place; ``right`` in Fortran order. A large one without a pass more."""
    if len(y) < 64:  # SciPy is not worth its import for a few rows
        y -= left @ right.T
        return
    from scipy.linalg.blas import dgemm

    # Seen from its transpose a row-major array is what BLAS calls its own, so nothing is copied.
    dgemm(-1.0, right, left.T, 1.0, y.T, overwrite_c=1)


@contextmanager
def _one_blas_thread() -> Iterator[int]:
    """How many threads of our own to use while BLAS is held to one in each."""
    controller = _controller()
    with _LIMITING:
        if all(pool["num_threads"] == 1 for pool in _blas(controller)):
            yield 1  # a worker among others: the cores are taken
            return
        with controller.limit(limits=1, user_api="blas"):
            yield _cores()


@cache
def _controller() -> Any:
    import scipy.linalg.blas  # noqa: F401  its BLAS has to be loaded to be held
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _blas(controller: Any) -> list[dict[str, Any]]:
    return [pool for pool in controller.info() if pool["user_api"] == "blas"]


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
