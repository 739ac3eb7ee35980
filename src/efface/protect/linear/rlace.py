"""RLACE: the rank-k projection after which the best linear adversary does worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from efface.errors import EraserError
from efface.protect.linear.base import LinearProtection
from efface.protect.linear.decompose import Differences, differences, leading, left, thin, without
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.fantope import onto_fantope
from efface.protect.linear.inlp import check_ridge
from efface.protect.linear.moments import Matrix, Moments
from efface.registry import register
from efface.results import Card

_WIDE_GAP = 0.05


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
    """Minimax between a ridge adversary and a projection relaxed to the Fantope, by alternation.

    Both players move exactly: the adversary answers in closed form, the projection climbs its
    loss and returns onto the Fantope; the k leading eigenvectors are removed. For squared loss
    the game has a known value (see ``_Game.optimum``): ``gap_`` is how far, relative to it, the
    answer is off. ``start`` is that optimum, which the alternation then cannot improve, or the
    leading cross-covariance, from where it has to find it.
    """

    ridge: float = 1e-3
    iterations: int = 100
    tolerance: float = 1e-5
    start: Literal["optimum", "cross"] = "optimum"

    nested: ClassVar[bool] = False

    def _check_params(self) -> None:
        super()._check_params()
        check_ridge(self.ridge)
        if self.iterations < 1 or not self.tolerance > 0:
            raise EraserError("iterations must be at least 1 and tolerance above 0")
        if self.start not in ("optimum", "cross"):
            raise EraserError(f"start must be 'optimum' or 'cross', got {self.start!r}")

    def _solve(self, moments: Moments) -> LinearEraser:
        found = differences(moments)
        span = found.real(self._at_least())
        game = _Game.of(moments, span, self.ridge)
        worth = game.worth()
        rank = self._choose(worth, found.rank, moments)
        first = game.optimum(rank) if self.start == "optimum" else leading_full(game.load, rank)
        frame, gain = game.play(first, self.iterations, self.tolerance)
        best = float(worth[rank:].sum())
        self.gap_ = max(0.0, gain - best) / float(worth.sum())
        notes = (f"the game ended {self.gap_:.1%} short of its optimum: raise iterations",)
        return LinearEraser(
            span @ frame,
            energy=worth[: found.rank],
            warnings=notes if self.gap_ > _WIDE_GAP else (),
        )
