"""What runs on Dask workers. Imported only once ``distributed`` is known to be there.

The task itself (an eraser, a source, a sink) goes to every worker once, as a worker plugin: also
to workers that join later or come back after a death. Items then travel alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distributed import Reschedule, Worker, WorkerPlugin, get_worker

from efface._version import __version__
from efface.errors import StoreError
from efface.scale.threads import one_blas_thread


class Carrier(WorkerPlugin):
    """Holds a task on a worker."""

    def __init__(self, name: str, task: Callable[[Any], Any]) -> None:
        self.name = name
        self.task = task
        self.version = __version__

    def setup(self, worker: Worker) -> None:
        del worker
        self.check()

    def check(self) -> None:
        if self.version != __version__:
            raise StoreError(
                f"a Dask worker has efface {__version__}, this process {self.version}: install "
                "the same version everywhere"
            )


def work(name: str, item: Any) -> Any:
    """The carried task on one item, with one BLAS thread."""
    carrier = get_worker().plugins.get(name)
    if not isinstance(carrier, Carrier):
        raise Reschedule  # it joined a moment ago and has not got its plugins yet
    carrier.check()
    with one_blas_thread():
        return carrier.task(item)


def installed() -> dict[str, str]:
    """Versions that decide about results, as a worker has them."""
    import platform

    import numpy as np

    return {"efface": __version__, "numpy": np.__version__, "python": platform.python_version()}
