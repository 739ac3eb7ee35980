"""What every linear method returns: a small frozen map that knows nothing of fitting."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import EraserError
from efface.results import Scalar

_CHUNK = 2048


@dataclass(frozen=True, eq=False)
class LinearEraser:
    """x -> x - A B'(x - mean), then unit length (P4).

    ``basis`` is A (d x r). ``dual`` is B, given where the projection is oblique (a metric other
    than the identity) and satisfying B'A = I; None means B = A, an orthogonal projection.
    """

    basis: NDArray[np.float64]
    dual: NDArray[np.float64] | None = None
    mean: NDArray[np.float64] | None = None
    normalise: bool = True
    method: str = "linear"
    params: Mapping[str, Scalar] = field(default_factory=dict)
    energy: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Between-identity energy (squared singular values) of every direction found, descending."""
    identities: int = 0
    rows: int = 0
    fit_digest: str = ""
    fingerprints: tuple[str, ...] = ()
    """One content fingerprint per fitted identity: lets an audit keep them out of its test."""
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.basis.ndim != 2:
            raise EraserError("an eraser's basis must be a d x r array")
        for name in ("dual", "mean"):
            value = getattr(self, name)
            if value is not None and value.shape[0] != self.basis.shape[0]:
                raise EraserError(
                    f"the eraser's {name} has {value.shape[0]} rows, its basis "
                    f"{self.basis.shape[0]}"
                )
        if self.dual is not None and self.dual.shape != self.basis.shape:
            raise EraserError("the eraser's dual and basis differ in shape")
        arrays = [a for a in (self.basis, self.dual, self.mean) if a is not None]
        if not all(np.isfinite(a).all() for a in arrays):
            raise EraserError("the eraser holds a value that is not finite")
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))

    @property
    def dim(self) -> int:
        return int(self.basis.shape[0])

    @property
    def rank(self) -> int:
        return int(self.basis.shape[1])

    def digest(self) -> str:
        """SHA-256 over the map itself: two erasers with one digest do the same."""
        sha = hashlib.sha256(f"{self.normalise}".encode())
        for array in (self.basis, self.dual, self.mean):
            sha.update(b"none" if array is None else str(array.shape).encode())
            if array is not None:
                sha.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return sha.hexdigest()

    def project(self, x: NDArray[Any]) -> NDArray[Any]:
        """The linear map alone, no unit length before or after; keeps float32 and float64.

        Computed in float64 whatever comes in: a float32 product leaves a linear trace of what was
        removed, near 1e-7, that a trained attacker reads where little else is left.
        """
        self._check(x)
        return self._erase(x.astype(np.float64)).astype(_dtype(x), copy=False)

    def transform(self, x: NDArray[Any]) -> NDArray[Any]:
        """Unit rows in, unit rows out, chunk by chunk; one vector or many."""
        if x.ndim == 1:
            return np.asarray(self.transform(x[None])[0])
        self._check(x)
        out = np.empty(x.shape, _dtype(x))
        for start in range(0, len(x), _CHUNK):
            rows = slice(start, start + _CHUNK)
            block = x[rows].astype(np.float64)
            if self.normalise:
                _to_unit(block, start)
                _to_unit(self._erase(block), start, _residue(x.dtype))
            else:
                _lengths(self._erase(block), start)
            out[rows] = block
        return out

    def _erase(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """In place: ``x`` is a working copy."""
        dual = self.basis if self.dual is None else self.dual
        coefficients = x @ dual
        if self.mean is not None:
            coefficients -= self.mean @ dual
        x -= coefficients @ self.basis.T
        return x

    def _check(self, x: NDArray[Any]) -> None:
        if x.shape[-1] != self.dim:
            raise EraserError(
                f"the projector was fitted on {self.dim}-dimensional vectors, "
                f"these have {x.shape[-1]}"
            )


def _dtype(x: NDArray[Any]) -> np.dtype[Any]:
    return x.dtype if x.dtype in (np.float32, np.float64) else np.dtype(np.float32)


def _residue(dtype: np.dtype[Any]) -> float:
    """Length below which a unit row holds nothing after erasure but the rounding of its dtype."""
    return 8 * float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)


def _to_unit(x: NDArray[np.float64], start: int, least: float = 0.0) -> None:
    x /= _lengths(x, start, least)[:, None]


def _lengths(x: NDArray[np.float64], start: int, least: float = -1.0) -> NDArray[np.float64]:
    """Lengths of the rows; refuses those without a direction: not finite, or within ``least``."""
    lengths = np.sqrt(np.einsum("ij,ij->i", x, x))
    if not (np.isfinite(lengths) & (lengths > least)).all():
        row = start + int(np.flatnonzero(~(np.isfinite(lengths) & (lengths > least)))[0])
        raise EraserError(
            f"row {row} cannot be brought to unit length (all zero or not finite, before or "
            "after erasure): remove it, or use a lower rank"
        )
    return np.asarray(lengths)
