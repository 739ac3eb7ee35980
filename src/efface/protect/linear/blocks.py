"""Rows in blocks that fit the cache, a thread for each core and one BLAS thread in each.

Many small products on one thread each beat one product on all: the passes over memory between the
products run in parallel too, and a BLAS whose threads wait for a busy core stands still.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from efface.threads import free_cores, one_blas_thread

ROWS = 512


def each(work: Callable[[slice], None], rows: int) -> None:
    """``work`` on every block of ``rows`` rows; the error of the first bad block is raised."""
    blocks = [slice(start, min(start + ROWS, rows)) for start in range(0, rows, ROWS)]
    threads = min(free_cores(), len(blocks)) if len(blocks) > 1 else 1
    if threads < 2:
        for block in blocks:
            work(block)
        return
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
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
