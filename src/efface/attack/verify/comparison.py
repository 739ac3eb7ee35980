"""What the rungs of the ladder share: unit comparison vectors and per-person sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from efface.types import Claim, Codes

_CHUNK = 16384


def unit_claim(vectors: NDArray[Any]) -> Claim:
    """Comparison vectors of unit length. A row without direction gets a neutral one.

    An all-zero row carries no claim; the constant vector scores alike against everybody.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    dead = ~(norms > 0)
    if dead.any():
        vectors = vectors.copy()
        vectors[dead] = 1.0
        norms[dead] = np.sqrt(vectors.shape[1])
    return Claim((vectors / norms[:, None]).astype(np.float32))


def linear_claim(
    data: NDArray[Any], mean: NDArray[np.float64], weights: NDArray[np.float64]
) -> Claim:
    """(z - mean) W, in float64: erased directions must not come back as rounding residue."""
    out = np.empty((len(data), weights.shape[1]), np.float32)
    for start in range(0, len(data), _CHUNK):
        block = data[start : start + _CHUNK].astype(np.float64) - mean
        out[start : start + _CHUNK] = unit_claim(block @ weights).vectors
    return Claim(out)


def class_sums(
    x: NDArray[np.float64], codes: Codes
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(C x d) sums and C counts per person, from integer codes, never one-hot (P2)."""
    people, inverse = np.unique(codes, return_inverse=True)
    member = sparse.csr_matrix(
        (np.ones(len(codes)), (inverse, np.arange(len(codes)))), shape=(len(people), len(codes))
    )
    return np.asarray(member @ x), np.bincount(inverse).astype(np.float64)
