"""Parquet in, Parquet out: equal to a slow version by pyarrow, for any schema, style and cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_runs import axes, chunks, job_of, run, same, slowly, smallest_file, stores
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.errors import DataError, StoreError
from efface.stores.contract import Done
from efface.stores.parquet_file import ParquetRows
from efface.stores.parquet_footer import read_footer
from efface.stores.parquet_pages import plain_from, scan

KINDS = ["list", "large_list", "fixed", "tensor"]
CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]


def vector_type(kind: str, value: Any, dim: int) -> Any:
    if kind == "tensor":
        return pa.fixed_shape_tensor(value, [dim])
    return {"list": pa.list_(value), "large_list": pa.large_list(value),
            "fixed": pa.list_(value, dim)}[kind]  # fmt: skip


def table_of(
    kind: str, dtype: str, rows: int, dim: int, nulls: float, seed: int, others: bool = True
) -> pa.Table:
    """Vectors among columns of many kinds, some of which have gaps."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((rows, dim)).astype(dtype)
    vectors[:, -1] += 4  # something is left of every row
    value = pa.from_numpy_dtype(np.dtype(dtype))
    of = vector_type(kind, value, dim)
    below = of.storage_type if kind == "tensor" else of
    there = rng.random(rows) >= nulls
    array = pa.array([list(v) if t else None for v, t in zip(vectors, there, strict=True)], below)
    array = pa.ExtensionArray.from_storage(of, array) if kind == "tensor" else array
    if not others:
        return pa.table({"emb": array})
    words = [f"w{n % 7}" for n in range(rows)]
    return pa.table(
        {
            "id": pa.array(np.arange(rows)),
            "who": pa.array(words).dictionary_encode(),
            "emb": array,
            "a.b": pa.array([None if n % 5 == 0 else n for n in range(rows)], pa.int16()),
            "box": pa.array([[n] * (n % 3) if n % 4 else None for n in range(rows)],
                            pa.list_(pa.int32())),
            "more": pa.array([{"x": n, "y": [f"{n}"] * (n % 2)} for n in range(rows)]),
            "raw": pa.array([bytes([n % 256]) * (n % 9) for n in range(rows)]),
        }
    ).replace_schema_metadata({"origin": "camera 3"})  # fmt: skip


