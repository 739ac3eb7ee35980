"""INLP: train a linear classifier of the identity, remove what it reads, and train again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from efface.errors import EraserError
from efface.protect.linear.base import LinearProtection
from efface.protect.linear.decompose import oriented, thin, without
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.moments import Matrix, Moments
from efface.protect.linear.rank import covering
from efface.registry import register
from efface.results import Card

_SIGMAS = 3.0
"""How far above chance the first classifier must be, or there is nothing to remove."""
_SILENT = 1e-12
"""Share of the leading output's variance below which a contrast is rounding."""


@register(
    Card(
        role="protection",
        name="inlp",
        summary="Removes what repeated linear classifiers read, until they are at chance.",
        accepts="embedding",
        yields="embedding",
        paper="Ravfogel et al., Null it out: Guarding protected attributes by iterative nullspace "
        "projection, ACL 2020",
    )
)
@dataclass(eq=False)
class INLP(LinearProtection):
    """Repeated ridge classifiers in closed form, from moments; each round removes the ``step``
    leading directions of the classifier's weights.

    A classifier of many people reads people - 1 directions at once; removing them all in one
    round would spend the rank before the second classifier is heard. It stops at ``rank``, or
    where the classifier explains no more than shuffled labels would. ``ridge`` is relative to
    the mean eigenvalue of the covariance; with a weak one the classifiers read directions of
    little variance, and removing those costs rank without lowering the leak.
    """

    step: int = 8
    ridge: float = 1.0

    def _check_params(self) -> None:
        super()._check_params()
        check_ridge(self.ridge)
        if not isinstance(self.step, int | np.integer) or self.step < 1:
            raise EraserError(f"step must be a whole number of at least 1, got {self.step!r}")

    def _solve(self, moments: Moments) -> LinearEraser:
        game = _Rounds(moments, self.ridge)
        goal = int(self.rank) if isinstance(self.rank, int | np.integer) else moments.dim
        if goal > moments.dim:
            raise EraserError(f"rank {goal} asked for in {moments.dim} dimensions")
        basis = game.play(min(goal, moments.dim), self.step)
        energy = np.sum((basis.T @ game.load) ** 2, axis=1)
        if self.rank == "auto":
            total = float(np.sum(game.load**2))
            basis = basis[:, : covering(energy, self._wish().share, total)]
        notes: tuple[str, ...] = ()
        if isinstance(self.rank, int | np.integer) and basis.shape[1] < goal:
            notes = (f"stopped at rank {basis.shape[1]} of {goal}: classifiers were at chance",)
        return LinearEraser(basis, energy=np.sort(energy)[::-1], warnings=notes)


def check_ridge(ridge: float) -> None:
    if not 0 < float(ridge) < float("inf"):
        raise EraserError(f"ridge must be above 0, got {ridge!r}")


class _Rounds:
    """The moments that the classifiers see, with the removed directions projected out."""

    def __init__(self, moments: Moments, ridge: float) -> None:
        self.people, self.rows, self.dim = moments.people, moments.rows, moments.dim
        self.covariance = moments.covariance
        self.penalty = ridge * float(np.trace(self.covariance)) / self.dim
        self.load = thin(moments.cross)
        """Stands for the cross-covariance: the same S_xz S_zx, without a column per person."""
        weight = np.sqrt(moments.counts / moments.rows)[:, None]
        self.between = thin((weight * (moments.means - moments.mean)).T)

    def play(self, goal: int, step: int) -> Matrix:
        """Directions in the order of their removal, at most ``goal``."""
        basis: Matrix = np.zeros((self.dim, 0))
        while basis.shape[1] < goal:
            inverse = self._inverse(basis)
            if self._at_chance(inverse, basis):
                break
            new = self._read(inverse, basis, min(step, goal - basis.shape[1]))
            new = oriented(np.linalg.qr(without(new, basis))[0])
            basis = np.concatenate([basis, new], axis=1)
        if not basis.shape[1]:
            raise EraserError(
                f"a linear classifier of the {self.people} identities is at chance on these "
                f"{self.rows} vectors: there is nothing for INLP to remove; give more images of "
                "each identity, or check that the labels belong to these vectors"
            )
        return basis

    def _read(self, inverse: Matrix, basis: Matrix, k: int) -> Matrix:
        """Weights of the k contrasts between people in which the classifier's output varies most.

        Not those with the longest weights: these read the directions of least variance, whatever
        they say.
        """
        from scipy.linalg import eigh

        weights = inverse @ without(self.load, basis)
        output = weights.T @ (self.covariance @ weights)
        size = len(output)
        values, contrasts = eigh(output, subset_by_index=(max(0, size - k), size - 1))
        heard = np.flatnonzero(values > _SILENT * values[-1])[::-1]
        return np.asarray(weights @ contrasts[:, heard])

    def _inverse(self, basis: Matrix) -> Matrix:
        """(Q S Q + penalty I)^-1 with Q = I - basis basis'."""
        from scipy.linalg import cho_factor, cho_solve

        seen = without(without(self.covariance, basis).T, basis)
        factor = cho_factor(seen + self.penalty * np.eye(self.dim))
        return np.asarray(cho_solve(factor, np.eye(self.dim)))

    def _at_chance(self, inverse: Matrix, basis: Matrix) -> bool:
        """Is the variance of identity that the ridge classifier explains that of shuffled labels?

        Shuffling gives tr(inverse B) the mean (people - 1)/(rows - 1) tr(inverse S), exactly, and
        near enough a chi-squared spread. The first round must stand out from that; once something
        was there, rounds go on down to the mean, for a few weak directions hide in the spread.
        """
        left_over = without(self.between, basis)
        explained = float(np.sum(left_over * (inverse @ left_over)))
        # tr(inverse S): what the classifier can use of each direction, its degrees of freedom.
        freedom = self.dim - self.penalty * float(np.trace(inverse))
        trials = (self.people - 1) * max(freedom, 0.0)
        spread = 0.0 if basis.shape[1] else _SIGMAS * np.sqrt(2 * trials)
        chance = (trials + spread) / max(self.rows - 1, 1)
        return bool(explained <= chance)
