"""A reduced basis, and with it the probes that are accepted: Babai's nearest plane decodes by it.

Acceptance is decided here (P25). So the reduction is pinned, and what it gave can be stored and is
recognised by a digest. It is public: the attacker has it, or a better one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from efface.errors import TemplateError
from efface.extras import need
from efface.hazmat import modular
from efface.hazmat.lattice import Lattice
from efface.hazmat.modular import Ints

Matrix = NDArray[np.float64]

DELTA, ETA = 0.99, 0.51
METHOD = f"lll delta={DELTA} eta={ETA}"
_DIGEST_BYTES = 16
_LOG_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class Basis:
    """Rows that generate a lattice, and the geometry that decoding needs.

    ``rows`` = ``mu`` times orthogonal vectors of the given ``lengths``, ``mu`` lower triangular
    with ones (Gram and Schmidt).
    """

    lattice: Lattice
    rows: Ints
    method: str = METHOD

    @cached_property
    def _orthogonal(self) -> tuple[Matrix, Matrix, Matrix]:
        q, r = np.linalg.qr(self.rows.T.astype(np.float64))
        lengths = np.diag(r).copy()  # with signs, which cancel in every product below
        with np.errstate(divide="ignore", invalid="ignore"):  # singular rows: ``check`` says so
            frame, mu = q / lengths, np.ascontiguousarray((r / lengths[:, None]).T)
        return frame, mu, np.abs(lengths)

    @property
    def frame(self) -> Matrix:
        """``x @ frame`` are the coordinates of x along the orthogonal vectors."""
        return self._orthogonal[0]

    @property
    def mu(self) -> Matrix:
        return self._orthogonal[1]

    @property
    def lengths(self) -> Matrix:
        return self._orthogonal[2]

    @cached_property
    def secrets(self) -> Ints:
        """The s of every row: what a combination of rows has as its secret."""
        return self.lattice.secrets(self.rows)

    @cached_property
    def digest(self) -> bytes:
        plain = np.ascontiguousarray(self.rows, "<i8").tobytes()
        return hashlib.blake2b(plain, digest_size=_DIGEST_BYTES, person=b"efface-basis").digest()

    def check(self) -> None:
        """Refuse rows that are not a basis of the lattice: in it, and of its volume q^(m - l)."""
        shape = self.lattice.shape
        right = self.rows.shape == (shape.m, shape.m) and bool(
            self.lattice.contains(self.rows).all()
        )
        with np.errstate(divide="ignore"):
            volume = float(np.log(self.lengths).sum()) if right else 0.0
        wanted = (shape.m - shape.l) * np.log(shape.q)
        if not right or not abs(volume - wanted) <= _LOG_SLACK * max(wanted, 1.0):
            raise TemplateError("the stored basis does not belong to its seed: reduce it again")

    def reach(self, differences: Matrix) -> Matrix:
        """The largest factor by which each row may grow and still decode to zero.

        Nearest plane decodes d to zero while every coordinate along an orthogonal vector is below
        one half, and it decodes c + d to c + (what it decodes d to): the cell is a box.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(0.5 / np.abs(differences @ self.frame).max(axis=-1))


def reduced(lattice: Lattice) -> Basis:
    """LLL in FLINT with delta and eta pinned: seconds at 180 dimensions (Lenstra, Lenstra and
    Lovasz, 1982)."""
    flint = need("flint", "templates")
    found = flint.fmpz_mat(lattice.basis().tolist()).lll(delta=DELTA, eta=ETA)
    rows = np.array([[int(x) for x in row] for row in found.tolist()], dtype=np.int64)
    return Basis(lattice, rows)


_BLOCK = 24
_CHUNK = 512


def nearest_plane(basis: Basis, targets: Ints) -> Ints:
    """The secrets of the lattice points that Babai's nearest plane gives, one row per target.

    Coordinates are rounded from the last to the first (Babai, Combinatorica 6, 1986); a block of
    them settled, one product carries it to all earlier ones. The combination of rows is never
    formed: its secret is the same combination of the rows' secrets, exactly.
    """
    q = basis.lattice.shape.q
    found = np.empty((len(targets), basis.lattice.shape.l), np.int64)
    for rows, steps in _steps(basis, targets):
        found[rows] = modular.matmul(steps % q, basis.secrets, q)
    return found


def nearest_point(basis: Basis, targets: Ints) -> Ints:
    """The lattice points themselves. What is left, target - point, is short for a right guess and
    long for a wrong one: who holds a sketch needs no hash to tell them apart."""
    found = np.empty_like(targets)
    for rows, steps in _steps(basis, targets):
        found[rows] = _combined(steps, basis.rows)
    return found


def _combined(steps: Ints, rows: Ints) -> Ints:
    """steps @ rows; in float64, thirty times as fast, where every sum on the way is exact there."""
    if not steps.size or float(np.abs(steps).max()) * np.abs(rows).max() * len(rows) < 2.0**53:
        return np.asarray(steps.astype(np.float64) @ rows.astype(np.float64), np.int64)
    return np.asarray(steps @ rows)


def _steps(basis: Basis, targets: Ints) -> Iterator[tuple[slice, Ints]]:
    """For each chunk of targets, how often each row of the basis is taken."""
    for start in range(0, len(targets), _CHUNK):
        rows = slice(start, start + _CHUNK)
        place = np.ascontiguousarray((targets[rows].astype(np.float64) @ basis.frame).T)
        yield rows, _rounded(basis.mu, place, len(basis.rows)).T.astype(np.int64)


def _rounded(mu: Matrix, place: Matrix, size: int) -> Matrix:
    """The integer steps along each row, from coordinates that are used up on the way."""
    for end in range(size, 0, -_BLOCK):
        start = max(0, end - _BLOCK)
        for i in range(end - 1, start - 1, -1):
            np.rint(place[i], out=place[i])
            place[start:i] -= mu[i, start:i, None] * place[i]
        if start:
            place[:start] -= mu[start:end, :start].T @ place[start:end]
    return place
