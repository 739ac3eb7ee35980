"""Within-class whitening, and the same with directions weighed by how much people differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from efface.attack.verify.comparison import class_sums, linear_claim
from efface.attack.verify.params import chosen, positive
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Release, Samples

Matrix = NDArray[np.float64]
Weighing = Literal["whiten", "plda"]


@register(
    Card(
        role="attack",
        name="lda",
        summary="Within-class whitening, plain or weighed as in two-covariance PLDA.",
        accepts="embedding",
        yields="comparison vectors",
        needs="labelled shadow vectors, two or more per person",
        paper="Fisher/Mahalanobis geometry of From Measurement to Mitigation, section 3.4; P8",
    )
)
@dataclass
class LDA:
    """Comparison vector = D V'(z - mean) with V' Sw V = I and V' Sb V = diag(l).

    ``whiten``: D = I, cosine under the within-class metric. ``plda``: D = sqrt(l / (1 + l)), the
    pull towards the mean that two-covariance PLDA applies to an observed person.
    """

    shrinkages: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 0.3, 1.0, 3.0, 10.0)
    weighings: tuple[Weighing, ...] = ("whiten", "plda")
    shrinkage: float | None = None
    weighing: Weighing | None = None
    min_images: ClassVar[int] = 2
    paper_params: ClassVar[dict[str, Any]] = {"shrinkages": (1e-3, 1e-2, 1e-1, 0.3, 1.0)}
    state_: _State | None = field(default=None, repr=False)

    def check(self) -> None:
        positive("lda", "shrinkages", self.shrinkages)
        chosen("lda", "weighings", self.weighings, ("whiten", "plda"))

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        x = shadow.data.astype(np.float64)
        mean = x.mean(axis=0)
        x -= mean
        sums, counts = class_sums(x, shadow.identity)
        means = sums / counts[:, None]
        within = x.T @ x - means.T @ sums
        within /= max(len(x) - len(counts), 1)
        spread, axes = linalg.eigh(within)
        # Class means also spread by the noise of their few images: that share is taken off.
        self.state_ = _State(mean, np.maximum(spread, 0.0), axes, means, float(np.mean(1 / counts)))
        return self

    def options(self) -> Sequence[Self]:
        if self.shrinkage is not None:
            return (self,)
        return tuple(
            replace(self, shrinkage=s, weighing=w) for s in self.shrinkages for w in self.weighings
        )

    def settings(self) -> dict[str, Scalar]:
        return {"shrinkage": self.shrinkage, "weighing": self.weighing}

    def run(self, release: Release) -> Claim:
        if self.state_ is None:
            raise RuntimeError("fit the attack before running it")
        shrinkage = self.shrinkages[0] if self.shrinkage is None else self.shrinkage
        weights = self.state_.weights(shrinkage, self.weighing or "whiten")
        return linear_claim(release.data, self.state_.mean, weights)


@dataclass(frozen=True, eq=False)
class _State:
    mean: Matrix
    spread: Matrix
    axes: Matrix
    means: Matrix
    noise: float
    solved: dict[tuple[float, Weighing], Matrix] = field(default_factory=dict)

    def weights(self, shrinkage: float, weighing: Weighing) -> Matrix:
        """Solved once for each setting: calibration and test ask for the same."""
        key = (shrinkage, weighing)
        if key not in self.solved:
            self.solved[key] = self._solve(shrinkage, weighing)
        return self.solved[key]

    def _solve(self, shrinkage: float, weighing: Weighing) -> Matrix:
        # Nobody varies: every metric is as good as the plain one.
        floor = shrinkage * (float(self.spread.mean()) or 1.0)
        whitener = self.axes / np.sqrt(self.spread + floor)
        if weighing == "whiten":
            return np.asarray(whitener)
        _, size, directions = linalg.svd(self.means @ whitener, full_matrices=False)
        between = size**2 / max(len(self.means) - 1, 1) - self.noise
        gain = np.maximum(between, 1e-12)
        return np.asarray(whitener @ (directions.T * np.sqrt(gain / (1 + gain))))
