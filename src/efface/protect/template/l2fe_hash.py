"""L2FE-Hash: the embedding as the noise of a random lattice point (paper, Algorithm 3)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.errors import EffaceWarning, PlanError
from efface.hazmat.expand import SEED_BYTES, residues, stream
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis
from efface.hazmat.sketch import lattice_recover, lattice_sketch
from efface.protect.template.bases import MEMORY, Bases
from efface.protect.template.kinds import Extractor
from efface.protect.template.parts import Filled, Layout
from efface.protect.template.pictures import Matrix, pictures
from efface.protect.template.projection import shortened
from efface.protect.template.quantiser import Quantiser
from efface.registry import register
from efface.results import Card, Scalar
from efface.types import Samples

_BASIS_DIGEST = 16
_FOREIGN_SHARE = 0.1


@register(
    Card(
        role="scheme",
        name="l2fe-hash",
        summary="Stores a random lattice point with the embedding added, and a hash of the point.",
        accepts="embedding",
        yields="template",
        needs="the extra 'templates' for lattice reduction",
        paper="Prabhakar et al., Model inversion attacks meet cryptographic fuzzy extractors",
        verdict=(
            "broken by guesses that know nothing of the person: on real faces, at the published "
            "size and scale, the mean of a population opens 15 to 61 % of all records, depending "
            "on the lattice, by the service's own basis, and all of them after BKZ-10 in place of "
            "LLL, 15 core-seconds a lattice. PIPE alone fails."
        ),
    )
)
@dataclass(eq=False, kw_only=True)
class L2FEHash(Extractor):
    """c = A b + x mod q with A from a seed and b secret; r = H_k(b); b from c - x' by Babai.

    The defaults are the paper's: m = 180 coordinates, l = 60, q = 130003, scale 0.0014 (Facenet).
    Vectors are projected to m coordinates by a fixed matrix, then quantised between the smallest
    and the largest element of the population in ``fit``. A larger scale accepts less.

    ``bases`` says where reduced bases come from: by default they are made when needed (seconds at
    m = 180) and remembered while the process lives. See :mod:`efface.protect.template.bases`.
    """

    m: int = 180
    l: int = 60  # noqa: E741  the paper's letter
    q: int = 130003
    scale: float = 0.0014
    bases: Bases = field(default=MEMORY, repr=False)

    quantiser_: Quantiser = field(init=False, repr=False)

    @classmethod
    def paper(cls, encoder: Literal["facenet", "arcface"] = "facenet", **params: Any) -> L2FEHash:
        """The paper's parameters for its two encoders; section 8 and Table 12 disagree on the
        second scale, and this is section 8's."""
        scales = {"facenet": 0.0014, "arcface": 0.0017}
        if encoder not in scales:
            raise PlanError(f"l2fe-hash: the paper has facenet and arcface, not {encoder!r}")
        return cls(**{"m": 180, "l": 60, "q": 130003, "scale": scales[encoder]} | params)

    @property
    def shape(self) -> Shape:
        return Shape(self.m, self.l, self.q)

    def check(self) -> None:
        super().check()
        self.shape.check()
        if not 1 / self.q <= self.scale < 1:
            raise PlanError(
                f"l2fe-hash: scale {self.scale} gives {self.q * self.scale:g} levels: take one "
                f"from 1/q to below 1, or values would wrap around the modulus {self.q}"
            )

    def _learn(self, samples: Samples) -> float:
        x = shortened(samples.data.astype(np.float64), self.m)
        self.quantiser_ = Quantiser.fitted(x)
        return self.scale

    def _helper_layout(self) -> Layout:
        return {
            **super()._helper_layout(),
            "seed": (np.uint8, (SEED_BYTES,)),
            "sketch": (np.int32, (self.m,)),
            "basis": (np.uint8, (_BASIS_DIGEST,)),
        }

    def _enrol(self, x: Matrix, root: bytes, owner: Filled) -> Filled:
        basis = self.bases.fresh(self.shape, stream(root, "lattice", SEED_BYTES))
        secret = residues(root, "secret", (self.l,), self.q)
        self._doubt_range(x)
        parts: Filled = {
            "seed": np.frombuffer(basis.lattice.seed, np.uint8),
            "sketch": lattice_sketch(basis.lattice, secret, self.quantised(x)),
            "basis": np.frombuffer(basis.digest, np.uint8),
        }
        return self._recorded(parts, root, owner, lambda _: _as_bytes(secret))

    def _messages(self, parts: Filled, x: Matrix) -> list[bytes]:
        basis = self._basis(parts)
        found = lattice_recover(basis, parts["sketch"], self.quantised(x))
        return [_as_bytes(row) for row in found]

    def _basis(self, parts: Filled) -> Basis:
        """The basis of the template's seed; another reduction than at enrolment is worth a word."""
        digest = parts["basis"].tobytes()
        basis = self.bases.known(Lattice(self.shape, parts["seed"].tobytes()), digest)
        if basis.digest != digest:
            warnings.warn(
                "l2fe-hash: this basis is not the one of the enrolment (another release of FLINT "
                "reduced it): acceptance may differ a little; keep bases with the templates",
                EffaceWarning,
                stacklevel=6,
            )
        return basis

    def quantised(self, x: Matrix) -> NDArray[np.int64]:
        """Unit vectors as integers between 0 and q times the scale; what is outside is clamped."""
        return self.quantiser_.quantise(shortened(x, self.m), self.q * self.radius_)

    def _doubt_range(self, x: Matrix) -> None:
        outside = self.quantiser_.clamped(shortened(x, self.m))
        if outside > _FOREIGN_SHARE * self.m:
            warnings.warn(
                "l2fe-hash: many coordinates lie outside the range of the population and are "
                "clamped, as if the vector came from another encoder; clamped() counts them",
                EffaceWarning,
                stacklevel=4,
            )

    def clamped(self, x: ArrayLike) -> NDArray[np.int64]:
        """How many of the m coordinates of each picture lie outside the population's range."""
        self._require_fit()
        return self.quantiser_.clamped(shortened(pictures(x, self.dim_, "vectors"), self.m))

    def critical(self, enrolled: Matrix, probes: Matrix, seed: int = 0) -> Matrix:
        basis = self.bases.fresh(self.shape, seed.to_bytes(SEED_BYTES, "little"))
        return basis.reach(shortened(probes - enrolled, self.m) * (self.q / self.quantiser_.width))

    def settings(self) -> dict[str, Scalar]:
        self._require_fit()
        learnt: dict[str, Scalar] = {
            "minimum": self.quantiser_.low,
            "maximum": self.quantiser_.high,
        }
        return {**super().settings(), **learnt}

    def _restore(self, settings: Mapping[str, Scalar]) -> None:
        self.quantiser_ = Quantiser(_number(settings, "minimum"), _number(settings, "maximum"))


def _number(settings: Mapping[str, Scalar], name: str) -> float:
    value = settings.get(name)
    if not isinstance(value, int | float):
        raise PlanError(f"l2fe-hash: the stored settings lack {name!r}")
    return float(value)


def _as_bytes(secret: NDArray[np.int64]) -> bytes:
    return np.ascontiguousarray(secret, "<u4").tobytes()
