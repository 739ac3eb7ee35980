"""Lists of numbers in Arrow memory: exact slices, no copy, gaps and ragged rows named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from stored_people import LISTS, People, vector_column

from efface.data.arrow import vector_array, vector_like
from efface.data.readers import load, read_vectors
from efface.errors import DataError

PEOPLE = People.drawn()


@settings(max_examples=60)
@given(
    vectors=hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64]),
        st.tuples(st.integers(1, 9), st.integers(1, 5)),
        elements=st.floats(-9, 9, width=16),
    ),
    kind=st.sampled_from(list(LISTS)),
    data=st.data(),
)
def test_slices_of_lists_are_the_slices_of_the_array(
    vectors: np.ndarray, kind: str, data: st.DataObject
) -> None:
    type_ = LISTS[kind](pa.from_numpy_dtype(vectors.dtype), vectors.shape[1])
    column = vector_column(vectors, type_)
    start = data.draw(st.integers(0, len(vectors) - 1))
    length = data.draw(st.integers(1, len(vectors) - start))
    part = column.slice(start, length)
    got = vector_array(part, "file", "emb")
    np.testing.assert_array_equal(got, vectors[start : start + length])
    assert got.dtype == vectors.dtype
    assert vector_like(got, type_).equals(part)
    assert vector_like(got, type_).type == type_


@pytest.mark.parametrize("kind", LISTS)
def test_arrow_memory_is_not_copied(kind: str) -> None:
    type_ = LISTS[kind](pa.float32(), 4)
    column = vector_column(PEOPLE.vectors, type_)
    got = vector_array(column.slice(3, 5), "file", "emb")
    values = column.flatten().to_numpy()
    assert np.shares_memory(got, values)


def test_a_mapped_fixed_size_list_is_not_copied(tmp_path: Path) -> None:
    table = PEOPLE.table("fixed_size_list")
    with pa.ipc.new_file(str(tmp_path / "emb.arrow"), table.schema) as writer:
        writer.write_table(table)
    before = pa.total_allocated_bytes()
    vectors = read_vectors(tmp_path / "emb.arrow")
    assert pa.total_allocated_bytes() == before
    assert not vectors.flags.owndata
    np.testing.assert_array_equal(vectors, PEOPLE.vectors)


def test_a_column_of_tensors(tmp_path: Path) -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(PEOPLE.vectors)
    pq.write_table(pa.table({"who": PEOPLE.person, "t": tensors}), tmp_path / "emb.parquet")
    np.testing.assert_array_equal(read_vectors(tmp_path / "emb.parquet"), PEOPLE.vectors)


def with_rows(path: Path, rows: list[Any], type_: Any, chunk: int = 2) -> Path:
    table = pa.table({"identity": [f"p{i % 2}" for i in range(len(rows))]})
    table = table.append_column("emb", pa.array(rows, type_))
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=chunk)
    return path


@pytest.mark.parametrize("name", ["emb.parquet", "emb.arrow"])
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize(
    ("third", "words"),
    [
        (None, "no vector in row 3 "),
        ([1.0, None], "an empty element in row 3 "),
        ([1.0, np.nan], "row 3 .*NaN"),
        ([0.0, 0.0], "row 3 .*zeros"),
    ],
)
def test_gaps_are_named(tmp_path: Path, name: str, kind: str, third: Any, words: str) -> None:
    rows = [[1.0, 2.0], [3.0, 1.0], [0.5, 1.0], third, [2.0, 2.0]]
    path = with_rows(tmp_path / name, rows, LISTS[kind](pa.float32(), 2))
    for read in (load, read_vectors):
        with pytest.raises(DataError, match=rf"{name}.*{words}"):
            read(path)


@pytest.mark.parametrize("name", ["emb.parquet", "emb.arrow"])
@pytest.mark.parametrize("kind", ["list", "large_list"])
def test_ragged_lists_are_named_with_both_lengths(tmp_path: Path, name: str, kind: str) -> None:
    # In batches of two rows, row 3 ends one and row 4 begins one.
    for odd in (3, 4):
        rows = [[1.0, 2.0]] * 6
        rows[odd] = [1.0, 2.0, 3.0]
        path = with_rows(tmp_path / name, rows, LISTS[kind](pa.float32(), 2))
        with pytest.raises(DataError, match=rf"ragged: row {odd} .* has 3 elements where .* has 2"):
            load(path)
