"""One BLAS thread inside tasks: the bits of a product depend on how many threads share it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl

_lock = threading.Lock()
_inside = 0
_first: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS runs on one thread until the last task inside this process is done.

    The limit of most BLAS builds belongs to the process, and a Dask worker may run several tasks
    at once: they share it, or the first to end would lift it under the others.
    """
    mine, own = _enter()
    try:
        yield
    finally:
        _leave(mine, own)


def _enter() -> tuple[Any, Any]:
    """Limits of the process, and those that this thread alone has and has to lift itself."""
    global _inside, _first
    import scipy.linalg.blas  # noqa: F401  SciPy brings a BLAS of its own: loaded, it can be held

    with _lock:
        _anyone_may_set()
        blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
        own = blas.select(threading_layer="openmp").limit(limits=1)
        mine = blas.limit(limits=1)
        _anyone_may_set()
        _first = _first if _inside else mine
        _inside += 1
    return mine, own


def _leave(mine: Any, own: Any) -> None:
    global _inside, _first
    with _lock:
        _inside -= 1
        _anyone_may_set()
        if mine is not _first:
            mine.restore_original_limits()  # of a library that was loaded since the first came
        if not _inside:
            _first.restore_original_limits()
            _first = None
        own.restore_original_limits()
        _anyone_may_set()


def _anyone_may_set() -> None:
    """Newer versions of threadpoolctl let only the thread that came first change the limit, and
    in silence leave it as it is for all others: a task would run on many threads."""
    controller = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
