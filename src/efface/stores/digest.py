"""Digests of vectors: by part, and of all parts in their order.

BLAKE3, not SHA-256: every vector is hashed as it was and as it is, and at a gigabyte a second a
digest would cost as much as the erasure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray


def of_vectors(vectors: NDArray[Any]) -> str:
    """BLAKE3 of the rows' bytes, little-endian and in C order, in the type they have."""
    plain = np.ascontiguousarray(vectors, vectors.dtype.newbyteorder("<"))
    return blake3(plain.reshape(-1).view(np.uint8).data).hexdigest()


def of_parts(digests: Iterable[str]) -> str:
    """BLAKE3 over the digests of the parts, in the order of the parts."""
    whole = blake3()
    for digest in digests:
        whole.update(bytes.fromhex(digest))
    return whole.hexdigest()
