"""Thrift's compact protocol: what is packed is read again, and nothing hostile does harm."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.stores import thrift
from efface.stores.parquet_footer import parsed
from efface.stores.parquet_levels import are_all, are_starts, level_bytes
from efface.stores.thrift import Items, Reader, packed

WIDE = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.one_of(
    st.tuples(st.just(thrift.TRUE), st.booleans()),
    st.tuples(st.just(thrift.BYTE), st.integers(0, 255)),
    st.tuples(st.sampled_from([thrift.I16, thrift.I32, thrift.I64]), WIDE),
    st.tuples(st.just(thrift.DOUBLE), st.floats(allow_nan=False)),
    st.tuples(st.just(thrift.BINARY), st.binary(max_size=40)),
)  # fmt: skip
FIELDS = st.integers(1, 200)


def lists(structs: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    many = st.one_of(
        st.lists(structs, max_size=20).map(lambda v: Items(thrift.STRUCT, v)),
        st.lists(st.integers(-(2**31), 2**31), max_size=20).map(lambda v: Items(thrift.I32, v)),
        st.lists(st.binary(max_size=5), max_size=20).map(lambda v: Items(thrift.BINARY, v)),
    )
    pairs = st.lists(st.tuples(st.binary(max_size=3), structs).map(list), min_size=1, max_size=3)
    kinds = thrift.BINARY << 4 | thrift.STRUCT
    return st.one_of(
        st.tuples(st.sampled_from([thrift.LIST, thrift.SET]), many),
        st.tuples(st.just(thrift.STRUCT), structs),
        st.tuples(st.just(thrift.MAP), pairs.map(lambda found: (kinds, found))),
    )


STRUCTS = st.recursive(
    st.dictionaries(FIELDS, NUMBERS, max_size=4),
    lambda inner: st.dictionaries(FIELDS, lists(inner), max_size=4),
    max_leaves=8,
)


@settings(max_examples=100)
@given(STRUCTS)
def test_what_is_packed_is_read_again(fields: Any) -> None:
    data = packed(fields)
    reader = Reader(data)
    assert reader.struct() == fields
    assert reader.at == len(data)


@settings(max_examples=60)
@given(STRUCTS, st.data())
def test_cut_short_is_told(fields: Any, data: st.DataObject) -> None:
    whole = packed(fields)
    at = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ValueError, match=r"cut short|longer than"):
        Reader(whole[:at]).struct()


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_struct_or_an_error(data: bytes) -> None:
    try:
        fields = Reader(data).struct()
    except ValueError:
        return
    assert Reader(packed(fields)).struct() == fields


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x1c" * 200, "nested too deeply"),
        (b"\x19" + b"\x19" * 200, "nested too deeply"),
        (b"\x19\xf5\xff\xff\xff\xff\x0f", "longer than the bytes"),
        (b"\x18\xff\xff\xff\xff\x0f", "cut short"),
        (b"\x16" + b"\xff" * 20, "too many bytes"),
        (b"\x1f\x00", "unknown type 15"),
    ],
)
def test_hostile_bytes(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Reader(data).struct()


def test_a_footer_of_arrow_is_packed_again_byte_for_byte() -> None:
    """So what this reader makes of a footer is all that is in it."""
    sink = io.BytesIO()
    table = pa.table({
        "a": pa.array([1, None, 3]), "b": [["x"], [], None], "c": [{"d": 1.5}] * 3,
        "e": pa.array([np.arange(3.0)] * 3, pa.list_(pa.float64(), 3)),
    })  # fmt: skip
    pq.write_table(table, sink, write_page_index=True, sorting_columns=[pq.SortingColumn(0)])
    data = sink.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    body = data[-8 - length : -8]
    assert packed(Reader(body).struct()) == body
    footer = parsed(body, len(data))
    meta = pq.ParquetFile(io.BytesIO(data)).metadata
    assert footer.rows == meta.num_rows
    for at, (leaf, column) in enumerate(zip(footer.leaves, footer.groups[0].columns, strict=True)):
        theirs, chunk = meta.schema.column(at), meta.row_group(0).column(at)
        assert leaf.path == theirs.path
        assert leaf.definitions == theirs.max_definition_level
        assert leaf.repetitions == theirs.max_repetition_level
        assert column.values == chunk.num_values
        assert column.size == chunk.total_compressed_size


@settings(max_examples=60)
@given(st.integers(1, 40), st.sampled_from([1, 2, 7, 63, 64, 65, 130]), st.integers(1, 4))
def test_levels_of_whole_vectors(rows: int, dim: int, deepest: int) -> None:
    data = level_bytes(rows, dim, deepest)
    length = int.from_bytes(data[:4], "little")
    starts, there = data[4 : 4 + length], data[8 + length :]
    assert are_starts(starts, rows * dim, dim, 0)
    assert are_all(there, rows * dim, deepest)
    if dim > 1:
        assert not are_starts(starts, rows * dim, dim, 1)
        assert rows == 1 or not are_starts(starts, rows * dim, dim + 1, 0)
    assert not are_all(there, rows * dim, deepest + 1)
