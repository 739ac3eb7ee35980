"""Exact arithmetic modulo a prime (P24): products in float32 would be wrong in every entry."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from efface.errors import PlanError

Ints = NDArray[np.int64]

LARGEST = 1 << 31
_EXACT_FLOAT = 1 << 53
_EXACT_INT = 1 << 63


def check_prime(q: int) -> None:
    """Solving modulo q needs inverses, so q is a prime; below 2^31 two residues fit in a word."""
    known = 2 <= q < LARGEST and all(q % p for p in range(2, math.isqrt(q) + 1))
    if not known:
        raise PlanError(f"the modulus {q} is no prime below 2^31: take one, for example 130003")


def matmul(a: Ints, b: Ints, q: int) -> Ints:
    """a b mod q of residues. In float64 while no sum can leave its 53 exact bits, else in parts."""
    inner = a.shape[-1]
    if inner * (q - 1) ** 2 < _EXACT_FLOAT:
        return np.rint(a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64) % q
    step = max(1, (_EXACT_INT - 1) // (q - 1) ** 2)
    total = np.zeros((*a.shape[:-1], *b.shape[1:]), np.int64)
    for start in range(0, inner, step):
        part = a[..., start : start + step] @ b[start : start + step]
        total = (total + part % q) % q
    return total


def inverse(matrix: Ints, q: int) -> Ints | None:
    """The inverse modulo the prime q by elimination; None for a singular matrix."""
    size = len(matrix)
    work = np.concatenate([matrix % q, np.eye(size, dtype=np.int64)], axis=1)
    for column in range(size):
        below = np.flatnonzero(work[column:, column])
        if not below.size:
            return None
        pivot = column + int(below[0])
        work[[column, pivot]] = work[[pivot, column]]
        work[column] = work[column] * pow(int(work[column, column]), -1, q) % q
        others = work[:, column].copy()
        others[column] = 0
        work = (work - others[:, None] * work[column] % q) % q
    return np.ascontiguousarray(work[:, size:])
