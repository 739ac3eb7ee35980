"""LanceDB: work that is killed, a journal that lags behind, numbers that are missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lancedb")

import lancedb
import pyarrow as pa
from killing import Forks, until_done
from lance_tables import DIM, kept, make, read, rows, vectors_of
from store_erasers import drawn

from efface.errors import DataError, StoreError
from efface.export.safetensors import save_eraser
from efface.stores.address import open_sink, open_source, parse
from efface.stores.engine import apply_store

ERASER = drawn(DIM, 3)


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks("efface.stores.lancedb", "efface.stores.lancedb_sink", "lancedb") as server:
        yield server


@pytest.mark.parametrize("null", ["keep", "drop"])
def test_killed_at_random_points_it_ends_as_if_nothing_had_been(
    tmp_path: Path, forks: Forks, null: str
) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    save_eraser(ERASER, folder / "p.safetensors")
    make(folder / "db", missing=True)
    before = kept(missing=True)
    wanted = before if null == "keep" else before.filter(before["emb"].is_valid())
    killed, rng = 0, np.random.default_rng(9)
    while killed < 6:  # a quick run may end before it is killed: then with another target
        name = f"clean{killed}"
        words = ["apply", "p.safetensors", "lancedb:db#raw", "--out", f"lancedb:db#{name}",
                 "--part-rows", "12", "--workers", "1", "--null", null]  # fmt: skip
        receipt = f"{name}.receipt.json"
        (folder / receipt).unlink(missing_ok=True)
        shutil.rmtree(folder / "db" / f"{name}.lance", ignore_errors=True)
        killed += until_done(forks, words, folder, rng, kills=15, receipt=receipt).killed
        after = read(folder / "db", name)
        assert after["id"].to_pylist() == wanted["id"].to_pylist()
        assert np.array_equal(vectors_of(after), ERASER.transform(vectors_of(before)))
        assert not (folder / "db" / f"{name}.lance.efface-work").exists()


class Stop(BaseException):
    """Ends the work without any of its own cleaning up."""


def sinks(tmp_path: Path) -> tuple[Any, Any]:
    source = open_source(parse(f"lancedb:{tmp_path}#raw"))
    return source, open_sink(parse(f"lancedb:{tmp_path}#clean"), source)


@pytest.mark.parametrize("at", [0, 1, 4])
def test_a_part_that_lance_has_and_the_journal_has_not_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    make(tmp_path)
    source, sink = sinks(tmp_path)
    add, count = sink.work.add, [0]

    def dying(entry: Any) -> None:
        if count[0] == at:
            raise Stop
        count[0] += 1
        add(entry)

    monkeypatch.setattr(sink.work, "add", dying)
    with pytest.raises(Stop):
        apply_store(ERASER, source, sink, part_rows=40)
    sink.work.close()
    source, sink = sinks(tmp_path)
    receipt = apply_store(ERASER, source, sink, part_rows=40, verify="full")
    assert receipt.time.rows == len(kept()) - 40 * at
    after = read(tmp_path, "clean")
    assert after["id"].to_pylist() == kept()["id"].to_pylist()
    assert np.array_equal(vectors_of(after), ERASER.transform(vectors_of(kept())))


def test_a_table_under_way_that_was_tampered_with_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    source, sink = sinks(tmp_path)

    def stop(done: int, total: int) -> None:
        if done >= 80:
            raise Stop

    with pytest.raises(Stop):
        apply_store(ERASER, source, sink, part_rows=40, progress=stop)
    sink.work.close()
    for path in (tmp_path / "clean.lance.efface-work" / "db").rglob("*.manifest"):
        path.write_bytes(b"gone")
    source, sink = sinks(tmp_path)
    with pytest.raises(StoreError, match="damaged: remove that folder"):
        apply_store(ERASER, source, sink, part_rows=40)


def test_a_number_that_is_missing_in_a_vector_is_named(tmp_path: Path) -> None:
    flat = pa.array([1.0] * 11 + [None] + [2.0] * 12, pa.float32())
    column = pa.FixedSizeListArray.from_arrays(flat, 8)
    lancedb.connect(str(tmp_path)).create_table("raw", pa.table({"emb": column}))
    source, sink = sinks(tmp_path)
    with pytest.raises(DataError, match=r"row 1 \(of 3"):
        apply_store(ERASER, source, sink)


def test_rows_that_are_not_finite_are_named(tmp_path: Path) -> None:
    vectors = vectors_of(rows()).copy()
    vectors[7, 3] = np.inf
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIM)
    lancedb.connect(str(tmp_path)).create_table("raw", pa.table({"emb": column}))
    source, sink = sinks(tmp_path)
    with pytest.raises(DataError, match=r"row 7 \("):
        apply_store(ERASER, source, sink)
