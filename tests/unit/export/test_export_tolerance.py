"""The stated tolerance is neither broken nor idle."""

from __future__ import annotations

import numpy as np
import pytest
from export_worlds import KINDS, distances, eraser, erasers, vectors
from hypothesis import given, settings

from efface.errors import EraserError
from efface.export.tolerance import residue, tolerance
from efface.protect.linear.eraser import LinearEraser


def reference(one: LinearEraser, x: np.ndarray, dtype: type) -> np.ndarray:
    """The map as a formula, in the given type, written anew."""
    dual = one.basis if one.dual is None else one.dual
    matrix = (np.eye(one.dim) - one.basis @ dual.T).astype(dtype)
    y = x.astype(dtype)
    if one.normalise:
        y = y / np.sqrt((y * y).sum(1, keepdims=True))
    y = y @ matrix.T
    if one.mean is not None:
        y = y + (one.basis @ (dual.T @ one.mean)).astype(dtype)
    return y / np.sqrt((y * y).sum(1, keepdims=True)) if one.normalise else y


@settings(max_examples=30)
@given(erasers())
def test_plain_formula_lies_within_it_in_both_types(one: LinearEraser) -> None:
    x = vectors(one)
    clean = one.transform(x)
    for inside, dtype in (("float64", np.float64), ("float32", np.float32)):
        off = distances(reference(one, x, dtype), clean)
        assert (off <= tolerance(one, x, inside=inside)).all()


@pytest.mark.parametrize("seed", range(0, 300, 7))
def test_the_roundings_of_python_are_counted(seed: int) -> None:
    """In two dimensions with one left every row is one direction: an exact answer, rounded once."""
    one = eraser(dim=2, rank=1, seed=seed)
    x = vectors(one)
    wide = x.astype(np.float64)
    left = wide - wide @ one.basis @ one.basis.T
    exact = (left / np.linalg.norm(left, axis=1, keepdims=True)).astype(np.float32)
    assert (distances(exact, one.transform(x)) <= tolerance(one, x)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_small_enough_to_notice_a_wrong_map(kind: str) -> None:
    one = eraser(kind, dim=512, rank=64)
    x = vectors(one)
    nudged = one.basis + 1e-4 * np.random.default_rng(0).standard_normal(one.basis.shape)
    other = LinearEraser(nudged, one.dual, one.mean, one.normalise)
    off = distances(other.transform(x), one.transform(x))
    assert (off > tolerance(one, x, inside="float32")).all()


def test_float64_allows_ten_thousand_times_less_than_float32() -> None:
    one = eraser()
    x = vectors(one)
    wide = tolerance(one, x, inside="float64", out="float64")
    assert (1e4 * wide < tolerance(one, x, inside="float32", out="float64")).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_residue_is_where_python_refuses(dtype: type) -> None:
    one = LinearEraser(np.eye(4)[:, :1])
    for factor, refused in ((0.5, True), (2.0, False)):
        row = np.array([[1, factor * residue(dtype), 0, 0]], dtype)
        if refused:
            with pytest.raises(EraserError, match="row 0"):
                one.transform(row)
        else:
            assert np.isfinite(one.transform(row)).all()
