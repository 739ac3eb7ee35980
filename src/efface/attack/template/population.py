"""What a thief knows of people in general: mean, spread, and a model to draw new ones from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from efface.types import Floats, Samples

Matrix = NDArray[np.float64]
_SHRINK = 0.05
_LLOYD = 20


@dataclass(frozen=True, eq=False)
class Population:
    """Mean and covariance of public embeddings; the covariance is drawn a little to a ball, so
    that fewer vectors than dimensions still give one that can be inverted."""

    mean: Matrix
    covariance: Matrix
    rows: Matrix
    """The embeddings themselves, of unit length."""

    @classmethod
    def of(cls, samples: Samples) -> Self:
        rows = unit(samples.data.astype(np.float64))
        return cls(rows.mean(axis=0), spread(rows), rows)

    @property
    def direction(self) -> Matrix:
        return unit(self.mean)

    def completion(self, rows: Matrix) -> Completion:
        """For vectors of which only ``rows @ x`` is known."""
        cross = self.covariance @ rows.T
        gain = np.asarray(np.linalg.solve(rows @ cross, cross.T).T, np.float64)
        inverse = np.asarray(np.linalg.solve(rows @ rows.T, rows).T, np.float64)
        return Completion(self.mean, rows, gain, inverse)


@dataclass(frozen=True, eq=False)
class Completion:
    """x = mu + S R'(R S R')^-1 (y - R mu): the mean of people given y = R x, were they Gaussian.

    The part that R does not see is then stretched until x has unit length, so R x = y holds.
    """

    mean: Matrix
    rows: Matrix
    gain: Matrix
    inverse: Matrix

    def __call__(self, y: Matrix) -> Matrix:
        seen = self.inverse @ y
        x = self.mean + self.gain @ (y - self.rows @ self.mean)
        return completed(seen, x - self.inverse @ (self.rows @ x))


def completed(seen: Matrix, hidden: Matrix) -> Matrix:
    """seen + s hidden of unit length, for orthogonal parts; s = 0 where seen is longer already."""
    missing = max(0.0, 1.0 - float(seen @ seen))
    length = float(np.linalg.norm(hidden))
    return unit(seen + hidden * (math.sqrt(missing) / length if length > 0 else 0.0))


def unit(x: Floats) -> Matrix:
    """Rows of unit length; a row of zeros stays."""
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.where(length > 0, length, 1.0), np.float64)


def spread(rows: Matrix) -> Matrix:
    """Covariance with 5 % of a ball of the same trace."""
    centred = rows - rows.mean(axis=0)
    found = centred.T @ centred / max(len(rows) - 1, 1)
    ball = np.trace(found) / len(found) + 1e-12
    return np.asarray((1 - _SHRINK) * found + _SHRINK * ball * np.eye(len(found)))


def drawn(rows: Matrix, components: int, count: int, rng: np.random.Generator) -> Matrix:
    """Embeddings of people who do not exist, from a mixture of Gaussians fitted on ``rows``.

    Components are k-means clusters with a covariance each; clusters of fewer than two rows per
    dimension share that of all.
    """
    labels = _clusters(rows, components, rng)
    used, sizes = np.unique(labels, return_counts=True)
    shares = rng.multinomial(count, sizes / sizes.sum())
    common = np.linalg.cholesky(spread(rows))
    made = []
    for label, share in zip(used, shares, strict=True):
        own = rows[labels == label]
        factor = np.linalg.cholesky(spread(own)) if len(own) >= 2 * rows.shape[1] else common
        made.append(own.mean(axis=0) + rng.standard_normal((share, rows.shape[1])) @ factor.T)
    return unit(rng.permutation(np.concatenate(made)))


def _clusters(rows: Matrix, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """k-means by Lloyd's steps from random rows."""
    centres = rows[rng.choice(len(rows), min(count, len(rows)), replace=False)]
    labels = np.zeros(len(rows), np.int64)
    for _ in range(_LLOYD if len(centres) > 1 else 0):
        squares = (centres**2).sum(axis=1) - 2 * rows @ centres.T
        labels = squares.argmin(axis=1)
        centres = np.stack(
            [rows[labels == k].mean(axis=0) if (labels == k).any() else c
             for k, c in enumerate(centres)]
        )  # fmt: skip
    return labels
