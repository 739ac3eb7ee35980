"""The game behind RLACE: a projection of rank k against a ridge adversary, under squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from efface.protect.linear.decompose import left, thin
from efface.protect.linear.fantope import onto_fantope
from efface.protect.linear.moments import Matrix, Moments

_HALVINGS = 30


@dataclass(frozen=True)
class Game:
    """Cross-covariance C and covariance S of the vectors within the span of C.

    With a projection Q the adversary gains max over W of 2 tr(W'QC) - tr(W'(QSQ + penalty I)W).
    What it does outside the span is played out beforehand: minimising over it leaves, within,
    the inverse of the block of (S + penalty I)^-1, and no best projection reaches outside.
    """

    load: Matrix
    scatter: Matrix
    penalty: float

    @classmethod
    def of(cls, moments: Moments, span: Matrix, ridge: float) -> Self:
        from scipy.linalg import cho_factor, cho_solve

        covariance = moments.covariance
        penalty = ridge * float(np.trace(covariance)) / moments.dim
        factor = cho_factor(covariance + penalty * np.eye(moments.dim))
        block = np.linalg.inv(span.T @ cho_solve(factor, span))
        scatter = (block + block.T) / 2 - penalty * np.eye(span.shape[1])
        return cls(thin(span.T @ moments.cross), scatter, penalty)

    # --- the value --------------------------------------------------------------------------

    def solve(self) -> tuple[Matrix, Matrix]:
        """The known solution: frames V and the worth of each direction to the adversary.

        In the metric T = S + penalty I an adversary confined to the complement of U is one whose
        whitened weights avoid T^(-1/2) U. It gains |(I - V V') T^(-1/2) C|^2 with V spanning
        T^(-1/2) U, and every k-dimensional V belongs to one U: the k leading left singular
        vectors of T^(-1/2) C are best, and the squared singular values left over are the value.
        """
        values, vectors = np.linalg.eigh(self.scatter + self.penalty * np.eye(len(self.scatter)))
        spread = np.sqrt(values)
        whitened, singular = left((vectors / spread) @ vectors.T @ self.load)
        return (vectors * spread) @ vectors.T @ whitened, singular**2

    # --- the play ---------------------------------------------------------------------------

    def answer(self, keep: Matrix) -> tuple[Matrix, float]:
        """The adversary's best weights against ``keep`` (Q), and what they gain."""
        from scipy.linalg import cho_factor, cho_solve

        seen = keep @ self.load
        factor = cho_factor(keep @ self.scatter @ keep + self.penalty * np.eye(len(keep)))
        weights = np.asarray(cho_solve(factor, seen))
        return weights, float(np.sum(seen * weights))

    def play(self, frame: Matrix, iterations: int, tolerance: float) -> tuple[Matrix, float]:
        """Alternate from the projection onto ``frame``; the best frame met and its gain."""
        size, k = frame.shape
        eye = np.eye(size)
        taken = frame @ frame.T
        weights, gain = self.answer(eye - taken)
        best = frame, gain
        pace = 1.0
        for _ in range(iterations):
            slope = self._slope(eye - taken, weights)
            pace /= max(float(np.linalg.norm(slope, 2)), np.finfo(float).tiny)
            ...
        return best

    def _slope(self, keep: Matrix, weights: Matrix) -> Matrix:
        """How the adversary's loss rises with the projection (envelope theorem)."""
        unexplained = self.load - self.scatter @ (keep @ weights)
        rise = unexplained @ weights.T
        return np.asarray(rise + rise.T)
