"""What every linear method returns: a small frozen map that knows nothing of fitting."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import EraserError
from efface.protect.linear import blocks
from efface.protect.linear.factors import Factors
from efface.results import Scalar

_FAR = 1e30
"""Rows of lengths beyond this, or below its inverse, are not scaled in float32."""


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

    def __reduce__(self) -> Any:
        """Travels to worker processes by its fields: a read-only view of ``params`` does not."""
        values = [getattr(self, f.name) for f in fields(self)]
        return LinearEraser, tuple(dict(v) if isinstance(v, Mapping) else v for v in values)

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
        y = np.array(np.atleast_2d(x), np.float64)
        off = self._coefficients(y, None, self._plain, blocks.Scratch())
        return (y - off @ self._plain.rows).reshape(x.shape).astype(_dtype(x), copy=False)

    def transform(self, x: NDArray[Any]) -> NDArray[Any]:
        """Unit rows in, unit rows out, block by block; one vector or many."""
        if x.ndim == 1:
            return np.asarray(self.transform(x[None])[0])
        self._check(x)
        out = np.empty(x.shape, _dtype(x))
        factors = self._plain if out.dtype == np.float64 else self._short
        scratch = blocks.Scratch()
        blocks.each(
            lambda rows: self._transform(x[rows], out[rows], rows.start, factors, scratch), len(x)
        )
        return out

    def _transform(
        self, x: NDArray[Any], out: NDArray[Any], start: int, by: Factors, scratch: blocks.Scratch
    ) -> None:
        """One block. P(x / |x|) points where P x does, so rows come to unit length only once."""
        y = scratch.array("left", *x.shape)
        with np.errstate(all="ignore"):  # what no number can hold is refused by name
            np.copyto(y, x, casting="same_kind")
            lengths = self._lengths(y)
            off = self._coefficients(y, lengths, by, scratch)
            taken = scratch.array("taken", len(y), by.rows.shape[1])
            np.matmul(off, by.rows, out=taken)
            y[:, by.same] -= off[:, : by.same.stop - by.same.start]
            y[:, by.rest] -= taken
            after = _squares(y)
            _put(y, after if self.normalise else None, out)
            most = after + by.spread**2 * _squares(off) if lengths is None else lengths**2
        _refuse_empty(x, most, after, start, _residue(x.dtype) if self.normalise else None)

    def _lengths(self, y: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Lengths of the rows, where an orthogonal map does not tell them afterwards."""
        oblique = self.dual is not None or self.mean is not None
        return np.sqrt(_squares(y)) if oblique and self.normalise else None

    def _coefficients(
        self, y: NDArray[Any], lengths: NDArray[Any] | None, by: Factors, scratch: blocks.Scratch
    ) -> NDArray[np.float64]:
        """B'(y - lengths x mean): what is to be taken off, along the columns of A."""
        off = np.matmul(y, by.dual, out=scratch.array("off", len(y), self.rank))
        if by.shift is not None:
            off -= by.shift if lengths is None else lengths[:, None] * by.shift
        return off

    @cached_property
    def _plain(self) -> Factors:
        return Factors.plain(self.basis, self.dual, self.mean)

    @cached_property
    def _short(self) -> Factors:
        """For results in float32, whose own rounding hides what this form adds."""
        return Factors.short(self.basis, self.dual, self.mean)

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


def _squares(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared lengths of the rows; each a product of BLAS, at twice the speed of einsum."""
    return np.asarray(np.matmul(x[:, None], x[:, :, None])[:, 0, 0])


def _put(y: NDArray[np.float64], squares: NDArray[np.float64] | None, out: NDArray[Any]) -> None:
    """The rows in the type of ``out``; to unit length where their squared lengths are given."""
    if squares is None:
        np.copyto(out, y, casting="same_kind")
        return
    factors = 1 / np.sqrt(squares)
    if factors.min() > 1 / _FAR and factors.max() < _FAR:
        np.copyto(out, y, casting="same_kind")  # in the type of out: half of one mixed pass
        out *= factors.astype(out.dtype)[:, None]
    else:  # lengths, or a factor, that float32 may not hold
        np.copyto(out, y * factors[:, None], casting="same_kind")


def _refuse_empty(
    x: NDArray[Any],
    most: NDArray[np.float64],
    after: NDArray[np.float64],
    start: int,
    least: float | None,
) -> None:
    """Refuses rows without a direction: not finite, or of a length within ``least`` of before.

    ``most`` bounds the squared lengths before; only rows that it leaves in doubt are measured.
    """
    bad = ~np.isfinite(after)
    if least is not None:
        bad |= ~(after > least**2 * most)
    if bad.any():
        rows = np.flatnonzero(bad)
        before = _squares(x[rows].astype(np.float64))
        sound = np.isfinite(after[rows]) & np.isfinite(before)
        if least is not None:
            sound &= after[rows] > least**2 * before
        if not sound.all():
            raise EraserError(
                f"row {start + rows[~sound][0]} cannot be brought to unit length (all zero or not "
                "finite, before or after erasure): remove it, or use a lower rank"
            )
