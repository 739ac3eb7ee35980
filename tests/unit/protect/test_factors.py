"""The form with fewer operations is the same map, and leaves no more behind than the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_blocks import slow, some_eraser

from efface.errors import EraserError
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.factors import Factors


def applied(by: Factors, x: np.ndarray) -> np.ndarray:
    """x - A (B'x - B'mean), read off the form as its docstring says."""
    c = x @ by.dual - (0.0 if by.shift is None else by.shift)
    y = x.copy()
    y[:, by.same] -= c[:, : by.same.stop - by.same.start]
    y[:, by.rest] -= c @ by.rows
    return y


def definition(eraser: LinearEraser, x: np.ndarray) -> np.ndarray:
    dual = eraser.basis if eraser.dual is None else eraser.dual
    mean = np.zeros(eraser.dim) if eraser.mean is None else eraser.mean
    return x - (x - mean) @ dual @ eraser.basis.T


@settings(max_examples=40, deadline=None)
@given(
    dim=st.integers(2, 40),
    share=st.floats(0, 1),
    kind=st.sampled_from(["orthogonal", "oblique", "affine"]),
    seed=st.integers(0, 999),
)
def test_both_forms_are_the_map(dim: int, share: float, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    eraser = some_eraser(rng, dim, int(share * (dim - 1)), kind)
    x = rng.standard_normal((7, dim))
    for make in (Factors.plain, Factors.short):
        by = make(eraser.basis, eraser.dual, eraser.mean)
        wanted = definition(eraser, x)
        slack = 1e-14 * by.spread * dim * max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(applied(by, x), wanted, rtol=0, atol=slack)


@pytest.mark.parametrize(("dead", "same"), [(0, slice(0, 3)), (8, slice(7, 10))])
def test_the_better_end_becomes_the_identity(
    rng: np.random.Generator, dead: int, same: slice
) -> None:
    """Dimensions that are always zero have no directions: the other end is taken."""
    basis = np.zeros((10, 3))
    basis[:8] = np.linalg.qr(rng.standard_normal((8, 3)))[0]
    basis = basis if dead == 0 else basis[::-1].copy()
    assert Factors.short(basis, None, None).same == same


def test_with_no_sound_end_the_plain_form_is_used(rng: np.random.Generator) -> None:
    basis = np.zeros((12, 3))
    basis[4:8] = np.linalg.qr(rng.standard_normal((4, 3)))[0]
    by = Factors.short(basis, None, None)
    assert by.same == slice(0, 0)
    assert by.spread == 1
    nearly = np.linalg.qr(basis + 1e-6 * rng.standard_normal(basis.shape))[0]
    assert Factors.short(nearly, None, None).same == slice(0, 0)  # it would round 1e6-fold


def test_float32_results_keep_nothing_of_what_was_removed(rng: np.random.Generator) -> None:
    """What a regression finds of the removed coefficients is what it finds after exact rounding."""
    basis = np.linalg.qr(rng.standard_normal((96, 40)))[0]
    eraser = LinearEraser(basis)
    x = rng.standard_normal((6000, 96)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    removed = x.astype(np.float64) @ basis

    def found(release: np.ndarray) -> float:
        """R² on rows not fitted, from the trace along the basis, blown up to unit variance."""
        trace = release.astype(np.float64) @ basis
        trace = (trace - trace.mean(0)) / trace.std(0)
        coefficients = np.linalg.lstsq(trace[:4000], removed[:4000], rcond=None)[0]
        left = removed[4000:] - trace[4000:] @ coefficients
        return 1 - float((left**2).sum() / (removed[4000:] ** 2).sum())

    exact = np.array([slow(eraser, row) for row in x])
    off = basis + 1e-7 * rng.standard_normal(basis.shape)
    assert found((x - (x @ off) @ off.T).astype(np.float32)) > 0.5  # a map wrong by 1e-7 leaks
    assert found(eraser.transform(x)) < found(exact.astype(np.float32)) + 0.02
    assert found(exact.astype(np.float32)) < 0.02


def test_float64_results_come_from_the_plain_form(rng: np.random.Generator) -> None:
    """They have no coarser rounding to hide behind: bit by bit the two plain products."""
    basis = np.linalg.qr(rng.standard_normal((64, 30)))[0]
    x = rng.standard_normal((5, 64))
    left = x - (x @ basis) @ basis.T
    np.testing.assert_allclose(
        LinearEraser(basis).transform(x),
        left / np.linalg.norm(left, axis=1, keepdims=True),
        rtol=0,
        atol=4e-16,
    )


def test_rows_in_doubt_are_measured_before_they_are_refused(rng: np.random.Generator) -> None:
    """Little is left of them, but more than rounding: the bound alone would refuse them."""
    basis = np.linalg.qr(rng.standard_normal((64, 30)))[0]
    eraser = LinearEraser(basis)
    spread = Factors.short(basis, None, None).spread
    inside = basis @ rng.standard_normal((30, 9))
    beside = rng.standard_normal((64, 9))
    beside -= basis @ (basis.T @ beside)
    x = (inside / np.linalg.norm(inside, axis=0)).T + 3e-6 * (
        beside / np.linalg.norm(beside, axis=0)
    ).T
    kept = 3e-6
    assert 8 * np.finfo(np.float32).eps < kept < 8 * np.finfo(np.float32).eps * spread
    out = eraser.transform(x.astype(np.float32))
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, atol=1e-6)
    x[4] = inside[:, 4]
    with pytest.raises(EraserError, match="row 4 cannot"):
        eraser.transform(x.astype(np.float32))
