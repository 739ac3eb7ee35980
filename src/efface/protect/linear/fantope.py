"""The Fantope: the convex hull of the rank-k orthogonal projections, and the way onto it."""

from __future__ import annotations

import numpy as np

from efface.protect.linear.moments import Matrix


def onto_fantope(matrix: Matrix, k: int) -> tuple[Matrix, Matrix]:
    """The nearest P with 0 <= P <= I and trace k, and its k leading eigenvectors.

    Exact: the eigenvectors stay, the eigenvalues go onto the capped simplex (Vu, Cho, Lei and
    Rohe, Fantope projection and selection, NIPS 2013, lemma 4.1).
    """
    values, vectors = np.linalg.eigh(matrix)
    capped = onto_capped_simplex(values, k)
    return (vectors * capped) @ vectors.T, vectors[:, ::-1][:, :k]


def onto_capped_simplex(values: Matrix, k: int) -> Matrix:
    """The nearest w with 0 <= w <= 1 and sum k, which is clip(values - t, 0, 1) for one t.

    The sum falls in t along straight pieces that meet where an entry reaches 0 or 1; t lies on
    the piece that crosses k.
    """
    if k >= len(values):
        return np.ones(len(values))
    bends = np.sort(np.concatenate([values, values - 1]))
    sums = np.clip(values[None] - bends[:, None], 0, 1).sum(axis=1)
    right = int(np.searchsorted(-sums, -float(k)))
    if right == 0 or sums[right] == k:
        return np.asarray(np.clip(values - bends[right], 0, 1))
    fall = sums[right - 1] - sums[right]
    t = bends[right - 1] + (bends[right] - bends[right - 1]) * (sums[right - 1] - k) / fall
    return np.asarray(np.clip(values - t, 0, 1))
