"""Files that claim more than they can hold are refused before memory or time is spent on it."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_runs import axes, run
from test_store_hostile_parquet import edited, meta_of

from efface.errors import DataError
from efface.stores import ipc_messages
from efface.stores.address import open_source, parse
from efface.stores.ipc_messages import _Table, scan
from efface.stores.parquet_footer import read_footer
from efface.stores.thrift import I64

DIM = 6
VECTORS = np.random.default_rng(0).standard_normal((20, DIM)).astype(np.float32)
ABSURD = 1 << 40


def refused(path: Path, words: str) -> None:
    """For whoever opens it, in words that name the file; nothing is left beside it."""
    before = {p.name for p in path.parent.iterdir()}
    with pytest.raises(DataError, match=rf"{path.name}: {words}"):
        open_source(parse(str(path))).shape  # noqa: B018  found on opening or on the first look
    with pytest.raises(DataError, match=rf"{path.name}: {words}"):
        run(path, path.with_name(f"new{path.suffix}"), axes(DIM))
    assert {p.name for p in path.parent.iterdir()} == before


# --- Arrow ----------------------------------------------------------------------------------


def arrow(path: Path, vectors: np.ndarray, codec: str | None = None) -> Path:
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    table = pa.table({"emb": column})
    options = pa.ipc.IpcWriteOptions(compression=codec)
    make = pa.ipc.new_stream if path.suffix == ".ipc" else pa.ipc.new_file
    with make(str(path), table.schema, options=options) as writer:
        writer.write_table(table)
    return path


def claim(path: Path, rows: int) -> None:
    """The file again, whose record batch says that it has so many rows."""
    data = bytearray(path.read_bytes())
    at = 8 if data[:6] == b"ARROW1" else 0
    while True:
        start = at + 8
        (length,) = struct.unpack_from("<I", data, at + 4)
        message = _Table.root(bytes(data[start : start + length]))
        if message.number(1, "<B") == ipc_messages._BATCH:
            break
        at = start + length + message.number(3, "<q")
    batch = message.table(2)
    assert batch is not None
    assert batch.number(0, "<q") == len(VECTORS)
    struct.pack_into("<q", data, start + batch._field(0), rows)
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["emb.arrow", "emb.ipc"])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_a_batch_with_more_rows_than_its_body_can_hold(
    tmp_path: Path, name: str, codec: str | None
) -> None:
    path = arrow(tmp_path / name, VECTORS, codec)
    assert scan(path).rows == (20,)
    claim(path, ABSURD)
    refused(path, f"cannot be read .a record batch says it has {ABSURD} rows, in [0-9]+ bytes")
    claim_again = arrow(path, VECTORS, codec)
    claim(claim_again, -1)
    refused(path, "cannot be read .a record batch has fewer than no rows")


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_the_densest_body_there_is_passes(tmp_path: Path, codec: str) -> None:
    """Two million rows of zeros in as few bytes as the codec can make of them."""
    path = arrow(tmp_path / "emb.arrow", np.zeros((2_000_000, 1), np.float16), codec)
    assert path.stat().st_size < 40_000
    assert scan(path).rows == (2_000_000,)


# --- Parquet --------------------------------------------------------------------------------


def test_parts_beyond_all_reason_are_refused(tmp_path: Path) -> None:
    """A column of nulls takes no room, so no byte count can tell; parts and memory are bounded."""
    path = tmp_path / "emb.parquet"
    lists = pa.array(list(VECTORS), pa.list_(pa.float32()))
    pq.write_table(pa.table({"emb": lists}), path)
    rows = (read_footer(path).groups[0].columns[0].size << 20) - 1
    edited(path, lambda raw, groups: absurd(raw, groups, rows))
    store = open_source(parse(str(path)))
    assert store.shape.rows == rows
    with pytest.raises(DataError, match=r"emb.parquet: says it has .* give --part-rows"):
        run(path, tmp_path / "new.parquet", axes(DIM), part_rows=5)
    assert not list(tmp_path.glob("new*"))


def absurd(raw: Any, groups: Any, rows: int) -> None:
    raw[3] = groups[0][3] = I64, rows
    meta_of(groups)[5] = I64, rows


# --- NumPy ----------------------------------------------------------------------------------


def header(shape: str, descr: str = "<f4", fortran: bool = False) -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    data = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(data)) + data


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("(-20, -6)", "cannot be read .an array of shape"),
        ("(-20, 6)", "cannot be read .an array of shape"),
        ("(True, 6)", "cannot be read .an array of shape"),
        (f"({ABSURD}, 6)", "cannot be read .it is cut short"),
        (f"({1 << 62}, {1 << 62})", "cannot be read .it is cut short"),
    ],
)
def test_an_array_of_a_shape_that_cannot_be(tmp_path: Path, shape: str, words: str) -> None:
    (tmp_path / "emb.npy").write_bytes(header(shape) + VECTORS.tobytes())
    refused(tmp_path / "emb.npy", words)


def test_an_array_of_a_type_that_differs_from_machine_to_machine(tmp_path: Path) -> None:
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("no longer numbers here")
    np.save(tmp_path / "emb.npy", VECTORS.astype(np.longdouble))
    refused(tmp_path / "emb.npy", r"vectors of type float\d+ differ .*convert them to float64")


def zipped(path: Path, rows: int, fortran: bool) -> None:
    """An npz whose member claims, in its own header and in the zip's, to have so many rows."""
    start = header(f"({rows}, {DIM})", fortran=fortran)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("emb.npy", start + VECTORS.tobytes())
    data = bytearray(path.read_bytes())
    entry, end = data.rindex(b"PK\1\2"), data.rindex(b"PK\5\6")
    extra = struct.pack("<HHQ", 1, 8, len(start) + rows * DIM * 4)
    (name,) = struct.unpack_from("<H", data, entry + 28)
    (size,) = struct.unpack_from("<I", data, end + 12)
    struct.pack_into("<I", data, end + 12, size + len(extra))
    struct.pack_into("<I", data, entry + 24, 0xFFFFFFFF)  # look into the extra field
    struct.pack_into("<H", data, entry + 30, len(extra))
    data[entry + 46 + name : entry + 46 + name] = extra
    path.write_bytes(data)


@pytest.mark.parametrize("fortran", [False, True])
def test_a_member_larger_than_its_bytes_can_unpack_to(tmp_path: Path, fortran: bool) -> None:
    zipped(tmp_path / "emb.npz", ABSURD, fortran)
    refused(tmp_path / "emb.npz", "cannot be read .array 'emb' says it has [0-9]+ bytes, of [0-9]+")


@pytest.mark.parametrize("fortran", [False, True])
def test_a_member_that_ends_before_its_end_is_named(tmp_path: Path, fortran: bool) -> None:
    zipped(tmp_path / "emb.npz", 1000, fortran)
    with pytest.raises(DataError, match=r"emb\.npz: cannot be read .*(ends early|EOF)"):
        run(tmp_path / "emb.npz", tmp_path / "new.npz", axes(DIM))


def test_the_densest_member_there_is_passes(tmp_path: Path) -> None:
    zeros: Any = np.zeros((400_000, DIM), np.float32)
    np.savez_compressed(tmp_path / "emb.npz", emb=zeros)
    assert (tmp_path / "emb.npz").stat().st_size < 10_500
    assert open_source(parse(str(tmp_path / "emb.npz"))).shape.rows == 400_000
