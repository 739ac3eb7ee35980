"""BioHash: the signs of inner products with orthonormal random vectors of the user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from efface.errors import PlanError
from efface.hazmat.expand import SEED_BYTES, gaussians, stream
from efface.protect.template.kinds import Comparer
from efface.protect.template.parts import Filled, Layout
from efface.protect.template.pictures import Matrix
from efface.registry import register
from efface.results import Card
from efface.threads import one_blas_thread
from efface.types import Samples


@register(
    Card(
        role="scheme",
        name="biohash",
        summary="Stores the signs of a random projection of the user; accepts by differing bits.",
        accepts="embedding",
        yields="template",
        paper="Jin, Ling and Goh, BioHashing, Pattern Recognition 37(11), 2004",
        verdict=(
            "broken by whoever holds all that is stored: turning the projection round gives a "
            "vector with the same bits (Lee, Chung and Moon, 2009), which passes here and points "
            "at the person."
        ),
    )
)
@dataclass(eq=False, kw_only=True)
class BioHash(Comparer):
    """Bit i is 1 when <x, r_i> > 0, the r_i orthonormal and drawn from the template's seed.

    ``threshold`` is the share of bits that may differ. Vectors at an angle a differ in a / pi of
    the bits on average: 0.37 is the distance 1.1 of the paper's Table 2.
    """

    n: int = 128
    threshold: float = 0.37

    covered: ClassVar[frozenset[str]] = frozenset({"bits"})

    def check(self) -> None:
        super().check()
        if type(self.n) is not int or self.n < 8 or self.n % 8:
            raise PlanError(f"biohash: n takes a multiple of eight, not {self.n!r}")

    def _learn(self, samples: Samples) -> float:
        if self.n > samples.dim:
            raise PlanError(
                f"biohash: n = {self.n} orthonormal vectors do not exist in {samples.dim} "
                "dimensions: take n at most that"
            )
        return super()._learn(samples)

    def _record_layout(self) -> Layout:
        return {"bits": (np.uint8, (self.n // 8,))}

    def _helper_layout(self) -> Layout:
        return {"seed": (np.uint8, (SEED_BYTES,))}

    def _enrol(self, x: Matrix, root: bytes, owner: Filled) -> Filled:
        seed = stream(root, "seed", SEED_BYTES)
        bits = np.packbits(orthonormal(seed, self.n, self.dim_) @ x > 0)
        return {"bits": bits, "seed": np.frombuffer(seed, np.uint8)}

    def _distances(self, parts: Filled, x: Matrix) -> Matrix:
        rows = orthonormal(parts["seed"].tobytes(), self.n, self.dim_)
        enrolled = np.unpackbits(parts["bits"]).astype(bool)
        return np.asarray(((x @ rows.T > 0) != enrolled).mean(axis=-1))

    def critical(self, enrolled: Matrix, probes: Matrix, seed: int = 0) -> Matrix:
        rows = orthonormal(seed.to_bytes(SEED_BYTES, "little"), self.n, self.dim_)
        return np.asarray(((enrolled @ rows.T > 0) != (probes @ rows.T > 0)).mean(axis=-1))


@lru_cache(maxsize=32)
def orthonormal(seed: bytes, n: int, dim: int) -> Matrix:
    """n orthonormal rows of a seed (Gram and Schmidt on Gaussian ones).

    In one thread: the same bits wherever it runs, and no waiting for cores that are busy.
    """
    with one_blas_thread():
        q, r = np.linalg.qr(gaussians(seed, "biohash", (n, dim)).T)
    rows = np.ascontiguousarray((q * np.sign(np.diag(r))).T)
    rows.flags.writeable = False
    return rows
