"""LEACE: the least change of the vectors after which no linear map finds the identity."""

from __future__ import annotations

from dataclasses import dataclass

from efface.protect.linear.base import LinearProtection
from efface.protect.linear.decompose import (
    Shrinkage,
    check_shrinkage,
    differences,
    left_within,
    metric,
)
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.moments import Moments
from efface.registry import register
from efface.results import Card


@register(
    Card(
        role="protection",
        name="leace",
        summary="Removes what any linear map could read of the identity, with least distortion.",
        accepts="embedding",
        yields="embedding",
        paper="Belrose et al., LEACE: Perfect linear concept erasure in closed form, NeurIPS 2023",
    )
)
@dataclass(eq=False)
class LEACE(LinearProtection):
    """x - W^+ U U' W (x - mean), W = S^(-1/2), U the left singular vectors of W S_xz.

    S is the covariance of the vectors (``shrinkage`` mixes in a multiple of the identity), S_xz
    their cross-covariance with the identity. Below full rank the leading directions are those
    that lower the squared error of the best linear guess of the identity most.
    """

    shrinkage: Shrinkage = 0.0

    def _check_params(self) -> None:
        super()._check_params()
        check_shrinkage(self.shrinkage)

    def _solve(self, moments: Moments) -> LinearEraser:
        found = differences(moments)
        whole = metric(moments.covariance, moments, self.shrinkage, pseudo=True)
        real = found.real(self._at_least())
        directions, values = left_within(whole.whiten(real), real.T @ moments.cross)
        rank = self._choose(values**2, found.rank, moments)
        chosen = directions[:, :rank]
        return LinearEraser(
            whole.colour(chosen),
            whole.whiten(chosen),
            moments.mean,
            energy=values[: found.rank] ** 2,
        )
