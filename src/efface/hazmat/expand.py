"""One seed, many streams: SHAKE-256 (FIPS 202) under labels that cannot run into each other (P24).

What comes out is part of stored templates: it must be the same on every machine and for ever, so
nothing here may depend on a version of NumPy.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

SEED_BYTES = 32
_WORD = 1 << 32


def stream(seed: bytes, label: str, size: int) -> bytes:
    """The first ``size`` bytes of the stream of this seed and label."""
    name = label.encode()
    prefix = len(name).to_bytes(2, "little") + name
    return hashlib.shake_256(prefix + seed).digest(size)


def residues(seed: bytes, label: str, shape: tuple[int, ...], q: int) -> NDArray[np.int64]:
    """Uniform residues modulo q, 1 < q < 2^31, from 32-bit words.

    Words from the last, incomplete multiple of q on are skipped, or small residues would be
    likelier than large ones.
    """
    wanted, limit = math.prod(shape), _WORD - _WORD % q
    words = math.ceil(wanted * _WORD / limit) + 16
    while True:
        drawn = np.frombuffer(stream(seed, label, 4 * words), "<u4")
        kept = drawn[drawn < limit] if limit < _WORD else drawn
        if len(kept) >= wanted:
            return (kept[:wanted].astype(np.int64) % q).reshape(shape)
        words += words // 4  # a longer digest begins with the shorter one


def gaussians(seed: bytes, label: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Independent standard normal numbers, two from each pair of uniform ones (Box and Muller)."""
    pairs = -(-math.prod(shape) // 2)
    words = np.frombuffer(stream(seed, label, 16 * pairs), "<u8").reshape(2, pairs)
    radius, angle = ((words >> np.uint64(11)) + 0.5) * 2.0**-53
    length = np.sqrt(-2 * np.log(radius))
    both = np.stack([length * np.cos(2 * np.pi * angle), length * np.sin(2 * np.pi * angle)])
    return both.T.reshape(-1)[: math.prod(shape)].reshape(shape)
