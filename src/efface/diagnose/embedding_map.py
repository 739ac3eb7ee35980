"""A 2-D map of a few hundred embeddings: exact t-SNE in NumPy.

scikit-learn has a t-SNE, but it is an extra and the map belongs to every report; at this size the
exact quadratic form (van der Maaten and Hinton 2008) is a second's work and needs no tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError

Matrix = NDArray[np.float64]

LARGEST = 1000
"""Memory and time grow with the square: draw a subset with :func:`choose_people` instead."""
_EARLY, _EARLY_STEPS = 12.0, 250
_TINY = np.finfo(np.float64).tiny


def embedding_map(
    vectors: NDArray[Any],
    person: NDArray[np.integer[Any]],
    rng: np.random.Generator,
    perplexity: float | None = None,
    steps: int = 750,
) -> tuple[Matrix, Matrix]:
    """x and y of every row, near where cosine similarity is high.

    ``person`` is only checked against the rows: a map that knew who is who could invent the
    clusters it is meant to show. ``perplexity`` is min(30, (n - 1) / 3) unless given.
    """
    n = len(vectors)
    if not 4 <= n <= LARGEST or len(person) != n:
        raise DataError(
            f"a map takes 4 to {LARGEST} vectors with a person each, got {n} and {len(person)}: "
            "choose rows with choose_people"
        )
    distance = cosine_distances(vectors)
    wanted = min(30.0, (n - 1) / 3) if perplexity is None else perplexity
    if not 1 <= wanted <= n - 1:
        raise DataError(f"perplexity {wanted} must lie between 1 and {n - 1} for {n} vectors")
    conditional = calibrate(distance, wanted)
    joint = (conditional + conditional.T) / (2 * n)
    y = _descend(joint, _principal_axes(vectors, rng), steps)
    return y[:, 0], y[:, 1]


def cosine_distances(vectors: NDArray[Any]) -> Matrix:
    """1 - cosine of all pairs, which is half the squared distance of the unit vectors."""
    x = vectors.astype(np.float64)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    bad = np.flatnonzero(~((length > 0) & (length < np.inf)))
    if len(bad):
        raise DataError(f"map: vector {bad[0]} is zero or not finite: leave it out")
    x = x / length
    return np.asarray(np.maximum(1.0 - x @ x.T, 0.0))


def calibrate(distance: Matrix, perplexity: float, halvings: int = 64) -> Matrix:
    """p(j|i) proportional to exp(-b_i d_ij), every row with entropy log(perplexity).

    Bisection on log b, all rows at once, within e^-40 ... e^40 over the mean distance; a row
    that no b can satisfy (all others equally far) ends uniform over them.
    """
    n = len(distance)
    apart = np.where(np.eye(n, dtype=bool), np.inf, distance - _nearest(distance))
    scale = -np.log(np.maximum(distance.sum(axis=1) / (n - 1), 1e-12))
    low, high = scale - 40.0, scale + 40.0
    for _ in range(halvings):
        middle = (low + high) / 2
        wide = _entropy(_softmin(apart, middle)) > np.log(perplexity)
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    return _softmin(apart, (low + high) / 2)


def _nearest(distance: Matrix) -> Matrix:
    """Each row's smallest distance to another: subtracted, no row underflows to all zeros."""
    off = distance.copy()
    np.fill_diagonal(off, np.inf)
    return np.asarray(off.min(axis=1, keepdims=True))


def _softmin(apart: Matrix, log_precision: Matrix) -> Matrix:
    p = np.exp(-np.exp(log_precision)[:, None] * apart)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _entropy(p: Matrix) -> Matrix:
    return np.asarray(-(p * np.log(np.maximum(p, _TINY))).sum(axis=1))


def _principal_axes(vectors: NDArray[Any], rng: np.random.Generator) -> Matrix:
    """Start from the first two principal components, signs fixed, tiny as t-SNE wants it.

    A trace of noise parts rows that are equal: no force would ever move them apart.
    """
    x = vectors.astype(np.float64)
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    y = np.zeros((len(x), 2))
    y[:, : min(2, len(s))] = (u * s)[:, :2]
    peak = np.abs(y).argmax(axis=0)
    y *= np.where(y[peak, [0, 1]] < 0, -1.0, 1.0)
    spread = y[:, 0].std()
    y *= 1e-4 / spread if spread > 0 else 0.0
    return np.asarray(y + 1e-6 * rng.standard_normal(y.shape))


def objective(joint: Matrix, y: Matrix) -> tuple[float, Matrix]:
    """KL(P || Q) with Student-t Q, and its gradient 4 sum_j (p - q)(y_i - y_j) / (1 + d2)."""
    kernel, total = _student(y)
    q = np.maximum(kernel / total, _TINY)
    loss = float((joint * np.log(np.maximum(joint, _TINY) / q)).sum())
    return loss, _gradient(joint, y, kernel, total)


def _student(y: Matrix) -> tuple[Matrix, float]:
    square = np.einsum("ij,ij->i", y, y)
    kernel = square[:, None] + square - 2.0 * (y @ y.T)
    np.maximum(kernel, 0.0, out=kernel)
    kernel += 1.0
    np.reciprocal(kernel, out=kernel)
    np.fill_diagonal(kernel, 0.0)
    return kernel, float(kernel.sum())


def _gradient(joint: Matrix, y: Matrix, kernel: Matrix, total: float) -> Matrix:
    force = (joint - kernel / total) * kernel
    return np.asarray(4.0 * (force.sum(axis=1)[:, None] * y - force @ y))


def _descend(joint: Matrix, y: Matrix, steps: int) -> Matrix:
    """Gradient descent with momentum and gains; early on P is exaggerated, so that clusters
    form while there is still room to move. Step length as in Belkina et al. 2019."""
    rate = max(len(y) / _EARLY / 4.0, 50.0)
    velocity, gains = np.zeros_like(y), np.ones_like(y)
    for step in range(steps):
        early = step < _EARLY_STEPS
        slope = _gradient(joint * _EARLY if early else joint, y, *_student(y))
        gains = np.where(slope * velocity < 0, gains + 0.2, np.maximum(gains * 0.8, 0.01))
        velocity = (0.5 if early else 0.8) * velocity - rate * gains * slope
        y = y + velocity
    return np.asarray(y - y.mean(axis=0))


def choose_people(
    identity: NDArray[np.integer[Any]],
    rng: np.random.Generator,
    people: int = 12,
    images: int = 20,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows for a map and the person of each as 0, 1, 2 ..., so that no name enters a report.

    Up to ``images`` rows of each of up to ``people`` persons, by lot among those with enough
    rows, else the fullest; row numbers ascend.
    """
    if people < 1 or images < 1 or not len(identity):
        raise DataError("a map needs rows, and room for one person and one image at least")
    codes, counts = np.unique(identity, return_counts=True)
    lot = rng.permutation(len(codes))
    fullest = lot[np.argsort(-np.minimum(counts[lot], images), kind="stable")][:people]
    chosen = [rng.permutation(np.flatnonzero(identity == code))[:images] for code in codes[fullest]]
    person = np.repeat(np.arange(len(chosen)), [len(rows) for rows in chosen])
    rows = np.concatenate(chosen)
    order = np.argsort(rows)
    return rows[order].astype(np.int64), person[order].astype(np.int64)
