"""Ridge regression onto identity indicators: the paper's linear probe (section 3.1, A.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from efface.attack.verify.comparison import class_sums, linear_claim
from efface.attack.verify.params import positive
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Codes, Release, Samples

Matrix = NDArray[np.float64]


@register(
    Card(
        role="attack",
        name="ridge",
        summary="Ridge regression onto training identities; cosine of the predicted scores.",
        accepts="embedding",
        yields="comparison vectors",
        needs="labelled shadow vectors",
        paper="From Measurement to Mitigation (CVPR 2026), equation 3 and appendix A.5",
    )
)
@dataclass
class Ridge:
    """W = (X'X + aI)^-1 X'Y with centred X and centred indicators Y (P8)."""

    alphas: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    alpha: float | None = None
    """The strength in use; None before calibration people have chosen one."""
    paper_params: ClassVar[dict[str, Any]] = {"alphas": (1e-3, 1e-2, 1e-1, 1.0, 10.0)}
    mean_: Matrix | None = field(default=None, repr=False)
    path_: _Path | None = field(default=None, repr=False)

    def check(self) -> None:
        positive("ridge", "alphas", self.alphas)

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        x = shadow.data.astype(np.float64)
        self.mean_ = x.mean(axis=0)
        x -= self.mean_
        self.path_ = _primal(x, shadow.identity) if len(x) >= x.shape[1] else _dual(x, shadow)
        return self

    def options(self) -> Sequence[Self]:
        if self.alpha is not None:
            return (self,)
        return tuple(replace(self, alpha=a) for a in self.alphas)

    def settings(self) -> dict[str, Scalar]:
        return {"alpha": self.alpha}

    def run(self, release: Release) -> Claim:
        if self.path_ is None or self.mean_ is None:
            raise RuntimeError("fit the attack before running it")
        alpha = self.alphas[0] if self.alpha is None else self.alpha
        return linear_claim(release.data, self.mean_, self.path_.weights(alpha))


@dataclass(frozen=True, eq=False)
class _Path:
    """W(a) = basis diag(1 / (eigenvalues + a)) target: all a from one decomposition."""

    basis: Matrix
    eigenvalues: Matrix
    target: Matrix

    def weights(self, alpha: float) -> Matrix:
        return _thin(self.basis @ (self.target / (self.eigenvalues + alpha)[:, None]))


def _primal(x: Matrix, codes: Codes) -> _Path:
    # X'(Y - mean Y) = X'Y, because the columns of X sum to zero.
    values, vectors = linalg.eigh(x.T @ x)
    sums, _ = class_sums(x, codes)
    return _Path(vectors, np.maximum(values, 0.0), vectors.T @ sums.T)


def _dual(x: Matrix, shadow: Samples) -> _Path:
    # (X'X + aI)^-1 X'Y = X'(XX' + aI)^-1 Y: the smaller system when n < d.
    values, vectors = linalg.eigh(x @ x.T)
    sums, counts = class_sums(vectors, shadow.identity)
    centred = sums - counts[:, None] * vectors.mean(axis=0)
    return _Path(x.T @ vectors, np.maximum(values, 0.0), centred.T)


def _thin(weights: Matrix) -> Matrix:
    """Any L with LL' = WW' scores alike: never more columns than dimensions."""
    if weights.shape[1] <= weights.shape[0]:
        return weights
    return np.asarray(linalg.qr(weights.T, mode="r")[0][: weights.shape[0]]).T
