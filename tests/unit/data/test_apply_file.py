"""A transformed file differs from its source in the vectors, and in nothing else."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stored_people import LISTS, WRITERS, People, turned, vector_column, write_table

import efface.data.apply as module
from efface.data.apply import apply_file
from efface.data.readers import load, read_vectors
from efface.protect.linear.eraser import LinearEraser

PEOPLE = People.drawn(rows=20, dim=6)


@pytest.fixture(params=[1, 100, 1 << 20], ids=["one row", "few rows", "all rows"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes per block: the result must not depend on it."""
    monkeypatch.setattr(module, "_BLOCK_BYTES", request.param)
    return int(request.param)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", WRITERS)
def test_vectors_change_and_columns_stay(
    tmp_path: Path, blocks: int, name: str, dtype: str
) -> None:
    people = People.drawn(rows=20, dim=6, dtype=dtype)
    source, target = tmp_path / name, tmp_path / f"new-{name}"
    WRITERS[name](people, source)
    before = source.read_bytes()
    seen: list[np.dtype[Any]] = []
    rows: list[int] = []

    def watched(x: np.ndarray) -> np.ndarray:
        seen.append(x.dtype)
        rows.append(len(x))
        return turned(x)

    assert apply_file(watched, source, target) == 20
    working = np.dtype("float64" if dtype == "float64" else "float32")
    assert set(seen) == {working}
    assert sum(rows) == 20
    assert max(rows) <= max(1, blocks // people.vectors[:1].nbytes)
    got = read_vectors(target)
    assert got.dtype == dtype
    expected = turned(people.vectors.astype(working)).astype(dtype)
    np.testing.assert_array_equal(got, expected)
    assert not np.array_equal(got, people.vectors)
    assert source.read_bytes() == before
    if name == "emb.npy":
        (tmp_path / "emb.csv").rename(tmp_path / "new-emb.csv")
    read = load(target, identity="person")
    assert read.names[read.identity].tolist() == people.person
    assert read.attributes["age"].tolist() == people.age


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


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".ipc", ".feather"])
def test_schema_and_neighbours_are_kept(
    tmp_path: Path, blocks: int, kind: str, ending: str
) -> None:
    source, target = tmp_path / f"old{ending}", tmp_path / f"new{ending}"
    write_table(rich_table(kind), source)
    apply_file(turned, source, target)
    old, new = read_table(source), read_table(target)
    assert new.schema.equals(old.schema, check_metadata=True)
    assert new.drop_columns("emb").equals(old.drop_columns("emb"))
    got = np.array(new.column("emb").to_pylist())
    expected = turned(PEOPLE.vectors.astype(np.float16).astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(got, expected)


def test_parquet_codecs_are_kept(tmp_path: Path) -> None:
    write_table(rich_table("list"), tmp_path / "old.parquet")
    apply_file(turned, tmp_path / "old.parquet", tmp_path / "new.parquet")

    def codecs(path: Path) -> dict[str, str]:
        group = pq.ParquetFile(path).metadata.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        return {c.path_in_schema: c.compression for c in columns}

    assert codecs(tmp_path / "new.parquet") == codecs(tmp_path / "old.parquet")
    assert {"ZSTD", "SNAPPY", "UNCOMPRESSED"} <= set(codecs(tmp_path / "new.parquet").values())


def test_a_column_of_tensors_stays_one(tmp_path: Path) -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(PEOPLE.vectors)
    table = pa.table({"who": PEOPLE.person, "t": tensors})
    for ending in (".parquet", ".arrow"):
        write_table(table, tmp_path / f"old{ending}")
        apply_file(turned, tmp_path / f"old{ending}", tmp_path / f"new{ending}")
        new = read_table(tmp_path / f"new{ending}")
        assert new.schema.field("t").type == table.schema.field("t").type
        got = new.column("t").combine_chunks().to_numpy_ndarray()
        np.testing.assert_array_equal(got, turned(PEOPLE.vectors))


def test_words_that_come_later_in_a_stream(tmp_path: Path) -> None:
    batches = [
        pa.record_batch(
            {
                "who": pa.array(words).dictionary_encode(),
                "emb": vector_column(np.eye(2), pa.list_(pa.float64(), 2)),
            }
        )
        for words in (["a", "b"], ["c", "d"])
    ]
    with pa.ipc.new_stream(str(tmp_path / "old.arrow"), batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    assert apply_file(turned, tmp_path / "old.arrow", tmp_path / "new.arrow") == 4
    with pa.OSFile(str(tmp_path / "new.arrow")) as source:
        table = pa.ipc.open_stream(source).read_all()
    assert table.column("who").to_pylist() == ["a", "b", "c", "d"]


def test_other_members_of_an_npz_are_the_same_bytes(tmp_path: Path, blocks: int) -> None:
    source, target = tmp_path / "old.npz", tmp_path / "new.npz"
    strange = np.array([{"a": 1}, None], object)
    np.savez_compressed(source, emb=np.asfortranarray(PEOPLE.vectors), strange=strange)
    with zipfile.ZipFile(source, "a") as archive:
        archive.writestr("README.txt", "hello")
    apply_file(turned, source, target)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target) as new:
        assert new.namelist() == old.namelist()
        assert new.testzip() is None
        for before, after in zip(old.infolist(), new.infolist(), strict=True):
            assert after.compress_type == before.compress_type
            assert after.date_time == before.date_time
            if before.filename != "emb.npy":
                assert new.read(after) == old.read(before)
    np.testing.assert_array_equal(np.load(target)["emb"], turned(PEOPLE.vectors))


def test_byte_order_is_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", PEOPLE.vectors.astype(">f4"))
    apply_file(turned, tmp_path / "old.npy", tmp_path / "new.npy")
    new = np.load(tmp_path / "new.npy")
    assert new.dtype == np.dtype(">f4")
    np.testing.assert_array_equal(new, turned(PEOPLE.vectors))


def test_progress_counts_every_row_once(tmp_path: Path, blocks: int) -> None:
    for name, writer in WRITERS.items():
        writer(PEOPLE, tmp_path / name)
        told: list[tuple[int, int]] = []
        tell = told.append
        apply_file(
            turned, tmp_path / name, tmp_path / f"new-{name}",
            progress=lambda done, total, tell=tell: tell((done, total)),
        )  # fmt: skip
        assert told[-1] == (20, 20)
        assert all(total == 20 for _, total in told)
        assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_a_real_eraser_erases(tmp_path: Path) -> None:
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 2)))[0]
    WRITERS["emb.parquet"](PEOPLE, tmp_path / "old.parquet")
    inside = np.abs(read_vectors(tmp_path / "old.parquet") @ basis).max()
    assert inside > 0.5
    apply_file(LinearEraser(basis).transform, tmp_path / "old.parquet", tmp_path / "new.parquet")
    new = read_vectors(tmp_path / "new.parquet")
    assert np.abs(new @ basis).max() < 1e-6
    np.testing.assert_allclose(np.linalg.norm(new, axis=1), 1, atol=1e-6)
