"""The game behind RLACE: a projection of rank k against a ridge adversary, under squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from efface.protect.linear.decompose import Metric, left, thin
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
        """The directions to take, best first, and what each is worth to the adversary.

        In the metric T = S + penalty I an adversary kept out of the span of U is one whose
        whitened weights avoid V = T^(-1/2) U, and gains |(I - V V') T^(-1/2) C|^2. That is linear
        in V V', so over the Fantope it is least at a corner: the k leading left singular vectors
        of T^(-1/2) C. Every V belongs to one U, so no other projection of rank k does better.
        """
        values, vectors = np.linalg.eigh(self.scatter + self.penalty * np.eye(len(self.scatter)))
        metric = Metric(vectors, np.sqrt(values))
        whitened, singular = left(metric.whiten(self.load))
        return metric.colour(whitened), singular**2

    # --- the play ---------------------------------------------------------------------------

    def answer(self, keep: Matrix) -> tuple[Matrix, float]:
        """The adversary's best weights against ``keep`` (Q), and what they gain."""
        from scipy.linalg import cho_factor, cho_solve

        seen = keep @ self.load
        factor = cho_factor(keep @ self.scatter @ keep + self.penalty * np.eye(len(keep)))
        weights = np.asarray(cho_solve(factor, seen))
        return weights, float(np.sum(seen * weights))

    def play(self, frame: Matrix, iterations: int, tolerance: float) -> tuple[Matrix, float]:
        """Alternate from the projection onto ``frame``; the best frame met and its gain.

        The projection climbs the adversary's loss, the adversary answers. A move that does not
        help is shortened; when none helps, or hardly, the play is over.
        """
        best = _Move(frame @ frame.T, frame, *self._respond(frame @ frame.T))
        move, pace = best, 0.0
        for _ in range(iterations):
            slope = self._slope(move)
            steep = float(np.linalg.norm(slope, 2))
            if not steep > 0:
                break
            pace = pace or 1 / steep
            following, pace = self._climb(move, slope, pace)
            if following is None or move.gain - following.gain < tolerance * move.gain:
                break
            move = following
            corner = _Move(move.taken, move.frame, *self._respond(move.frame @ move.frame.T))
            best = min(best, corner, key=lambda m: m.gain)
        return best.frame, best.gain

    def _respond(self, taken: Matrix) -> tuple[Matrix, float]:
        return self.answer(np.eye(len(taken)) - taken)

    def _climb(self, move: _Move, slope: Matrix, pace: float) -> tuple[_Move | None, float]:
        for _ in range(_HALVINGS):
            taken, frame = onto_fantope(move.taken + pace * slope, move.frame.shape[1])
            following = _Move(taken, frame, *self._respond(taken))
            if following.gain < move.gain:
                return following, 2 * pace
            pace /= 3
        return None, pace

    def _slope(self, move: _Move) -> Matrix:
        """How the adversary's loss rises with the projection (envelope theorem)."""
        seen = move.weights - move.taken @ move.weights
        rise = (self.load - self.scatter @ seen) @ move.weights.T
        return np.asarray(rise + rise.T)


@dataclass(frozen=True)
class _Move:
    """A projection on the Fantope, its leading frame, and the adversary's answer to it."""

    taken: Matrix
    frame: Matrix
    weights: Matrix
    gain: float
