"""Decompositions that the erasers share: all in float64, none larger than d x d."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from efface.errors import EraserError
from efface.protect.linear.moments import Matrix, Moments
from efface.protect.linear.rank import EPS, noise, numerical_rank

Shrinkage = float | Literal["auto"]


@dataclass(frozen=True)
class Differences:
    """Directions in which the identities' means differ, strongest first.

    ``rank`` of them are real; the others are there for a user who forces more.
    """

    directions: Matrix
    values: Matrix
    rank: int

    @property
    def energy(self) -> Matrix:
        return self.values**2

    def real(self, at_least: int = 0) -> Matrix:
        """The directions that are no rounding (or ``at_least`` of them, when that is forced)."""
        return self.directions[:, : max(self.rank, at_least)]


def differences(moments: Moments) -> Differences:
    """Thin SVD of the centred means, each identity counting once (P4); paper, section 3.4.

    The numerical rank found here holds in every metric and for any weights: neither changes the
    span of the means. So it is decided once, where the rounding is known (P5).
    """
    centred = centred_means(moments)
    directions, values = left(centred)
    shape = (centred.shape[0], centred.shape[1])
    rank = numerical_rank(values, noise(moments), shape)
    if not rank:
        raise EraserError(
            f"the mean vectors of the {moments.people} identities do not differ beyond rounding: "
            "there is nothing to remove; check that the labels belong to these vectors"
        )
    return Differences(directions, values, rank)


def centred_means(moments: Moments) -> Matrix:
    """M, dim x people. Centred twice: the rounding of one mean is the same error for everyone,
    which adds up to a direction of its own."""
    centred = moments.means - moments.centre
    return np.asarray((centred - centred.mean(axis=0)).T)


def left(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Left singular vectors and values of a wide or tall matrix, with a fixed sign."""
    vectors, values, _ = np.linalg.svd(thin(matrix), full_matrices=False)
    return oriented(vectors), values


def left_within(span: Matrix, inside: Matrix) -> tuple[Matrix, Matrix]:
    """Left singular vectors of ``span @ inside``, all of them exactly within the range of
    ``span``, so that at full rank nothing of it is missed."""
    frame, corner = np.linalg.qr(span)
    vectors, values = left(corner @ inside)
    return oriented(frame @ vectors), values


def without(matrix: Matrix, basis: Matrix) -> Matrix:
    """Columns with their part in the orthonormal ``basis`` taken out."""
    return np.asarray(matrix - basis @ (basis.T @ matrix))


def thin(matrix: Matrix) -> Matrix:
    """A matrix with the same M M' and no more columns than rows: people drop out of the cost."""
    if matrix.shape[1] <= matrix.shape[0]:
        return matrix
    corner: Matrix = np.linalg.qr(matrix.T, mode="r")  # type: ignore[assignment]
    return corner.T


def oriented(vectors: Matrix) -> Matrix:
    """Each column with its largest entry positive: a sign that does not depend on the solver."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs))


@dataclass(frozen=True)
class Metric:
    """S as eigenvectors and square roots of eigenvalues; applied, never formed as d x d."""

    vectors: Matrix
    spread: Matrix

    def whiten(self, columns: Matrix) -> Matrix:
        """S^(-1/2): into the space where S is the identity."""
        return np.asarray(self.vectors @ ((self.vectors.T @ columns) / self.spread[:, None]))

    def colour(self, columns: Matrix) -> Matrix:
        """S^(1/2): back."""
        return np.asarray(self.vectors @ ((self.vectors.T @ columns) * self.spread[:, None]))


def metric(
    scatter: Matrix, moments: Moments, shrinkage: Shrinkage = 0.0, *, pseudo: bool = False
) -> Metric:
    """The metric of a covariance; with ``pseudo`` directions of rounding are left out.

    Leaving out is right for the covariance of all rows (no variance, no identity). It is wrong
    within identities, where no variance means that a direction gives everyone away.
    """
    values, vectors = np.linalg.eigh(shrunk(scatter, moments.rows, shrinkage))
    power = moments.squares / moments.rows
    keep = values > max(moments.eps**2 * power / moments.dim, EPS * moments.dim * power)
    if not (keep.any() if pseudo else keep.all()):
        raise EraserError(
            "the covariance to whiten with is singular (fewer images than dimensions, or one "
            "image of each identity): use shrinkage='auto', give more images, or do not whiten"
        )
    return Metric(vectors[:, keep], np.sqrt(values[keep]))


def shrunk(scatter: Matrix, rows: int, shrinkage: Shrinkage) -> Matrix:
    """(1 - g) S + g tr(S)/d I. ``auto`` is the g of Bodnar, Gupta and Parolya (2014), which needs
    nothing but S and the number of rows."""
    dim = len(scatter)
    level = float(np.trace(scatter)) / dim
    if shrinkage == "auto":
        excess = float(np.sum(scatter**2)) - dim * level**2
        share = 1.0 if excess <= 0 else min(1.0, (dim * level) ** 2 / rows / excess)
    else:
        share = float(shrinkage)
    return (1 - share) * scatter + share * level * np.eye(dim)


def check_shrinkage(shrinkage: Shrinkage) -> None:
    number = isinstance(shrinkage, int | float) and not isinstance(shrinkage, bool)
    if shrinkage != "auto" and not (number and 0 <= float(shrinkage) <= 1):
        raise EraserError(f"shrinkage must be 'auto' or between 0 and 1, got {shrinkage!r}")
