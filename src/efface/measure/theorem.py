"""Theorem 1 of L2FE-Hash in numbers: what it supposes, and how many bits it then promises.

Logarithms are to base 2, as in the paper; the volumes themselves would not fit a float.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from efface.errors import DataError


@dataclass(frozen=True)
class Theorem1:
    """Inputs and results. ``r`` is R, ``balls`` beta, ``radius`` epsilon, ``error`` epsilon_FE."""

    m: int
    l: int  # noqa: E741  the paper's letter
    q: int
    r: float
    balls: float
    radius: float
    error: float

    def __post_init__(self) -> None:
        whole = 0 < self.l < self.m and self.q > 1
        positive = min(self.r, self.balls, self.radius) > 0
        if not (whole and positive and 0 < self.error < 1):
            raise DataError(
                "Theorem 1 needs 0 < l < m, q > 1, and R, the number of balls and their radius "
                "above zero, and an error between 0 and 1"
            )

    @property
    def shortest(self) -> float:
        """sqrt(m / 2 pi e) q^(1 - l/m): the expected length of the lattice's shortest vector."""
        return math.sqrt(self.m / (2 * math.pi * math.e)) * math.pow(self.q, 1 - self.l / self.m)

    @property
    def alpha(self) -> float:
        """The largest alpha with R >= alpha sqrt(m / 2 pi e) q^(1 - l/m)."""
        return self.r / self.shortest

    @property
    def holds(self) -> bool:
        """Whether the hypothesis holds: some alpha > 1."""
        return self.alpha > 1

    @property
    def box(self) -> float:
        """log2 of the integer points in [-R, R]^m: no support has more entropy than this."""
        return self.m * math.log2(2 * self.r + 1)

    @property
    def entropy(self) -> float:
        """h = log2(beta pi^(m/2) / (m/2)! epsilon^m) (Lemmas 2, 3), but at most the whole box."""
        ball = self.m / 2 * math.log2(math.pi) - math.lgamma(self.m / 2 + 1) / math.log(2)
        return min(math.log2(self.balls) + ball + self.m * math.log2(self.radius), self.box)

    @property
    def gamma(self) -> float:
        """h + m log2(alpha) - m log2(2R + 1)."""
        return self.entropy + self.m * math.log2(self.alpha) - self.box

    @property
    def ceiling(self) -> float:
        """gamma if the vectors filled the whole box evenly: m log2(alpha)."""
        return self.m * math.log2(self.alpha)

    @property
    def kappa(self) -> float:
        """Bits that the theorem promises: gamma - 2 log2(1 / epsilon_FE) + 2; none below zero, and
        none where the hypothesis does not hold."""
        if not self.holds:
            return 0.0
        return max(0.0, self.gamma - 2 * math.log2(1 / self.error) + 2)
