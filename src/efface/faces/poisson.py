"""Poisson blending: a region takes the gradients of another picture and its own picture's edge."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg

from efface.errors import DataError
from efface.faces.face import Points, Reals
from efface.faces.mask import Masks

_STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0))


def blended(source: Reals, target: Reals, mask: Masks, reach: float = np.inf) -> Points:
    """The picture f that solves laplace f = laplace source inside the mask and is the target
    outside (Perez et al. 2003). Where the mask meets the picture's edge f follows the source.

    With a finite ``reach``, in pixels, the equation is laplace (f - source) = (f - source) /
    reach^2: what the edge adds fades over that distance (screened Poisson, Bhat et al. 2008).
    Outside the mask the target's values are returned as given. Height x width x channels.
    """
    out = np.array(target, np.float64)
    if not mask.any():
        return out
    if mask.all():
        raise DataError("a mask of the whole picture leaves no edge to blend with: make it smaller")
    inside = np.asarray(source, np.float64)[mask]
    system, edge = _laplacian(mask, out - source)
    screened = sparse.csc_array(system + sparse.eye_array(len(inside)) / reach**2)
    symmetric = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
    factors = linalg.splu(screened, **symmetric)
    out[mask] = inside + factors.solve(edge)
    return out


def _laplacian(mask: Masks, difference: Points) -> tuple[Any, Points]:
    """The matrix over the mask's pixels, neighbours outside the picture left out, and for each
    pixel the sum of ``difference`` over its neighbours outside the mask."""
    pixels, size = np.argwhere(mask), int(mask.sum())
    number = np.full(mask.shape, -1)
    number[mask] = np.arange(size)
    degree, edge = np.zeros(size), np.zeros((size, difference.shape[2]))
    rows, columns = [], []
    for step in _STEPS:
        there = pixels + step
        near = ((there >= 0) & (there < mask.shape)).all(axis=1)
        y, x = there[near].T
        other, own = number[y, x], np.flatnonzero(near)
        degree += near
        rows.append(own[other >= 0])
        columns.append(other[other >= 0])
        edge[own[other < 0]] += difference[y[other < 0], x[other < 0]]
    links = _links(np.concatenate(rows), np.concatenate(columns), size)
    return sparse.csc_array(sparse.diags_array(degree) - links), edge


def _links(rows: NDArray[np.int64], columns: NDArray[np.int64], size: int) -> Any:
    return sparse.csc_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
