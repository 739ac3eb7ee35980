"""Reduced bases prepared beforehand, in a folder: an enrolment takes one and does not wait.

``ready`` holds bases nobody has, ``used`` those of templates. Taking one is a rename, which only
one of two processes can win. A worker process of its own keeps ``ready`` full: LLL would hold up
every thread of this one.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, Self

from efface.errors import DataError, EffaceWarning, PlanError, TemplateError
from efface.extras import need
from efface.hazmat.expand import SEED_BYTES
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis, reduced
from efface.protect.template.bases import Memory
from efface.protect.template.basis_file import read_basis, write_basis

Entropy = Callable[[int], bytes]

_SPAWN = get_context("spawn")
_LOOK_AGAIN = 0.25


class Pool:
    """Bases of one shape in ``folder``; with ``size`` of them ready after the worker has run.

    ``start`` begins to fill in the background, ``close`` ends that; as a context manager it does
    both. ``prepare`` fills here and now. When nothing is ready, ``empty="reduce"`` reduces one for
    the enrolment, which then takes seconds, and says so; ``"refuse"`` is a TemplateError at once.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        shape: Shape,
        *,
        size: int = 8,
        empty: Literal["reduce", "refuse"] = "reduce",
        entropy: Entropy = os.urandom,
    ) -> None:
        shape.check()
        if size < 1 or empty not in ("reduce", "refuse"):
            raise PlanError("a pool takes a size above zero, and empty is 'reduce' or 'refuse'")
        self.shape, self.size, self.empty, self.entropy = shape, size, empty, entropy
        self.folder = Path(folder) / f"{shape.m}-{shape.l}-{shape.q}"
        self.memory = Memory()
        self._worker: BaseProcess | None = None
        self._line: Connection[Any, Any] | None = None
        for part in (self._ready, self._used):
            _make(part)

    @property
    def _ready(self) -> Path:
        return self.folder / "ready"

    @property
    def _used(self) -> Path:
        return self.folder / "used"

    # --- giving -----------------------------------------------------------------------------

    def fresh(self, shape: Shape, seed: bytes) -> Basis:
        """A prepared basis that no template has. Its seed is the pool's, not the one given."""
        if shape != self.shape:
            raise PlanError(f"this pool prepares {self.shape}, asked for was {shape}")
        while (name := next(iter(self.waiting()), None)) is not None:
            basis = self._take(name)
            if basis is not None:
                return self.memory.remember(basis)
        if self.empty == "refuse":
            raise TemplateError(
                "no prepared basis is ready: try again in some seconds, make the pool larger, or "
                "let it reduce when it is empty"
            )
        warnings.warn(
            "no prepared basis is ready: this enrolment waits for a reduction; make the pool "
            "larger, or start its worker",
            EffaceWarning,
            stacklevel=5,
        )
        return self._keep(reduced(Lattice(shape, seed)))

    def known(self, lattice: Lattice, digest: bytes) -> Basis:
        """From memory, from the folder, or reduced again: the one at enrolment if it is there."""
        basis = self.memory.remembered(lattice)
        if basis is not None:
            return basis
        path = self._used / _name(lattice.seed)
        stored = _read(path) if path.is_file() else None
        if stored is not None and stored.lattice == lattice and stored.digest == digest:
            return self.memory.remember(stored)
        return self._keep(reduced(lattice))

    def waiting(self) -> list[str]:
        """Names of the bases that are ready."""
        return sorted(path.name for path in self._ready.glob("*.npz"))

    def _take(self, name: str) -> Basis | None:
        """Move one out of reach of everybody else; None if another was first or it is damaged."""
        path = self._used / name
        try:
            os.rename(self._ready / name, path)
        except FileNotFoundError:
            return None
        basis = _read(path)
        if basis is None or _name(basis.lattice.seed) != name or basis.lattice.shape != self.shape:
            path.unlink(missing_ok=True)
            return None
        return basis

    def _keep(self, basis: Basis) -> Basis:
        write_basis(self._used / _name(basis.lattice.seed), basis)
        return self.memory.remember(basis)

    # --- filling ----------------------------------------------------------------------------

    def prepare(self, count: int | None = None) -> int:
        """Reduce here until ``count`` (default: ``size``) are ready; how many that took."""
        made = 0
        while len(self.waiting()) < (self.size if count is None else count):
            add_one(self._ready, self.shape, self.entropy)
            made += 1
        return made

    def start(self) -> Self:
        """Fill in the background until ``close``, or until this process is gone."""
        if self._worker is None:
            need("flint", "templates")  # missed here and not in a process that nobody watches
            self._line, theirs = _SPAWN.Pipe()
            arguments = (theirs, self._ready, self.shape, self.size, self.entropy)
            self._worker = _SPAWN.Process(target=keep_full, args=arguments, daemon=True)
            self._worker.start()
            theirs.close()  # or the worker would not see ours close
        return self

    def close(self) -> None:
        """End the worker; a basis that it is busy with is lost, files stay whole."""
        if self._worker is None or self._line is None:
            return
        self._line.close()
        self._worker.terminate()
        self._worker.join()
        self._worker, self._line = None, None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()


def add_one(ready: Path, shape: Shape, entropy: Entropy) -> None:
    basis = reduced(Lattice(shape, entropy(SEED_BYTES)))
    write_basis(ready / _name(basis.lattice.seed), basis)


def keep_full(
    line: Connection[Any, Any], ready: Path, shape: Shape, size: int, entropy: Entropy
) -> None:
    """The worker's life: fill, look again, and end when nobody is at the other end of the line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it too; its owner decides
    while not line.poll(_LOOK_AGAIN):  # a closed line is ready to be read, and holds nothing
        while len(list(ready.glob("*.npz"))) < size and not line.poll(0):
            add_one(ready, shape, entropy)


def wait_until_ready(pool: Pool, count: int, seconds: float) -> bool:
    """Whether ``count`` bases were ready within the time: for start-up and for tests."""
    end = time.monotonic() + seconds
    while len(pool.waiting()) < count:
        if time.monotonic() > end:
            return False
        time.sleep(_LOOK_AGAIN / 5)
    return True


def _name(seed: bytes) -> str:
    return f"{seed.hex()}.npz"


def _read(path: Path) -> Basis | None:
    try:
        return read_basis(path)
    except TemplateError:
        return None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made ({error.strerror}): choose another") from error
