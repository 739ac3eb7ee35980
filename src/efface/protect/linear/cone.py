"""Where the rows lie that an eraser puts out, and how near to it a row must be.

For z -> z - A B'(z - m) with B'A = I the result w has B'w = B'm, and at unit length
B'w/|w| = s B'm for some s > 0. So B'z lies on the ray of B'm, or is zero where B'm is. With B = QR
this reads Q'z = t Q'm: Q has orthonormal columns, so the distance of Q'z from the ray is the
distance of z itself from all that this eraser can put out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.protect.linear.eraser import LinearEraser

_BLOCK = 4096
# How much less exact than the stored type the map may have been computed: float32 in a model or
# an index; in float64 a row that lost all but a thousandth of its length.
_SLACK = {"float32": 0.5, "float64": 500.0}


@dataclass(frozen=True, eq=False)
class Cone:
    eraser: LinearEraser

    @cached_property
    def frame(self) -> NDArray[np.float64]:
        """Orthonormal basis of what the eraser reads: Q of B = QR."""
        eraser = self.eraser
        dual = eraser.basis if eraser.dual is None else eraser.dual
        return np.asarray(np.linalg.qr(dual)[0])

    @cached_property
    def centre(self) -> NDArray[np.float64]:
        """Q'm; zero where there is no mean, or what is read of it is rounding."""
        mean, none = self.eraser.mean, np.zeros(self.eraser.rank)
        if mean is None:
            return none
        found = mean @ self.frame
        size = float(np.linalg.norm(mean))
        return found if np.linalg.norm(found) > 1e-12 * size else none

    @property
    def has_ray(self) -> bool:
        return self.eraser.normalise and bool(self.centre.any())

    @cached_property
    def gain(self) -> float:
        """How much the map stretches at most: 1 if it is orthogonal."""
        eraser = self.eraser
        if not eraser.rank or eraser.dual is None:
            return 1.0
        lengths = (float(np.linalg.norm(a, 2)) for a in (eraser.basis, eraser.dual))
        return max(1.0, float(np.prod([*lengths])))

    def distances(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Distance of each row from the nearest possible result, as a share of its length.

        NaN for a row that has no direction.
        """
        out = np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                out[start : start + _BLOCK] = self._distances(rows[start : start + _BLOCK])
        return out

    def _distances(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        wide = rows.astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1)
        seen = wide @ self.frame
        if not self.eraser.normalise:
            seen -= self.centre
        seen /= lengths[:, None]
        if self.has_ray:
            ray = self.centre / np.linalg.norm(self.centre)
            seen -= np.maximum(seen @ ray, 0.0)[:, None] * ray
        away = np.asarray(np.linalg.norm(seen, axis=1))
        away[~(np.isfinite(lengths) & (lengths > 0))] = np.nan
        return away

    def tolerances(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Largest distance of each row that rounding explains.

        A bound and no estimate, so a clean row passes always: half a unit in the last place of
        what the row holds, and the computation. A row whose numbers all fit a narrower type was
        rounded to that one on its way.
        """
        out = np.full(len(rows), self.tolerance(rows.dtype))
        for narrow in (np.dtype(np.float32), np.dtype(np.float16)):
            if narrow.itemsize < rows.dtype.itemsize:
                with np.errstate(over="ignore", invalid="ignore"):
                    fits = (rows.astype(narrow).astype(rows.dtype) == rows).all(axis=1)
                out[fits] = self.tolerance(narrow)
        return out

    def tolerance(self, dtype: np.dtype[Any]) -> float:
        root, kept = float(np.sqrt(self.eraser.dim)), np.finfo(dtype)
        work = "float32" if dtype.itemsize < 8 else "float64"
        computing = _SLACK[work] * float(np.finfo(work).eps) * root * self.gain
        return 1.01 * float(kept.eps) / 2 + float(kept.smallest_subnormal) * root / 2 + computing

    def chance(self, tolerance: float) -> float:
        """Probability that a row of random direction is that near: it would pass for clean.

        The squared length of r coordinates of a random unit vector in d dimensions is
        Beta(r/2, (d - r)/2). A ray catches one half by all but one of them.
        """
        rank = self.eraser.rank
        whole = self._within(tolerance, rank)
        return (self._within(tolerance, rank - 1) + whole) / 2 if self.has_ray else whole

    def _within(self, tolerance: float, rank: int) -> float:
        from scipy.special import betainc

        if rank <= 0:
            return 1.0
        rest = self.eraser.dim - rank
        if rest <= 0:
            return 0.0
        return float(betainc(rank / 2, rest / 2, min(tolerance**2, 1.0)))


def dimensions(rows: NDArray[Any]) -> int | None:
    """Dimensions that the rows fill beyond their rounding; None where there are too few to say.

    Rounding of unit rows by u adds a matrix whose largest singular value is near
    u (1 + sqrt(n/d)); four times that is taken for noise.
    """
    count, dim = rows.shape
    if count < dim + max(10, dim // 10):
        return None
    wide = rows.astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    # Arithmetic in float32, as in a model or an index, is noise too, whatever it is kept in.
    unit = max(float(np.finfo(rows.dtype).eps), float(np.finfo(np.float32).eps)) / 2
    strengths = np.linalg.svd(np.linalg.qr(wide, mode="r"), compute_uv=False)
    return int((strengths > 4 * unit * (1 + np.sqrt(count / dim))).sum())
