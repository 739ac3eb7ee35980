"""The q-ary lattice of a public matrix: L(A) = { v in Z^m : v = A s mod q for some s } (paper,
section B.2), and its bases.

A is m x l and expanded from a seed, so a template stores 32 bytes instead of m l residues (P24).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from efface.errors import PlanError, TemplateError
from efface.hazmat import modular
from efface.hazmat.expand import SEED_BYTES, residues
from efface.hazmat.modular import Ints

_ATTEMPTS = 16


@dataclass(frozen=True)
class Shape:
    """m coordinates, l of them free, modulo the prime q."""

    m: int
    l: int  # noqa: E741  the paper's letter
    q: int

    def check(self) -> None:
        if not all(type(n) is int for n in (self.m, self.l, self.q)):
            raise PlanError(f"a lattice takes whole numbers, not {self.m}, {self.l} and {self.q}")
        modular.check_prime(self.q)
        if not 0 < self.l < self.m:
            raise PlanError(
                f"a lattice of {self.m} dimensions with l = {self.l}: l lies between 1 and m - 1"
            )

    @property
    def shortest(self) -> float:
        """Expected length of the shortest vector: sqrt(m / 2 pi e) q^(1 - l/m) (Theorem 12)."""
        return float(np.sqrt(self.m / (2 * np.pi * np.e)) * self.q ** (1 - self.l / self.m))


@dataclass(frozen=True)
class Lattice:
    """L(A) for the matrix that a seed expands to.

    The matrix is the first under counters 0, 1, ... whose upper l x l block is invertible: then a
    point's first l coordinates tell its s, and no two s share a point.
    """

    shape: Shape
    seed: bytes

    def __post_init__(self) -> None:
        self.shape.check()
        if len(self.seed) != SEED_BYTES:
            raise TemplateError(f"the seed of a lattice has {SEED_BYTES} bytes")

    @cached_property
    def _expanded(self) -> tuple[Ints, Ints]:
        m, l, q = self.shape.m, self.shape.l, self.shape.q  # noqa: E741
        for counter in range(_ATTEMPTS):
            matrix = residues(self.seed, f"lattice {counter}", (m, l), q)
            inverse = modular.inverse(matrix[:l], q)
            if inverse is not None:
                return matrix, inverse
        raise TemplateError(
            f"{_ATTEMPTS} matrices in a row under one seed are singular modulo {q}: take another "
            "seed, or a larger modulus"
        )

    @property
    def matrix(self) -> Ints:
        return self._expanded[0]

    def points(self, secrets: Ints) -> Ints:
        """A s mod q for one s or a row each, in [0, q)."""
        return modular.matmul(secrets, self.matrix.T, self.shape.q)

    def secrets(self, points: Ints) -> Ints:
        """The s of points of the lattice, from their first l coordinates."""
        q, top = self.shape.q, points[..., : self.shape.l]
        return modular.matmul(top % q, self._expanded[1].T, q)

    def contains(self, points: Ints) -> NDArray[np.bool_]:
        """Which vectors belong to the lattice."""
        again = self.points(self.secrets(points))
        return np.asarray((again == points % self.shape.q).all(axis=-1))

    def basis(self) -> Ints:
        """Rows (e_i, column i of A A_top^-1) and (0, q e_j): a basis, nothing reduced."""
        m, l, q = self.shape.m, self.shape.l, self.shape.q  # noqa: E741
        rows = q * np.eye(m, dtype=np.int64)
        rows[:l] = modular.matmul(self.matrix, self._expanded[1], q).T
        return rows
