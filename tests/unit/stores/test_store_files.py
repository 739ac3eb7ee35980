"""A file that went through an eraser differs from its source in the vectors and nothing else."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_runs import chunks, expected, run, same, stores

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from stored_people import LISTS, WRITERS, People, vector_column, write_table

from efface.data.readers import load, read_vectors
from efface.stores.ipc import IpcSource

PEOPLE = People.drawn(rows=20, dim=6)
PARTS = [1, 7, 1000]


@pytest.mark.parametrize("rows", PARTS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", WRITERS)
def test_vectors_change_and_columns_stay(tmp_path: Path, rows: int, name: str, dtype: str) -> None:
    people = People.drawn(rows=20, dim=6, dtype=dtype)
    source, target = tmp_path / name, tmp_path / f"new-{name}"
    WRITERS[name](people, source)
    before = source.read_bytes()
    told: list[tuple[int, int]] = []
    receipt = run(source, target, part_rows=rows, progress=lambda a, b: told.append((a, b)))
    assert receipt.rows.written == 20
    assert told[-1] == (20, 20)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    got = read_vectors(target)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, expected(people.vectors))
    assert not np.array_equal(got, people.vectors)
    assert source.read_bytes() == before
    if name == "emb.npy":
        (tmp_path / "emb.csv").rename(tmp_path / "new-emb.csv")
    read = load(target, identity="person")
    assert read.names[read.identity].tolist() == people.person
    assert read.attributes["age"].tolist() == people.age
    assert not list(tmp_path.glob("*.efface-work"))


def rich_table(kind: str) -> pa.Table:
    """Text codes, gaps, nested columns, metadata on the table and on a field."""
    lists = LISTS[kind](pa.field("element", pa.float16(), nullable=False), 6)
    vectors = PEOPLE.vectors.astype(np.float16)
    schema = pa.schema(
        [
            pa.field("person", pa.dictionary(pa.int8(), pa.string()), nullable=False),
            pa.field("emb", lists, nullable=False, metadata={"model": "m1"}),
            pa.field("when", pa.timestamp("us", tz="UTC")),
            pa.field("box", pa.list_(pa.int32())),
            pa.field("more", pa.struct([("a", pa.int8()), ("b", pa.string())])),
            pa.field("score", pa.decimal128(5, 2)),
        ],
        metadata={"origin": "camera 3", "pandas": "{}"},
    )
    columns = [
        pa.array(PEOPLE.person).dictionary_encode().cast(schema.field("person").type),
        vector_column(vectors, lists),
        pa.array([None, *range(19)], pa.timestamp("us", tz="UTC")),
        pa.array([[1, 2], None, []] * 6 + [[3], [4]], pa.list_(pa.int32())),
        pa.array([{"a": 1, "b": None}] * 20, schema.field("more").type),
        pa.array([None] * 20, schema.field("score").type),
    ]
    return pa.table(columns, schema=schema)


def read_table(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pa.memory_map(str(path)) as source:
        stream = path.suffix == ".ipc"
        reader = pa.ipc.open_stream(source) if stream else pa.ipc.open_file(source)
        return reader.read_all()


@pytest.mark.parametrize("rows", PARTS)
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".ipc", ".feather"])
def test_schema_and_neighbours_are_kept(tmp_path: Path, rows: int, kind: str, ending: str) -> None:
    source, target = tmp_path / f"old{ending}", tmp_path / f"new{ending}"
    write_table(rich_table(kind), source)
    run(source, target, part_rows=rows)
    old, new = read_table(source), read_table(target)
    assert new.schema.equals(old.schema, check_metadata=True)
    same(new.drop_columns("emb"), old.drop_columns("emb"))
    got = np.array(new.column("emb").to_pylist(), np.float16)
    np.testing.assert_array_equal(got, expected(PEOPLE.vectors.astype(np.float16)))


def test_parquet_codecs_are_kept(tmp_path: Path) -> None:
    write_table(rich_table("list"), tmp_path / "old.parquet")
    run(tmp_path / "old.parquet", tmp_path / "new.parquet")
    old, new = (
        {c["path"]: c["codec"] for c in chunks(tmp_path / f"{name}.parquet")}
        for name in ("old", "new")
    )
    assert new == old
    assert {"ZSTD", "SNAPPY", "UNCOMPRESSED"} <= set(new.values())


def test_a_column_of_tensors_stays_one(tmp_path: Path) -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(PEOPLE.vectors)
    table = pa.table({"who": PEOPLE.person, "t": tensors})
    for ending in (".parquet", ".arrow"):
        write_table(table, tmp_path / f"old{ending}")
        run(tmp_path / f"old{ending}", tmp_path / f"new{ending}", part_rows=7)
        new = read_table(tmp_path / f"new{ending}")
        assert new.schema.field("t").type == table.schema.field("t").type
        got = new.column("t").combine_chunks().to_numpy_ndarray()
        np.testing.assert_array_equal(got, expected(PEOPLE.vectors))


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_words_that_come_later_in_a_stream(tmp_path: Path, rows: int) -> None:
    batches = [
        pa.record_batch(
            {
                "who": pa.array(words).dictionary_encode(),
                "emb": vector_column(np.eye(4)[2:] + 1, pa.list_(pa.float64(), 4)),
            }
        )
        for words in (["a", "b"], ["c", "d"], ["a", "d"])
    ]
    with pa.ipc.new_stream(str(tmp_path / "old.arrow"), batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    run(tmp_path / "old.arrow", tmp_path / "new.arrow", part_rows=rows)
    with pa.OSFile(str(tmp_path / "new.arrow")) as source:
        table = pa.ipc.open_stream(source).read_all()
    assert table.column("who").to_pylist() == ["a", "b", "c", "d", "a", "d"]


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("form", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_form_and_compression_are_kept(
    tmp_path: Path, codec: str | None, form: Callable[..., Any]
) -> None:
    table = People.drawn(rows=3000, dim=6).table()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    source, target = tmp_path / "old.arrow", tmp_path / "new.arrow"
    with form(str(source), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1000)
    run(source, target, part_rows=400)
    old, found = (IpcSource(path) for path in (source, target))
    assert found.batches.codec == old.batches.codec == codec
    assert found.batches.stream == old.batches.stream
    assert found.shape == old.shape


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rows", PARTS)
def test_other_members_of_an_npz_are_the_same_bytes(
    tmp_path: Path, rows: int, order: str, save: Callable[..., Any]
) -> None:
    source, target = tmp_path / "old.npz", tmp_path / "new.npz"
    strange = np.array([{"a": 1}, None], object)
    save(source, emb=np.asarray(PEOPLE.vectors, order=order), strange=strange)
    with zipfile.ZipFile(source, "a") as archive:
        archive.writestr("README.txt", "hello")
    run(source, target, part_rows=rows)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target) as new:
        assert new.namelist() == old.namelist()
        assert new.testzip() is None
        for before, after in zip(old.infolist(), new.infolist(), strict=True):
            assert after.compress_type == before.compress_type
            assert after.date_time == before.date_time
            if before.filename != "emb.npy":
                assert new.read(after) == old.read(before)
    np.testing.assert_array_equal(np.load(target)["emb"], expected(PEOPLE.vectors))


@pytest.mark.parametrize("rows", PARTS)
@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">f8", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_orders_of_bytes_and_of_elements(tmp_path: Path, rows: int, dtype: str, order: str) -> None:
    vectors = np.asarray(PEOPLE.vectors.astype(dtype), order=order)
    np.save(tmp_path / "old.npy", vectors)
    run(tmp_path / "old.npy", tmp_path / "new.npy", part_rows=rows)
    new = np.load(tmp_path / "new.npy")
    assert new.dtype == np.dtype(dtype)
    assert new.flags.c_contiguous
    np.testing.assert_array_equal(new, expected(vectors))


@pytest.mark.parametrize("name", WRITERS)
def test_samples_are_rows_drawn_without_replacement(tmp_path: Path, name: str) -> None:
    WRITERS[name](PEOPLE, tmp_path / name)
    store, _ = stores(tmp_path / name, tmp_path / f"new-{name}")
    labels, vectors = store.sample(7, np.random.default_rng(0))
    assert len(set(labels)) == 7
    np.testing.assert_array_equal(vectors, PEOPLE.vectors[list(labels)])
    labels, vectors = store.sample(99, np.random.default_rng(0))
    assert list(labels) == list(range(20))
    np.testing.assert_array_equal(vectors, PEOPLE.vectors)
    counts = np.zeros(20, int)
    for seed in range(60):
        counts[list(store.sample(5, np.random.default_rng(seed))[0])] += 1
    assert counts.min() > 3
    assert counts.max() < 30


@pytest.mark.parametrize("name", WRITERS)
def test_fingerprints_change_with_the_content(tmp_path: Path, name: str) -> None:
    WRITERS[name](PEOPLE, tmp_path / name)
    store, _ = stores(tmp_path / name, tmp_path / f"new-{name}")
    first = store.fingerprint()
    assert stores(tmp_path / name, tmp_path / f"new-{name}")[0].fingerprint() == first
    WRITERS[name](People.drawn(rows=20, dim=6, seed=1), tmp_path / name)
    assert store.fingerprint() != first
