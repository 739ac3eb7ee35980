"""Arrays to samples: what comes out, and what is refused with which words (P1, P2)."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from efface.data.samples import samples
from efface.errors import DataError

EYE = np.eye(4)[[0, 1, 2, 3]]
WHO = ["ann", "bob", "ann", "bob"]


def lengths(data: np.ndarray) -> np.ndarray:
    return np.sqrt((data.astype(np.float64) ** 2).sum(axis=1))


# --- vectors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "working", "stored"),
    [
        ("float16", "float32", "float16"),
        ("float32", "float32", "float32"),
        (">f4", "float32", "float32"),
        ("float64", "float64", "float64"),
        ("int8", "float32", "float32"),
        ("uint8", "float32", "float32"),
    ],
)
def test_types(rng: np.random.Generator, dtype: str, working: str, stored: str) -> None:
    data = rng.integers(1, 100, (6, 5)).astype(dtype)
    made = samples(data, [0, 0, 1, 1, 2, 2])
    assert made.data.dtype == working
    assert made.data.dtype.isnative
    assert made.stored_dtype == stored
    truth = data.astype(np.float64) / lengths(data)[:, None]
    np.testing.assert_allclose(made.data, truth, rtol=3e-7)


@pytest.mark.parametrize("scale", [1e-30, 1e30, 1e37])
def test_float32_squares_neither_overflow_nor_vanish(scale: float) -> None:
    row = (np.array([3.0, 4.0]) * scale).astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        assert np.sum(row * row) in (0, np.inf)
    made = samples(np.stack([row, row[::-1]]), [0, 1])
    np.testing.assert_allclose(made.data, [[0.6, 0.8], [0.8, 0.6]], rtol=1e-6)


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e200, 4e307])
def test_float64_at_the_ends_of_its_range(scale: float) -> None:
    made = samples(np.array([[scale, 0.0], [scale, scale]]), [0, 1])
    np.testing.assert_allclose(made.data, [[1, 0], [2**-0.5, 2**-0.5]], rtol=1e-15)


def test_the_largest_float16_row_has_length_one() -> None:
    data = np.full((2, 512), 65504, np.float16)
    with np.errstate(over="ignore"):
        assert np.isinf(data * data).all()
    np.testing.assert_allclose(samples(data, [0, 1]).data, 512**-0.5, rtol=1e-6)


finite = {"allow_nan": False, "allow_infinity": False}


@given(
    hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64]),
        st.tuples(st.integers(2, 6), st.integers(1, 9)),
        elements=st.floats(-6e4, 6e4, width=16, **finite),
    )
)
def test_rows_have_length_one_and_twice_is_once(data: np.ndarray) -> None:
    data[:, 0] = np.where(np.any(data, axis=1), data[:, 0], 1)
    once = samples(data, np.arange(len(data)))
    np.testing.assert_allclose(lengths(once.data), 1, atol=1e-6)
    twice = samples(once.data, once.identity)
    assert twice.data.tobytes() == once.data.tobytes()
    assert twice.digest() == once.digest()


@pytest.mark.parametrize("dim", [2, 512, 2048])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reading_own_output_keeps_the_digest(
    rng: np.random.Generator, dim: int, dtype: type
) -> None:
    once = samples(rng.standard_normal((300, dim)).astype(dtype), np.arange(300) % 30)
    assert samples(once.data, once.identity).digest() == once.digest()


def test_the_input_is_not_touched_and_not_shared(rng: np.random.Generator) -> None:
    data = rng.standard_normal((4, 3)).astype(np.float32)
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    before = data.copy()
    made = samples(data, WHO)
    made.data[:] = 0
    np.testing.assert_array_equal(data, before)


def test_peak_memory_is_one_copy_and_some_blocks(rng: np.random.Generator) -> None:
    data = rng.standard_normal((30_000, 256)).astype(np.float32)
    who = np.arange(len(data)) % 500
    tracemalloc.start()
    samples(data, who)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < data.nbytes + 24e6  # one float64 copy would already be 61e6


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({2: np.nan}, "row 2 .*contains NaN"),
        ({1: np.inf, 3: -np.inf}, "rows 1, 3 .*contain an infinite value"),
        ({0: 0.0}, "row 0 .*nothing but zeros"),
        ({0: np.nan, 1: np.nan, 2: np.nan, 3: np.nan, 4: np.nan}, "rows 0, 1, 2 and 2 more .*NaN"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_bad_rows_are_named(spoil: dict[int, float], words: str, dtype: type) -> None:
    data = np.ones((5, 3), dtype)
    for row, value in spoil.items():
        data[row] = value
    with pytest.raises(DataError, match=f"faces: {words}.*: remove or recompute"):
        samples(data, [0, 1, 2, 0, 1], dataset="faces")


def test_bad_rows_are_named_in_every_block() -> None:
    data = np.ones((5000, 1024), np.float32)  # a block is about 500 rows
    data[[700, 4999], 5] = np.nan
    with pytest.raises(DataError, match="rows 700, 4999 "):
        samples(data, np.arange(5000) % 9)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.ones((4, 2), bool), "type bool are not numeric"),
        (np.ones((4, 2), complex), "complex128 are not numeric"),
        (np.array([["a", "b"]] * 4), "not numeric"),
        (np.array([[1, None]] * 4, object), "type object are not numeric"),
        (np.ones(4), r"2-D array .*shape \(4,\)"),
        (np.ones((4, 2, 2)), "2-D array"),
        (np.ones((0, 2)), "no vectors"),
        (np.ones((4, 0)), "no vectors"),
        ([[1.0, 2.0], [1.0]], "do not form an array.*same length"),
        (np.ma.masked_invalid([[1.0, np.nan]] * 4), "masked"),
    ],
)
def test_what_is_no_matrix_of_numbers(data: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        samples(data, WHO)


# --- identities -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identity", "names"),
    [
        (["bob", "ann", "bob", "cid"], ["ann", "bob", "cid"]),
        (np.array(["bob", "ann", "bob", "cid"]), ["ann", "bob", "cid"]),
        (np.array(["bob", "ann", "bob", "cid"], object), ["ann", "bob", "cid"]),
        (np.array([b"bob", b"ann", b"bob", b"cid"]), ["ann", "bob", "cid"]),
        ([np.str_("bob"), "ann", "bob", "cid"], ["ann", "bob", "cid"]),
        ([7, -3, 7, 10], [-3, 7, 10]),
        (np.array([7, -3, 7, 10], object), [-3, 7, 10]),
        (np.array([7, 2, 7, 10], np.uint8), [2, 7, 10]),
        (np.array([2**63, 2, 2**63, 2**64 - 1], np.uint64), [2, 2**63, 2**64 - 1]),
        (["10", "9", "10", "Ä"], ["10", "9", "Ä"]),
    ],
)
def test_labels_become_codes_of_sorted_names(identity: Any, names: list[Any]) -> None:
    made = samples(EYE, identity)
    assert made.names.tolist() == names
    assert made.identity.dtype == np.int64
    given_labels = [v.decode() if isinstance(v, bytes) else v for v in identity]
    assert made.names[made.identity].tolist() == given_labels


@given(st.lists(st.text(st.characters(exclude_characters="\0"), min_size=1), min_size=2))
def test_codes_are_those_of_a_slow_reference(texts: list[str]) -> None:
    texts = [f"x{text}" for text in texts]
    if len(set(texts)) < 2:
        return
    made = samples(np.ones((len(texts), 2)), texts)
    order = sorted(set(texts))
    assert made.identity.tolist() == [order.index(text) for text in texts]


def test_codes_follow_names_when_these_are_given() -> None:
    made = samples(EYE, [2, 0, 2, 0], names=["zoe", "unused", "ann"])
    assert made.names.tolist() == ["ann", "zoe"]
    assert made.identity.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        ([1.0, 2.0, 1.0, 2.0], "identities are float64: use text or whole numbers"),
        ([1.0, np.nan, 1.0, 2.0], "no identity in row 1 "),
        (np.array([1.5, np.nan, 1.0, np.nan]), "no identity in rows 1, 3 "),
        (["ann", None, "bob", None], "no identity in rows 1, 3 "),
        (["ann", float("nan"), "bob", "ann"], "no identity in row 1 "),
        (["ann", "bob", " ", ""], "no identity in rows 2, 3 "),
        ([1, None, 2, 1], "no identity in row 1 "),
        ([True, False, True, False], "identities are bool"),
        (["ann", 1, "ann", 1], "str in row 0 and int in row 1"),
        ([1, True, 2, 1], "int in row 0 and bool in row 1"),
        ([[0, 1]] * 4, "one label per row.*argmax"),
        (np.eye(4), "one label per row.*argmax"),
        (np.array(["2020-01-01"] * 4, "datetime64[D]"), "datetime64"),
        (np.array([b"\xff\xfe"] * 4), "cannot be read"),
        (["ann", "bob", "ann"], "4 vectors but 3 identities"),
        (["ann"] * 4, r"only one identity \(ann\): need at least two"),
        ([5] * 4, r"only one identity \(5\)"),
    ],
)
def test_labels_that_are_refused(identity: Any, words: str) -> None:
    with pytest.raises(DataError, match=f"faces: .*{words}"):
        samples(EYE, identity, dataset="faces")


@pytest.mark.parametrize(
    ("identity", "names", "words"),
    [
        ([0, 1, 2, 0], ["a", "b"], "identity 2 in row 2 has no name"),
        ([0, -1, 1, 0], ["a", "b"], "identity -1 in row 1 has no name"),
        (["a", "b", "a", "b"], ["a", "b"], "must be positions"),
        ([0, 1, 0, 1], ["a", "a"], "distinct"),
    ],
)
def test_names_that_do_not_fit(identity: Any, names: list[str], words: str) -> None:
    with pytest.raises(DataError, match=words):
        samples(EYE, identity, names=names)


# --- attributes -----------------------------------------------------------------------------


def test_attributes_are_columns() -> None:
    made = samples(EYE, WHO, attributes={"age": [1, 2, 3, 4], "place": ["x", "y", "x", None]})
    assert made.attributes["age"].dtype.kind == "i"
    assert made.attributes["place"].tolist() == ["x", "y", "x", None]


@pytest.mark.parametrize("column", [[1, 2, 3], np.ones((4, 2)), 7])
def test_attributes_need_one_value_per_row(column: Any) -> None:
    with pytest.raises(DataError, match="attribute 'age' has shape"):
        samples(EYE, WHO, attributes={"age": column})
