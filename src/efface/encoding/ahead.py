"""Results fetched in a thread while the one before is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_DEPTH = 2


@contextmanager
def ahead(results: Iterator[T]) -> Iterator[Iterator[T]]:
    """The same results in the same order, up to two of them fetched in advance.

    A worker that has a batch ready waits until somebody takes it; without this it would wait for
    the network, and the network then for it.
    """
    fetched: queue.Queue[tuple[str, Any]] = queue.Queue(_DEPTH)
    stopped = threading.Event()
    thread = threading.Thread(target=_fetch, args=(results, fetched, stopped), daemon=True)
    thread.start()
    try:
        yield _taken(fetched)
    finally:
        stopped.set()
        while thread.is_alive():
            _emptied(fetched)
            thread.join(0.05)


def _fetch(results: Iterator[T], fetched: queue.Queue[tuple[str, Any]], stopped: Any) -> None:
    try:
        for result in results:
            fetched.put(("result", result))
            if stopped.is_set():
                return
        fetched.put(("end", None))
    except BaseException as error:  # raised again where the results are used
        fetched.put(("error", error))
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            close()


def _taken(fetched: queue.Queue[tuple[str, Any]]) -> Iterator[Any]:
    while True:
        kind, value = fetched.get()
        if kind == "end":
            return
        if kind == "error":
            raise value
        yield value


def _emptied(fetched: queue.Queue[tuple[str, Any]]) -> None:
    """Room for a thread that waits to put its last result."""
    while not fetched.empty():
        fetched.get_nowait()
