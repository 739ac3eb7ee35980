"""SAL: project away the directions that co-vary most with the identity."""

from __future__ import annotations

from dataclasses import dataclass

from efface.protect.linear.base import LinearProtection
from efface.protect.linear.decompose import differences, left
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.moments import Moments
from efface.registry import register
from efface.results import Card


@register(
    Card(
        role="protection",
        name="sal",
        summary="Removes the leading singular directions of vector-identity cross-covariance.",
        accepts="embedding",
        yields="embedding",
        paper="Shao, Ziser and Cohen, Gold doesn't always glitter: Spectral removal of linear and "
        "nonlinear guarded attribute information, EACL 2023",
    )
)
@dataclass(eq=False)
class SAL(LinearProtection):
    """P = I - U_r U_r' with U the left singular vectors of the cross-covariance S_xz.

    Column c of S_xz is n_c/n (mean_c - mean): unlike ISP, people with many images weigh more.
    """

    def _needs_covariance(self) -> bool:
        return False

    def _solve(self, moments: Moments) -> LinearEraser:
        full = differences(moments).rank
        directions, values = left(moments.cross)
        rank = self._choose(values**2, full, moments)
        return LinearEraser(directions[:, :rank], energy=values[:full] ** 2)