STYLES = st.fixed_dictionaries({
    "compression": st.sampled_from(CODECS),
    "use_dictionary": st.booleans(),
    "data_page_version": st.sampled_from(["1.0", "2.0"]),
    "data_page_size": st.sampled_from([64, 300, 1 << 20]),
    "write_batch_size": st.sampled_from([7, 1024]),
    "write_page_checksum": st.booleans(),
    "write_page_index": st.booleans(),
    "dictionary_pagesize_limit": st.sampled_from([64, 1 << 20]),
    "row_group_size": st.sampled_from([3, 16, 1000]),
    "store_schema": st.just(True),
})  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    rows=st.integers(1, 60),
    dim=st.sampled_from([3, 8, 70]),
    nulls=st.sampled_from([0.0, 0.0, 0.3]),
    null=st.sampled_from(["keep", "drop"]),
    part=st.integers(1, 40),
    style=STYLES,
    others=st.booleans(),
    seed=st.integers(0, 99),
)
def test_equal_to_a_slow_version(
    tmp_path_factory: pytest.TempPathFactory, kind: str, dtype: str, rows: int, dim: int,
    nulls: float, null: str, part: int, style: dict[str, Any], others: bool, seed: int,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("any")
    table = table_of(kind, dtype, rows, dim, nulls, seed, others)
    if table.column("emb").null_count == rows:
        return
    pq.write_table(table, folder / "old.parquet", **style)
    run(folder / "old.parquet", folder / "new.parquet", part_rows=part, null=null)
    wanted = slowly(pq.read_table(folder / "old.parquet"), "emb", null, axes(dim))
    same(pq.read_table(folder / "new.parquet"), wanted)
    with pq.ParquetFile(folder / "new.parquet", page_checksum_verification=True) as file:
        same(file.read(), wanted)
        assert file.metadata.num_row_groups <= len(table)
    old, new = chunks(folder / "old.parquet"), chunks(folder / "new.parquet")
    if wanted.num_rows:
        assert [c["codec"] for c in new] == [c["codec"] for c in old]
    for chunk in new:
        vectors = chunk["path"].startswith("emb.")
        assert not (vectors and (chunk["dictionary"] or chunk["stats"]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", CODECS)
def test_plain_pages_are_read_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, version: str, codec: str
) -> None:
    """Arrow has no part in it: rows in the middle of a row group cost what they hold."""
    table = table_of(kind, "float32", 50, 70, 0.0, 1, others=False)
    pq.write_table(
        table, tmp_path / "x.parquet", compression=codec, use_dictionary=False,
        data_page_version=version, data_page_size=500, write_batch_size=33,
    )  # fmt: skip
    file = ParquetRows(tmp_path / "x.parquet")
    monkeypatch.setattr(ParquetRows, "_decoded", None)
    for start, rows in ((0, 50), (7, 1), (11, 30), (49, 1)):
        got = file.vectors("emb", 70, start, rows).vectors
        column = table.column("emb").combine_chunks()
        column = column.storage if isinstance(column, pa.ExtensionArray) else column
        np.testing.assert_array_equal(got, np.array(column.to_pylist()[start : start + rows], "f4"))


def test_our_own_pages_are_plain(tmp_path: Path) -> None:
    pq.write_table(table_of("list", "float32", 90, 70, 0.0, 1), tmp_path / "old.parquet")
    run(tmp_path / "old.parquet", tmp_path / "new.parquet", part_rows=40)
    footer = read_footer(tmp_path / "new.parquet")
    at = [leaf.names[0] for leaf in footer.leaves].index("emb")
    with (tmp_path / "new.parquet").open("rb") as file:
        for group in footer.groups:
            pages = list(scan(file.fileno(), group.columns[at]))
            assert pages
            assert plain_from(pages) == 0


def test_parts_follow_row_groups_and_cut_large_ones(tmp_path: Path) -> None:
    table = table_of("list", "float32", 100, 4, 0.0, 1)
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=30)
    store, _ = stores(tmp_path / "x.parquet", tmp_path / "y.parquet")
    for rows, sizes in (
        (1000, [100]),
        (60, [60, 40]),
        (30, [30] * 3 + [10]),
        (20, [15] * 6 + [10]),
    ):
        parts = store.parts(rows)
        assert [part.rows for part in parts] == sizes
        assert [part.start for part in parts] == np.cumsum([0, *sizes[:-1]]).tolist()


# --- folders --------------------------------------------------------------------------------


def write_dataset(folder: Path) -> dict[str, pa.Table]:
    tables = {
        "day=1/a.parquet": table_of("list", "float32", 25, 4, 0.0, 1),
        "day=1/b.parquet": table_of("list", "float32", 3, 4, 0.0, 2),
        "day=2/hour=3/a.pq": table_of("list", "float32", 40, 4, 0.4, 3),
        "day=2/none.parquet": table_of("list", "float32", 5, 4, 0.0, 3).slice(0, 0),
        "z.parquet": table_of("list", "float32", 9, 4, 0.0, 4),
    }
    for name, table in tables.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / name, row_group_size=10)
    for name in ("_SUCCESS", ".hidden.parquet", "_metadata", "notes.txt", ".tmp/x.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"not Parquet")
    return tables


def read(path: Path) -> pa.Table:
    """One file as it is: ``read_table`` would add columns from the names of folders."""
    with pq.ParquetFile(path) as file:
        return file.read()


@pytest.mark.parametrize("null", ["keep", "drop"])
@pytest.mark.parametrize("part", [4, 10, 1000])
def test_a_folder_keeps_its_layout(tmp_path: Path, part: int, null: str) -> None:
    (tmp_path / "old").mkdir()
    tables = write_dataset(tmp_path / "old")
    run(tmp_path / "old", tmp_path / "new", part_rows=part, null=null)
    found = {p.relative_to(tmp_path / "new").as_posix() for p in (tmp_path / "new").rglob("*.p*q*")}
    assert found == set(tables)
    assert {p.name for p in tmp_path.iterdir()} == {"old", "new", "new.efface-parts.jsonl"}
    for name in tables:
        with pq.ParquetFile(tmp_path / "new" / name) as file:
            same(file.read(), slowly(read(tmp_path / "old" / name), "emb", null, axes(4)))


def test_rows_of_a_folder_have_the_names_of_their_files(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    write_dataset(tmp_path / "old")
    with pytest.raises(DataError, match=r"old: rows 'day=2/hour=3/a\.pq:\d+', .*no vector"):
        run(tmp_path / "old", tmp_path / "new")
    store, _ = stores(tmp_path / "old", tmp_path / "new")
    labels, vectors = store.sample(60, np.random.default_rng(0))
    assert len(set(labels)) == len(vectors) == 60
    table = pq.read_table(tmp_path / "old" / "day=1/a.parquet")
    for label, vector in zip(labels, vectors, strict=True):
        name, _, row = label.rpartition(":")
        if name == "day=1/a.parquet":
            assert vector.tolist() == table.column("emb")[int(row)].as_py()


def test_a_link_to_a_folder_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    """Readers of the folder follow it: its rows would be missing, or stay raw where they are."""
    (tmp_path / "old").mkdir()
    (tmp_path / "elsewhere").mkdir()
    table = table_of("list", "float32", 5, 4, 0.0, 0)
    pq.write_table(table, tmp_path / "old" / "a.parquet")
    pq.write_table(table, tmp_path / "elsewhere" / "b.parquet")
    (tmp_path / "old" / "linked").symlink_to("../elsewhere")
    assert pq.read_table(tmp_path / "old").num_rows == 10
    with pytest.raises(
        DataError, match=r"old/linked: is a link to a folder, which is not followed"
    ):
        run(tmp_path / "old", tmp_path / "new")
    (tmp_path / "old" / "linked").rename(tmp_path / "old" / "_linked")
    run(tmp_path / "old", tmp_path / "new")
    assert pq.read_table(tmp_path / "new").num_rows == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop_columns("id"), r"b\.parquet: column 'id' is in a\.parquet and not in"),
        (lambda t: t.append_column("new", t.column("id")), r"column 'new' is in .*b\.parquet"),
        (lambda t: t.set_column(0, "id", t.column("id").cast("int32")),
         r"b\.parquet: column 'id' is int32, in a\.parquet it is int64"),
        (lambda t: t.set_column(2, "emb", t.column("emb").cast(pa.list_(pa.float64()))),
         r"b\.parquet: column 'emb' is list<.*double"),
    ],
)  # fmt: skip
def test_files_of_other_columns_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    (tmp_path / "old").mkdir()
    table = table_of("list", "float32", 5, 4, 0.0, 1)
    pq.write_table(table, tmp_path / "old" / "a.parquet")
    pq.write_table(change(table), tmp_path / "old" / "b.parquet")
    with pytest.raises(DataError, match=words):
        run(tmp_path / "old", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_another_width_in_a_later_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for name, dim in (("a", 4), ("b", 5)):
        pq.write_table(
            table_of("list", "float32", 5, dim, 0.0, 1), tmp_path / "old" / f"{name}.parquet"
        )
    with pytest.raises(DataError, match=r"b\.parquet.*row 0 .* 5 elements where the first .* 4"):
        run(tmp_path / "old", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_targets_of_the_wrong_form_are_refused(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    write_dataset(tmp_path / "old")
    pq.write_table(table_of("list", "float32", 5, 4, 0.0, 1), tmp_path / "one.parquet")
    for source, target, words in (
        ("old", "new.parquet", "give the target a folder's name, without .parquet"),
        ("old", "old/new", "is inside the folder that is read"),
        ("one.parquet", "new", "the format is kept, so the name must end in .parquet"),
        ("one.parquet", "new.npy", "a parquet store cannot be written as npy"),
        ("one.parquet", "one.parquet", "is the store that is read"),
        ("one.parquet", "gone/new.parquet", "there is no folder .*gone: make it first"),
    ):
        with pytest.raises(StoreError, match=words):
            run(tmp_path / source, tmp_path / target)


def test_a_later_part_of_nulls_only_and_one_that_is_dropped_whole(tmp_path: Path) -> None:
    table = table_of("fixed", "float32", 40, 4, 0.0, 1)
    column = pa.array(table.column("emb").to_pylist()[:20] + [None] * 20, pa.list_(pa.float32(), 4))
    table = table.set_column(2, "emb", column)
    pq.write_table(table, tmp_path / "old.parquet", row_group_size=10)
    for null in ("keep", "drop"):
        run(tmp_path / "old.parquet", tmp_path / f"{null}.parquet", part_rows=10, null=null)
        wanted = slowly(read(tmp_path / "old.parquet"), "emb", null, axes(4))
        same(read(tmp_path / f"{null}.parquet"), wanted)


def test_a_full_disk_while_parts_are_joined(tmp_path: Path) -> None:
    """Each part still fits; the file that they become does not."""
    pq.write_table(table_of("list", "float64", 200, 70, 0.0, 1), tmp_path / "old.parquet")
    with (
        pytest.raises(StoreError, match=r"new\.parquet: the disk .* is full .* same command again"),
        smallest_file(60_000),
    ):
        run(tmp_path / "old.parquet", tmp_path / "new.parquet", part_rows=40)
    assert not (tmp_path / "new.parquet").exists()
    assert run(tmp_path / "old.parquet", tmp_path / "new.parquet", part_rows=40).rows.written == 200
    wanted = slowly(pq.read_table(tmp_path / "old.parquet"), "emb", "keep", axes(70))
    same(pq.read_table(tmp_path / "new.parquet"), wanted)


def test_bytes_behind_the_last_commit_are_cut_off(tmp_path: Path) -> None:
    pq.write_table(table_of("list", "float32", 60, 8, 0.0, 1), tmp_path / "old.parquet")
    store, sink = stores(tmp_path / "old.parquet", tmp_path / "new.parquet")
    parts = store.parts(20)
    job = job_of(store, 20)
    assert sink.begin(job, resume=False) == []
    for part in parts[:2]:
        chunk = store.read(part)
        sink.commit(part, sink.prepare(part, chunk, chunk.vectors), Done(part.index, 20, "", ""))
    del sink
    with (tmp_path / "new.parquet.efface-work" / "out").open("ab") as file:
        file.write(b"half of a part")
    _, sink = stores(tmp_path / "old.parquet", tmp_path / "new.parquet")
    assert [done.index for done in sink.begin(job, resume=False)] == [0, 1]
    chunk = store.read(parts[2])
    sink.commit(parts[2], sink.prepare(parts[2], chunk, chunk.vectors), Done(2, 20, "", ""))
    sink.finish()
    same(pq.read_table(tmp_path / "new.parquet"), pq.read_table(tmp_path / "old.parquet"))


def test_sorting_and_statistics_of_other_columns_stay(tmp_path: Path) -> None:
    table = table_of("list", "float32", 60, 8, 0.0, 1)
    pq.write_table(table, tmp_path / "old.parquet", row_group_size=20)
    run(tmp_path / "old.parquet", tmp_path / "new.parquet", part_rows=20)
    meta = pq.ParquetFile(tmp_path / "new.parquet").metadata
    for group in range(3):
        stats = meta.row_group(group).column(0).statistics
        assert (stats.min, stats.max, stats.null_count) == (20 * group, 20 * group + 19, 0)
    found = pq.read_table(tmp_path / "new.parquet", filters=[("id", ">=", 45)])
    assert found.column("id").to_pylist() == list(range(45, 60))
