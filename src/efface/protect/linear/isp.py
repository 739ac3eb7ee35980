"""ISP: project the span of the identities' means away (paper, section 3.4, equations 10 and 11)."""

from __future__ import annotations

from dataclasses import dataclass

from efface.protect.linear.base import LinearProtection
from efface.protect.linear.decompose import (
    Differences,
    Shrinkage,
    centred_means,
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
        name="isp",
        summary="Removes the leading directions in which identities' mean vectors differ.",
        accepts="embedding",
        yields="embedding",
        paper="Identity Sanitization Projection, CVPR 2026, section 3.4",
    )
)
@dataclass(eq=False)
class ISP(LinearProtection):
    """P = I - U_r U_r' from the thin SVD of the centred means, each identity counting once (P4).

    ``whiten`` finds the directions in the metric within identities (the Fisher variant) and
    removes them obliquely, about the centre; ``shrinkage`` steadies that metric.
    """

    whiten: bool = False
    shrinkage: Shrinkage = "auto"

    def _needs_covariance(self) -> bool:
        return self.whiten

    def _check_params(self) -> None:
        super()._check_params()
        check_shrinkage(self.shrinkage)

    def _solve(self, moments: Moments) -> LinearEraser:
        found = differences(moments)
        if self.whiten:
            return self._oblique(found, moments)
        rank = self._choose(found.energy, found.rank, moments)
        return LinearEraser(found.directions[:, :rank], energy=found.energy[: found.rank])

    def _oblique(self, found: Differences, moments: Moments) -> LinearEraser:
        """A = S^(1/2) U, B = S^(-1/2) U with U the left singular vectors of S^(-1/2) M.

        About the centre: an oblique map would otherwise carry the common mean with it.
        """
        inside = metric(moments.within, moments, self.shrinkage)
        real = found.real(self._at_least())
        directions, values = left_within(inside.whiten(real), real.T @ centred_means(moments))
        rank = self._choose(values**2, found.rank, moments)
        chosen = directions[:, :rank]
        return LinearEraser(
            inside.colour(chosen),
            inside.whiten(chosen),
            moments.centre,
            energy=values[: found.rank] ** 2,
        )
