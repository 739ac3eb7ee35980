"""Digests of vectors: by part, and of all parts in their order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def of_vectors(vectors: NDArray[Any]) -> str:
    """SHA-256 of the rows' bytes, little-endian and in C order, in the type they have."""
    plain = np.ascontiguousarray(vectors, vectors.dtype.newbyteorder("<"))
    return hashlib.sha256(plain.reshape(-1).view(np.uint8).data).hexdigest()


def of_parts(digests: Iterable[str]) -> str:
    """SHA-256 over the digests of the parts, in the order of the parts."""
    sha = hashlib.sha256()
    for digest in digests:
        sha.update(bytes.fromhex(digest))
    return sha.hexdigest()
