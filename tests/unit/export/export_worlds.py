"""Random erasers of every kind, and vectors for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from efface.protect.linear.eraser import LinearEraser

KINDS = ("orthogonal", "centred", "whitened", "oblique")


def eraser(
    kind: str = "orthogonal", *, dim: int = 16, rank: int = 5, normalise: bool = True, seed: int = 0
) -> LinearEraser:
    """``whitened`` is oblique without a mean, ``oblique`` has one, as LEACE does."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    mean = rng.standard_normal(dim) / dim if kind in ("centred", "oblique") else None
    if kind in ("orthogonal", "centred"):
        return LinearEraser(basis, mean=mean, normalise=normalise, method=kind)
    spread = np.linalg.qr(rng.standard_normal((dim, dim)))[0] * np.geomspace(1, 3, dim)
    left, right = spread @ basis, np.linalg.inv(spread).T @ basis
    return LinearEraser(left, right, mean, normalise, method=kind)


@st.composite
def erasers(draw: Any) -> LinearEraser:
    """All kinds, ranks 1 .. d - 1, with unit length and without."""
    dim = draw(st.sampled_from([2, 3, 17, 64]))
    return eraser(
        draw(st.sampled_from(KINDS)),
        dim=dim,
        rank=draw(st.integers(1, dim - 1)),
        normalise=draw(st.booleans()),
        seed=draw(st.integers(0, 1000)),
    )


def vectors(eraser: LinearEraser, rows: int = 30, dtype: Any = np.float32) -> NDArray[Any]:
    """Vectors of no particular length, none of them so close to nothing that Python refuses it."""
    rng = np.random.default_rng(1)
    found = (2 * rng.standard_normal((2 * rows + 10, eraser.dim))).astype(dtype)
    unit = found.astype(np.float64) / np.linalg.norm(found.astype(np.float64), axis=1)[:, None]
    left = np.linalg.norm(eraser.project(unit), axis=1)
    return found[left > 0.02][:rows]


def distances(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    return np.linalg.norm(one.astype(np.float64) - other.astype(np.float64), axis=1)


def removed_row(eraser: LinearEraser) -> NDArray[np.float32]:
    """A vector of which nothing is left but rounding: Python refuses it."""
    return eraser.basis[:, :1].T.astype(np.float32)
