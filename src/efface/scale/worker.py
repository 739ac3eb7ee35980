"""A local worker process: what runs in it, and how the driver holds it.

Each worker has a pipe of its own. So the driver knows which item a dead worker was working on, no
other worker is disturbed by its death, and a worker whose driver is gone sees its pipe close and
ends: there are no orphans, whatever killed the driver.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any

import numpy as np

from efface.errors import EffaceError
from efface.scale.threads import one_blas_thread

TASK, ITEM = b"task", b"item"
READY = "ready"

# Spawned, not forked: a fork would copy the locks of Arrow's and BLAS's threads.
_SPAWN = get_context("spawn")


class Worker:
    """The driver's end: what the process was given and has not answered yet, oldest first."""

    def __init__(self) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()  # or its end would not be seen
        self.ready = False
        self.holds: deque[int] = deque()

    def adopt(self, packed_task: bytes) -> None:
        """Send the task itself, once for all of its items."""
        self.pipe.send_bytes(TASK)
        self.pipe.send_bytes(packed_task)

    def give(self, index: int, item: Any) -> None:
        packed = pack(item)
        self.holds.append(index)
        self.pipe.send_bytes(ITEM)
        self.pipe.send_bytes(packed)

    def answer(self) -> tuple[bool, Any] | None:
        """(went well, result or error) of its oldest item; None where it reports for duty.

        EOFError or OSError where it is dead.
        """
        said = self.pipe.recv_bytes()
        try:
            found = ForkingPickler.loads(said)
        except Exception as error:
            return False, error
        if found == READY:
            self.ready = True
            return None
        went_well, value = found
        return bool(went_well), value

    def buried(self) -> int:
        """Wait for the process to be gone, or make it go; its exit code."""
        self.pipe.close()
        self.process.join(timeout=5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        code = self.process.exitcode
        self.process.close()
        return 0 if code is None else code

    def kill(self) -> None:
        self.process.kill()
        self.buried()


def pack(value: Any) -> bytes:
    """Bytes for the pipe; they are never written anywhere else."""
    return bytes(ForkingPickler.dumps(value))


# --- in the worker process --------------------------------------------------------------------


def serve(pipe: Connection[Any, Any]) -> None:
    """Run the task on one item after another until the driver's end of the pipe closes."""
    # Ctrl-C reaches every process of a terminal; the driver decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # For a BLAS that is loaded later; the one that NumPy has loaded is limited below.
    os.environ.update({"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
    orders: SimpleQueue[tuple[bytes, bytes]] = SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, orders), daemon=True).start()
    np.ones((2, 2)) @ np.ones((2, 2))
    task: Callable[[Any], Any] = _no_task
    with one_blas_thread():
        _say(pipe, pack(READY))
        while True:
            kind, packed = orders.get()
            if kind == TASK:
                task = _unpacked(packed)
            else:
                _say(pipe, _answer(task, packed))


def _listen(pipe: Connection[Any, Any], orders: SimpleQueue[tuple[bytes, bytes]]) -> None:
    """Always ready to read, so that the driver never waits for a worker that waits for it."""
    try:
        while True:
            orders.put((pipe.recv_bytes(), pipe.recv_bytes()))
    except (EOFError, OSError):
        os._exit(0)  # the driver is gone, or needs this process no more


def _say(pipe: Connection[Any, Any], packed: Any) -> None:
    try:
        pipe.send_bytes(packed)
    except OSError:
        os._exit(0)


def _answer(task: Callable[[Any], Any], packed: bytes) -> Any:
    try:
        # No copy: a result may be as large as a part.
        return ForkingPickler.dumps((True, task(ForkingPickler.loads(packed))))
    except Exception as error:
        error.add_note("in a worker process:\n" + traceback.format_exc())
        return _packed_error(error)


def _packed_error(error: Exception) -> bytes:
    """The error as it is if it survives the pipe, else what it says."""
    try:
        packed = pack((False, error))
        ForkingPickler.loads(packed)
        return packed
    except Exception:
        return pack((False, EffaceError(f"{type(error).__name__}: {error}")))


def _unpacked(packed: bytes) -> Callable[[Any], Any]:
    try:
        task: Callable[[Any], Any] = ForkingPickler.loads(packed)
    except Exception as error:
        return _Unusable(error)
    return task


class _Unusable:
    """A task that cannot be unpacked here: every item says why."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, item: Any) -> Any:
        raise self.error


def _no_task(item: Any) -> Any:
    raise EffaceError("a worker got an item before it got a task")
