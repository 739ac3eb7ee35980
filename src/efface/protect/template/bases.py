"""Where reduced bases come from: made when they are needed, shared, or prepared (see ``pool``).

LLL of a basis takes seconds at 180 dimensions, a decoding with it a millisecond. A basis is public
and decided by its seed, so whatever was reduced once is remembered.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from efface.errors import PlanError
from efface.hazmat.expand import SEED_BYTES, stream
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis, reduced


@runtime_checkable
class Bases(Protocol):
    """Gives bases to a scheme."""

    def fresh(self, shape: Shape, seed: bytes) -> Basis:
        """A basis for an enrolment: a prepared one, or that of ``seed``."""
        ...

    def known(self, lattice: Lattice, digest: bytes) -> Basis:
        """The basis of a template; ``digest`` is that of the basis at enrolment."""
        ...


class Memory:
    """Bases reduced when they are needed; the ``size`` last used are remembered.

    A basis of 180 dimensions takes about 1 MB. ``reduce`` is LLL; an audit may put a stronger
    reduction in its place.
    """

    def __init__(self, size: int = 64, reduce: Callable[[Lattice], Basis] = reduced) -> None:
        if size < 1:
            raise PlanError(f"a memory of {size} bases: give a number above zero")
        self.size = size
        self.reduce = reduce
        self._held: OrderedDict[Lattice, Basis] = OrderedDict()
        self._lock = threading.Lock()

    def fresh(self, shape: Shape, seed: bytes) -> Basis:
        return self.known(Lattice(shape, seed), b"")

    def known(self, lattice: Lattice, digest: bytes) -> Basis:
        basis = self.remembered(lattice)
        return basis if basis is not None else self.remember(self.reduce(lattice))

    def remembered(self, lattice: Lattice) -> Basis | None:
        with self._lock:
            if lattice not in self._held:
                return None
            self._held.move_to_end(lattice)
            return self._held[lattice]

    def remember(self, basis: Basis) -> Basis:
        with self._lock:
            self._held[basis.lattice] = basis
            self._held.move_to_end(basis.lattice)
            while len(self._held) > self.size:
                self._held.popitem(last=False)
        return basis

    def __deepcopy__(self, memo: dict[int, object]) -> Memory:
        return self  # what it holds never changes, only whether it is held


class Shared(Memory):
    """A few bases for everybody: to measure thousands of people without thousands of reductions.

    People share a matrix and not a secret. A thief then reduces once for all of them, so a service
    takes a matrix for each person.
    """

    def __init__(self, count: int = 4, reduce: Callable[[Lattice], Basis] = reduced) -> None:
        super().__init__(max(count, 1), reduce)
        self.count = max(count, 1)

    def fresh(self, shape: Shape, seed: bytes) -> Basis:
        number = int.from_bytes(seed[:8], "little") % self.count
        one = stream(number.to_bytes(SEED_BYTES, "little"), "shared basis", SEED_BYTES)
        return self.known(Lattice(shape, one), b"")


MEMORY = Memory()
"""What schemes use unless they are given something else."""
