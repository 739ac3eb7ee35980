"""Blocks and threads change nothing but the time; an eraser travels whole."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.errors import EraserError
from efface.protect.linear.blocks import ROWS, each
from efface.protect.linear.eraser import LinearEraser


def some_eraser(rng: np.random.Generator, dim: int, rank: int, kind: str) -> LinearEraser:
    basis = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    if kind == "orthogonal":
        return LinearEraser(basis)
    metric = rng.standard_normal((dim, dim))
    metric = metric @ metric.T + np.eye(dim)
    dual = metric @ basis @ np.linalg.inv(basis.T @ metric @ basis)
    mean = rng.standard_normal(dim) / 4
    return LinearEraser(basis, dual, mean, normalise=kind == "oblique", params={"rank": rank})


def slow(eraser: LinearEraser, row: np.ndarray) -> np.ndarray:
    """The definition, one vector at a time."""
    dual = eraser.basis if eraser.dual is None else eraser.dual
    x = row.astype(np.float64)
    x = x / np.linalg.norm(x) if eraser.normalise else x
    mean = np.zeros(len(x)) if eraser.mean is None else eraser.mean
    y = x - eraser.basis @ (dual.T @ (x - mean))
    return y / np.linalg.norm(y) if eraser.normalise else y


@pytest.mark.parametrize("scale", [1e-42, 1e-39, 1e-36, 1e-31, 1e31, 1e37])
@pytest.mark.parametrize("kind", ["orthogonal", "oblique"])
def test_rows_at_the_ends_of_float32_come_to_unit_length(
    rng: np.random.Generator, kind: str, scale: float
) -> None:
    """Neither their squares nor the factor that brings them to length one has a float32."""
    eraser = some_eraser(rng, 8, 3, kind)
    x = (scale * rng.standard_normal((5, 8))).astype(np.float32)
    wanted = np.array([slow(eraser, row) for row in x])
    np.testing.assert_allclose(eraser.transform(x), wanted, rtol=4e-7, atol=4e-7)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.sampled_from([1, 2, 63, 64, ROWS, ROWS + 1, 3 * ROWS - 5]),
    rank=st.integers(0, 5),  # of 8: what is left of a row never drowns in float16
    kind=st.sampled_from(["orthogonal", "oblique", "affine"]),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
    seed=st.integers(0, 99),
)
def test_any_number_of_rows_is_the_definition_row_by_row(
    rows: int, rank: int, kind: str, dtype: type, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    eraser = some_eraser(rng, 8, rank, kind)
    x = (scale * rng.standard_normal((rows, 8))).astype(dtype)
    got = eraser.transform(x)
    assert got.dtype == (np.float64 if dtype is np.float64 else np.float32)
    tolerance = 1e-11 if dtype is np.float64 else 4e-7
    wanted = np.array([slow(eraser, row) for row in x])
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * max(1.0, scale))


def test_no_rows_give_no_rows(rng: np.random.Generator) -> None:
    assert some_eraser(rng, 8, 2, "oblique").transform(np.empty((0, 8))).shape == (0, 8)


def test_of_several_bad_rows_the_first_is_named(rng: np.random.Generator) -> None:
    x = rng.standard_normal((4 * ROWS, 8))
    x[[ROWS + 7, 3 * ROWS]] = np.nan
    with pytest.raises(EraserError, match=f"row {ROWS + 7} "):
        some_eraser(rng, 8, 2, "orthogonal").transform(x)


def test_every_row_is_worked_on_once() -> None:
    seen = np.zeros(5 * ROWS + 3, np.int64)

    def mark(rows: slice) -> None:
        seen[rows] += 1

    each(mark, len(seen))
    assert (seen == 1).all()


def test_blas_threads_are_given_back(rng: np.random.Generator) -> None:
    from threadpoolctl import threadpool_info

    def threads() -> list[Any]:
        return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]

    eraser = some_eraser(rng, 8, 2, "orthogonal")
    eraser.transform(np.ones((2 * ROWS, 8)))  # loads what it needs
    before = threads()
    eraser.transform(np.ones((4 * ROWS, 8)))
    assert threads() == before


@pytest.mark.parametrize("kind", ["orthogonal", "oblique", "affine"])
def test_an_eraser_travels_to_another_process(rng: np.random.Generator, kind: str) -> None:
    eraser = some_eraser(rng, 8, 2, kind)
    x = rng.standard_normal((70, 8))
    expected = eraser.transform(x)
    arrived = pickle.loads(pickle.dumps(eraser))
    assert arrived.digest() == eraser.digest()
    assert dict(arrived.params) == dict(eraser.params)
    np.testing.assert_array_equal(arrived.transform(x), expected)
