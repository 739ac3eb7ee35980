"""A transformed file differs from its source in the vectors, and in nothing else."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from stored_people import LISTS, WRITERS, People, vector_column

import efface.data.apply as module
from efface.data.apply import apply_file
from efface.data.readers import load, read_vectors
from efface.errors import DataError, EraserError
from efface.protect.linear.eraser import LinearEraser

PEOPLE = People.drawn(rows=20, dim=6)


def turned(x: np.ndarray) -> np.ndarray:
    """A map whose result depends on every element and on no other row."""
    return np.roll(x, 1, axis=1) / np.linalg.norm(x, axis=1, keepdims=True)


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

    def watched(x: np.ndarray) -> np.ndarray:
        seen.append(x.dtype)
        return turned(x)

    assert apply_file(watched, source, target) == 20
    working = np.dtype("float64" if dtype == "float64" else "float32")
    assert set(seen) == {working}
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


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression={"person": "zstd", "when": "snappy"})
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        make = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=7)


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
    write(rich_table(kind), source)
    apply_file(turned, source, target)
    old, new = read_table(source), read_table(target)
    assert new.schema.equals(old.schema, check_metadata=True)
    assert new.drop_columns("emb").equals(old.drop_columns("emb"))
    got = np.array(new.column("emb").to_pylist())
    expected = turned(PEOPLE.vectors.astype(np.float16).astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(got, expected)


def test_parquet_codecs_are_kept(tmp_path: Path) -> None:
    write(rich_table("list"), tmp_path / "old.parquet")
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
        write(table, tmp_path / f"old{ending}")
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


# --- what goes wrong ------------------------------------------------------------------------


def failing(after: int, error: BaseException) -> Callable[[np.ndarray], np.ndarray]:
    calls = iter(range(after))

    def transform(x: np.ndarray) -> np.ndarray:
        if next(calls, None) is None:
            raise error
        return turned(x)

    return transform


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError(), ValueError("mine")])
def test_a_run_cut_short_leaves_the_old_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 100)
    WRITERS[name](PEOPLE, tmp_path / name)
    target = tmp_path / f"new-{name}"
    target.write_bytes(b"old")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(type(error)) as caught:
        apply_file(failing(2, error), tmp_path / name, target)
    assert caught.value is error
    assert target.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_said_to_be_the_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    WRITERS[name](PEOPLE, tmp_path / name)
    full = failing(0, OSError(28, "No space left on device"))
    with pytest.raises(DataError, match=rf"new-{name}: cannot be written \(No space left"):
        apply_file(full, tmp_path / name, tmp_path / f"new-{name}")
    assert not (tmp_path / f"new-{name}").exists()


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("bad", "words"), [(np.nan, "NaN"), (np.inf, "infinite"), (0, "zeros")])
def test_bad_rows_are_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, bad: float, words: str
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 100)
    vectors = PEOPLE.vectors.copy()
    vectors[17] = bad
    WRITERS[name](People(vectors, PEOPLE.person, PEOPLE.age), tmp_path / name)
    with pytest.raises(DataError, match=rf"{name}: row 17 .*{words}"):
        apply_file(turned, tmp_path / name, tmp_path / f"new-{name}")
    assert not (tmp_path / f"new-{name}").exists()


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (lambda x: x[:, :3], r"turned \(20, 6\) into \(20, 3\)"),
        (lambda x: x[:-1], r"turned \(20, 6\) into \(19, 6\)"),
        (lambda x: x * np.where(np.arange(20) == 4, np.nan, 1)[:, None], "after .*row 4 .*NaN"),
        (lambda x: x * 1e6, "after the transform: rows 0, 1, 2 and 17 more .*infinite"),
        (lambda x: x * 1e-12, "after the transform: rows 0, 1, 2 and 17 more .*zeros"),
    ],
)
def test_what_comes_out_is_checked_in_the_type_that_ships(
    tmp_path: Path, transform: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    np.save(tmp_path / "old.npy", PEOPLE.vectors.astype(np.float16))
    with pytest.raises(DataError, match=words):
        apply_file(transform, tmp_path / "old.npy", tmp_path / "new.npy")
    assert os.listdir(tmp_path) == ["old.npy"]


def test_an_erasers_refusal_says_in_which_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 24 * 8)
    np.save(tmp_path / "old.npy", PEOPLE.vectors)
    error = EraserError("row 1 cannot be brought to unit length")
    with pytest.raises(EraserError, match=r"old\.npy, rows 8 to 15: row 1 cannot"):
        apply_file(failing(1, error), tmp_path / "old.npy", tmp_path / "new.npy")


def test_refused_before_anything_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", PEOPLE.vectors)
    os.link(tmp_path / "old.npy", tmp_path / "same.npy")
    (tmp_path / "folder").mkdir()
    for target, words in (
        ("new.npz", r"new\.npz: the format is kept, so the name must end in \.npy"),
        ("old.npy", r"old\.npy: is the file that is read"),
        ("same.npy", r"same\.npy: is the file that is read"),
        ("gone/new.npy", "there is no folder .*gone: make it first"),
    ):
        with pytest.raises(DataError, match=words):
            apply_file(turned, tmp_path / "old.npy", tmp_path / target)
    with pytest.raises(DataError, match="is a folder: apply the projector to one file at a time"):
        apply_file(turned, tmp_path / "folder", tmp_path / "new.parquet")
    np.save(tmp_path / "codes.npy", np.ones((3, 2), np.int8))
    with pytest.raises(DataError, match="type int8 cannot hold unit rows: convert"):
        apply_file(turned, tmp_path / "codes.npy", tmp_path / "new.npy")
    assert sorted(os.listdir(tmp_path)) == ["codes.npy", "folder", "old.npy", "same.npy"]


@pytest.mark.parametrize("name", [n for n in WRITERS if n != "emb.npy"])
def test_files_without_rows_are_refused(tmp_path: Path, name: str) -> None:
    WRITERS[name](People(PEOPLE.vectors[:0], [], []), tmp_path / name)
    with pytest.raises(DataError, match=r"no (rows|vectors)"):
        apply_file(turned, tmp_path / name, tmp_path / f"new-{name}")
    assert not (tmp_path / f"new-{name}").exists()


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_batches_of_unequal_width_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1)
    rows = [[1.0, 2.0]] * 3 + [[1.0, 2.0, 3.0]] * 3
    table = pa.table({"emb": pa.array(rows, pa.list_(pa.float32()))})
    write(table, tmp_path / f"old{ending}")
    with pytest.raises(DataError, match=r"ragged: row 3 .* 3 elements where the first row has 2"):
        apply_file(turned, tmp_path / f"old{ending}", tmp_path / f"new{ending}")
    assert os.listdir(tmp_path) == [f"old{ending}"]


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_vectors_without_elements_are_refused(tmp_path: Path, ending: str) -> None:
    table = pa.table({"emb": pa.array([[], []], pa.list_(pa.float32()))})
    write(table, tmp_path / f"old{ending}")
    with pytest.raises(DataError, match="have no elements"):
        apply_file(turned, tmp_path / f"old{ending}", tmp_path / f"new{ending}")


def test_damaged_metadata_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    WRITERS["emb.parquet"](PEOPLE, tmp_path / "old.parquet")
    whole = (tmp_path / "old.parquet").read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")
    refused = 0
    for at in range(len(whole) - 8 - footer, len(whole) - 8, 11):
        damaged = whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :]
        (tmp_path / "old.parquet").write_bytes(damaged)
        try:
            apply_file(turned, tmp_path / "old.parquet", tmp_path / "new.parquet")
            (tmp_path / "new.parquet").unlink()
        except DataError:
            assert os.listdir(tmp_path) == ["old.parquet"]
            refused += 1
    assert refused > 20
