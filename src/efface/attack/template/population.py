"""What a thief knows of people in general: mean, spread, and a model to draw new ones from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.stolen import unit
from efface.types import Samples

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
