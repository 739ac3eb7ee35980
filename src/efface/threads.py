"""Who may use the cores: BLAS with all of them, or threads of ours with one BLAS thread in each."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_inside = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS runs on one thread until the last body of this kind in the process is done.

    The limit belongs to the process: bodies in several threads share it, or the first to end
    would lift it under the others. The bits of a product depend on how many threads share it.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def free_cores() -> int:
    """Threads that a computation may start: 1 where BLAS is held to one, for the cores are taken
    then by other workers or threads; else as many as there are cores."""
    held = all(pool["num_threads"] == 1 for pool in _controller().info() if _is_blas(pool))
    return 1 if held else cores()


def cores() -> int:
    """Cores this process may use, which in a container are fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _enter() -> None:
    global _inside, _limits
    with _lock:
        if not _inside:
            _limits = _controller().limit(limits=1, user_api="blas")
        _inside += 1


def _leave() -> None:
    global _inside, _limits
    with _lock:
        _inside -= 1
        if not _inside:
            _limits.restore_original_limits()
            _limits = None


@cache
def _controller() -> Any:
    import scipy.linalg.blas  # noqa: F401  SciPy brings a BLAS of its own: loaded, it can be held
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _is_blas(pool: dict[str, Any]) -> bool:
    return bool(pool["user_api"] == "blas")
