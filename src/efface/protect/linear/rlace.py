"""RLACE: the rank-k projection after which the best linear adversary does worst."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from efface.errors import EraserError
from efface.protect.linear.base import LinearProtection
from efface.protect.linear.decompose import differences, left, oriented
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.game import Game
from efface.protect.linear.inlp import check_ridge
from efface.protect.linear.moments import Moments
from efface.registry import register
from efface.results import Card

_WIDE_GAP = 0.05
"""Above this share of the adversary's first gain an unfinished game is worth a warning."""


@register(
    Card(
        role="protection",
        name="rlace",
        summary="Removes the k directions whose loss hurts the best linear adversary most.",
        accepts="embedding",
        yields="embedding",
        paper="Ravfogel et al., Linear adversarial concept erasure, ICML 2022",
    )
)
@dataclass(eq=False)
class RLACE(LinearProtection):
    """The minimax game between a ridge adversary and a projection of rank k, squared loss.

    ``exact`` takes the game's solution, which is known (``Game.solve``). ``alternate`` plays it:
    the projection, relaxed to the Fantope, starts at the leading cross-covariance and climbs the
    loss of an adversary that answers in closed form; the leading eigenvectors are removed.
    ``gap_`` is what the adversary gains above the solution, as a share of its gain on the
    untouched vectors. ``ridge`` is relative to the mean eigenvalue of the covariance.
    """

    ridge: float = 1e-3
    solver: Literal["exact", "alternate"] = "exact"
    iterations: int = 50
    tolerance: float = 1e-4

    gap_: float = field(init=False, repr=False)

    @property
    def nested(self) -> bool:
        return self.solver == "exact"

    def _check_params(self) -> None:
        super()._check_params()
        check_ridge(self.ridge)
        if self.solver not in ("exact", "alternate"):
            raise EraserError(f"solver must be 'exact' or 'alternate', got {self.solver!r}")
        if self.iterations < 1 or not self.tolerance > 0:
            raise EraserError("iterations must be at least 1 and tolerance above 0")

    def _solve(self, moments: Moments) -> LinearEraser:
        found = differences(moments)
        span = found.real(self._at_least())
        game = Game.of(moments, span, self.ridge)
        directions, worth = game.solve()
        rank = self._choose(worth, found.rank, moments)
        if self.solver == "exact":
            frame, self.gap_ = directions[:, :rank], 0.0
        else:
            frame, gain = game.play(left(game.load)[0][:, :rank], self.iterations, self.tolerance)
            self.gap_ = max(0.0, gain - float(worth[rank:].sum())) / float(worth.sum())
        basis = oriented(np.linalg.qr(span @ frame)[0])
        return LinearEraser(basis, energy=worth[: found.rank], warnings=self._notes())

    def _notes(self) -> tuple[str, ...]:
        if self.gap_ <= _WIDE_GAP:
            return ()
        return (f"the game ended {self.gap_:.1%} above its value: use solver='exact'",)
