"""LanceDB tables through the engine: the same table, of clean vectors."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lancedb")

import lancedb
from lance_tables import DIM, FLOATS, kept, make, raw, read, rows, vectors_of
from store_erasers import drawn

from efface.errors import DataError, EffaceWarning, StoreError
from efface.stores.address import open_sink, open_source, parse
from efface.stores.contract import Part, Sink, Source
from efface.stores.engine import apply_store

ERASER = drawn(DIM, 3)


def opened(folder: Path, name: str = "raw", **more: Any) -> Any:
    return open_source(parse(f"lancedb:{folder}#{name}", **more))


def apply(folder: Path, name: str = "raw", target: str = "clean", **more: Any) -> Any:
    source = opened(folder, name)
    sink = open_sink(parse(f"lancedb:{folder}#{target}"), source)
    return apply_store(ERASER, source, sink, part_rows=40, verify="full", **more)


def tables(folder: Path) -> list[str]:
    return sorted(lancedb.connect(str(folder)).list_tables().tables)


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_columns_order_and_types_are_kept(tmp_path: Path, dtype: str) -> None:
    make(tmp_path, dtype=dtype)
    receipt = apply(tmp_path)
    before, after = kept(dtype), read(tmp_path, "clean")
    assert after.schema.equals(read(tmp_path, "raw").schema, check_metadata=True)
    assert after.drop_columns("emb").equals(before.drop_columns("emb"))
    stored = vectors_of(before)
    assert np.array_equal(vectors_of(after), ERASER.transform(stored).astype(dtype))
    assert receipt.rows.written == len(before)
    assert tables(tmp_path) == ["clean", "raw"]
    assert read(tmp_path, "raw").equals(before)  # the source is as it was


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_without_a_vector_by_the_policy(tmp_path: Path, dtype: str) -> None:
    make(tmp_path, dtype=dtype, missing=True)
    before = kept(dtype, missing=True)
    with pytest.raises(DataError, match=r"rows 2, 9, "):
        apply(tmp_path)
    (tmp_path / "other").mkdir()
    there = before["emb"].combine_chunks().is_valid()
    clean = ERASER.transform(vectors_of(before)).astype(dtype)
    for null, wanted in (("keep", before), ("drop", before.filter(there))):
        apply(tmp_path, target=null, null=null)
        after = read(tmp_path, null)
        assert after.drop_columns("emb").equals(wanted.drop_columns("emb"))
        assert after["emb"].is_valid().equals(wanted["emb"].is_valid())
        assert np.array_equal(vectors_of(after), clean)


def test_into_another_database(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    make(tmp_path / "one")
    source = opened(tmp_path / "one")
    sink = open_sink(parse(f"lancedb:{tmp_path / 'two'}#raw"), source)
    apply_store(ERASER, source, sink)
    assert len(read(tmp_path / "two", "raw")) == len(kept())


def test_nothing_can_be_seen_before_the_end(tmp_path: Path) -> None:
    make(tmp_path)
    seen = []
    apply(tmp_path, progress=lambda done, total: seen.append(tables(tmp_path)))
    assert len(seen) > 3
    assert all(names == ["raw"] for names in seen)


def test_the_source_stays_at_its_version_and_a_change_is_noticed(tmp_path: Path) -> None:
    table = make(tmp_path)
    source = opened(tmp_path)
    fingerprint = source.fingerprint()
    assert opened(tmp_path).fingerprint() == fingerprint
    table.add(rows(count=5))
    assert source.shape.rows == len(kept())
    assert source.read(Part(0, 0, 999)).vectors.shape == (len(kept()), DIM)
    assert source.fingerprint() != fingerprint
    assert opened(tmp_path).shape.rows == len(kept()) + 5


def test_a_table_that_is_written_to_meanwhile_is_not_passed_off_as_done(tmp_path: Path) -> None:
    table = make(tmp_path)
    source = opened(tmp_path)
    sink = open_sink(parse(f"lancedb:{tmp_path}#clean"), source)
    grown: list[int] = []

    def grow(done: int, total: int) -> None:
        if not grown:
            table.add(rows(count=5))
            grown.append(done)

    with pytest.raises(StoreError, match="changed while it was read"):
        apply_store(ERASER, source, sink, part_rows=40, progress=grow)
    assert tables(tmp_path) == ["raw"]


def test_every_part_is_read_alike_in_any_order(tmp_path: Path) -> None:
    make(tmp_path)
    source = pickle.loads(pickle.dumps(opened(tmp_path)))
    parts = source.parts(17)
    assert sum(part.rows for part in parts) == len(kept())
    whole = vectors_of(kept())
    for part in reversed(parts):
        chunk = source.read(part)
        assert np.array_equal(chunk.vectors, whole[part.start : part.start + part.rows])
        assert list(chunk.labels) == list(range(part.start, part.start + part.rows))
    chunk = source.read(parts[1])
    even = np.arange(17) % 2 == 0
    assert source.select(chunk, even).rest.equals(kept().slice(17, 17).filter(even))


def test_source_and_sink_keep_the_contract_and_travel(tmp_path: Path) -> None:
    make(tmp_path)
    source = opened(tmp_path)
    sink = pickle.loads(pickle.dumps(open_sink(parse(f"lancedb:{tmp_path}#clean"), source)))
    assert isinstance(source, Source)
    assert isinstance(sink, Sink)
    assert sink.place == f"lancedb:{tmp_path}#clean"


@pytest.mark.parametrize("missing", [False, True])
def test_a_sample_is_uniform_over_rows_with_a_vector(tmp_path: Path, missing: bool) -> None:
    make(tmp_path, missing=missing)
    source = opened(tmp_path)
    before = kept(missing=missing)
    filled = np.flatnonzero(np.asarray(before["emb"].combine_chunks().is_valid()))
    hits = np.zeros(len(before), int)
    rng = np.random.default_rng(1)
    for _ in range(30):
        labels, vectors = source.sample(60, rng)
        assert len(set(labels)) == 60
        hits[labels] += 1
        place = np.searchsorted(filled, labels)
        assert np.array_equal(vectors, vectors_of(before)[place])
    assert set(np.flatnonzero(hits)) <= set(filled)
    expected = 30 * 60 / len(filled)
    # Chi-square with len(filled) - 1 degrees of freedom, five standard deviations.
    spread = ((hits[filled] - expected) ** 2 / expected).sum() / (1 - 60 / len(filled))
    assert abs(spread - len(filled)) < 5 * np.sqrt(2 * len(filled))
    assert len(source.sample(9999, rng)[0]) == len(filled)


def test_rows_are_named_by_the_key_where_there_is_one(tmp_path: Path) -> None:
    make(tmp_path)
    ids = kept()["id"].to_pylist()
    assert list(opened(tmp_path, key="id").read(Part(0, 3, 4)).labels) == ids[3:7]
    with pytest.raises(DataError, match="no column 'who'"):
        opened(tmp_path, key="who")


# --- indexes, names, swap -----------------------------------------------------------------------


def test_indexes_and_embedding_functions_are_not_carried_over_and_that_is_said(
    tmp_path: Path,
) -> None:
    from lancedb.index import BTree, IvfFlat

    table = make(tmp_path)
    table.create_index("emb", config=IvfFlat(distance_type="cosine", num_partitions=2))
    table.create_index("id", config=BTree())
    with pytest.warns(EffaceWarning, match=r"emb_idx \(IvfFlat on emb\)") as caught:
        apply(tmp_path)
    assert "id_idx (BTree on id)" in str(caught[0].message)
    assert lancedb.connect(str(tmp_path)).open_table("clean").list_indices() == []


def test_embedding_functions_would_add_raw_vectors(tmp_path: Path) -> None:
    whole = rows().replace_schema_metadata({"embedding_functions": "[]", "made by": "us"})
    lancedb.connect(str(tmp_path)).create_table("raw", whole)
    with pytest.warns(EffaceWarning, match="embedding functions are not carried over"):
        apply(tmp_path)
    assert read(tmp_path, "clean").schema.metadata == {b"made by": b"us"}


def test_two_vector_columns_need_a_name(tmp_path: Path) -> None:
    whole = rows().append_column("other", rows()["emb"])
    lancedb.connect(str(tmp_path)).create_table("raw", whole)
    with pytest.raises(DataError, match=r"several columns .* \(emb, other\): name one"):
        opened(tmp_path)
    source = opened(tmp_path, embedding="other")
    sink = open_sink(parse(f"lancedb:{tmp_path}#clean", embedding="other"), source)
    apply_store(ERASER, source, sink, verify="full")
    after = read(tmp_path, "clean")
    assert np.array_equal(vectors_of(after), raw())
    assert np.array_equal(
        vectors_of(after.select(["other"]).rename_columns(["emb"])), ERASER.transform(raw())
    )


def test_no_vectors_no_table_no_name(tmp_path: Path) -> None:
    lancedb.connect(str(tmp_path)).create_table("raw", rows().drop_columns("emb"))
    with pytest.raises(DataError, match="no column holds vectors"):
        opened(tmp_path)
    with pytest.raises(DataError, match="column 'word' holds no vectors"):
        opened(tmp_path, embedding="word")
    with pytest.raises(DataError, match=r"no such table \(there are: raw\)"):
        opened(tmp_path, "nope")
    with pytest.raises(DataError, match="check the path"):
        opened(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    make(tmp_path, "good")
    with pytest.raises(StoreError, match="no name for a table"):
        open_sink(parse(f"lancedb:{tmp_path}#../x"), opened(tmp_path, "good"))
    with pytest.raises(StoreError, match="make it first"):
        open_sink(parse(f"lancedb:{tmp_path}/no#x"), opened(tmp_path, "good"))
    with pytest.raises(StoreError, match="object storage"):
        open_source(parse("lancedb:s3://bucket/db#x"))


def test_a_target_that_is_there_is_refused_or_taken_as_it_is(tmp_path: Path) -> None:
    make(tmp_path)
    make(tmp_path, "clean")
    with pytest.raises(StoreError, match="is there already"):
        apply(tmp_path)
    first = apply(tmp_path, target="clean2")
    with pytest.raises(StoreError, match="--resume"):
        apply(tmp_path, target="clean2")
    assert apply(tmp_path, target="clean2", resume=True).vectors == first.vectors


def test_swap_exchanges_the_tables(tmp_path: Path) -> None:
    make(tmp_path, "live")
    apply(tmp_path, "live")
    sink = open_sink(parse(f"lancedb:{tmp_path}#clean"), opened(tmp_path, "live"))
    sink.swap("live")
    assert tables(tmp_path) == ["live"]
    assert np.array_equal(vectors_of(read(tmp_path, "live")), ERASER.transform(vectors_of(kept())))
    assert (tmp_path / "live.lance.before-efface").is_dir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = lancedb.connect(str(tmp_path)).open_table("live")
        table.add(rows(count=3))  # and it is a table like any other
    assert table.count_rows() == len(kept()) + 3
