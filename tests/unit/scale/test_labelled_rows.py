"""Labelled files: every row once, in order, with its person, whatever the parts."""

from __future__ import annotations

import multiprocessing.reduction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people_on_disk import FORMATS, people, write

from efface.errors import DataError
from efface.scale.moments import Labelled
from efface.stores.labelled import open_labelled
from efface.stores.sheet import lay_out

VECTORS, PERSON = people(rows=150)


def opened(path: Path) -> Labelled:
    return open_labelled(path, identity="person")


def travelled(thing: Any) -> Any:
    pickler = multiprocessing.reduction.ForkingPickler
    return pickler.loads(bytes(pickler.dumps(thing)))


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(1, 400))
def test_every_row_comes_once_and_in_order(
    kind: str, tmp_path_factory: pytest.TempPathFactory, rows: int
) -> None:
    source = opened(write(VECTORS, PERSON, kind, tmp_path_factory.mktemp(kind)))
    assert isinstance(source, Labelled)
    assert source.dim == 12
    found = [b for part in travelled(source.parts(rows)) for b in travelled(source).blocks(part)]
    assert np.array_equal(np.concatenate([b.vectors for b in found]), VECTORS)
    assert np.concatenate([b.labels for b in found]).tolist() == PERSON.tolist()
    assert {b.vectors.dtype for b in found} == {np.dtype(np.float32)}


@pytest.mark.parametrize("kind", FORMATS)
def test_parts_are_small_and_always_the_same(kind: str, tmp_path: Path) -> None:
    source = opened(write(VECTORS, PERSON, kind, tmp_path))
    parts = source.parts(40)
    assert parts == source.parts(40)
    assert max(part.count for part in parts) <= 64  # two groups of 32
    assert len({str(part) for part in parts}) == len(parts) > 1


@pytest.mark.parametrize("kind", FORMATS)
def test_what_travels_is_small(kind: str, tmp_path: Path) -> None:
    source = opened(write(VECTORS, PERSON, kind, tmp_path))
    list(source.blocks(source.parts(50)[0]))
    pickler = multiprocessing.reduction.ForkingPickler
    assert len(bytes(pickler.dumps(source))) < 1000


def test_only_the_rows_of_the_part_are_read(tmp_path: Path) -> None:
    path = write(VECTORS, PERSON, "parquet", tmp_path)
    source = opened(path)
    first, *_, last = source.parts(32)
    group = pq.ParquetFile(path).metadata.row_group(0)
    begin = min(group.column(i).data_page_offset for i in (1, 2))
    data = bytearray(path.read_bytes())
    data[begin : begin + 40] = bytes([255]) * 40  # the header of a page of the first group
    path.write_bytes(bytes(data))
    with pytest.raises(DataError, match="damaged"):
        list(source.blocks(first))
    assert sum(len(b.vectors) for b in source.blocks(last)) == last.count


def test_unknown_columns_are_answered(tmp_path: Path) -> None:
    path = write(VECTORS, PERSON, "parquet", tmp_path)
    with pytest.raises(DataError, match=r"persona.*person"):
        open_labelled(path, identity="persona")
    with pytest.raises(DataError, match="no column 'vector'"):
        open_labelled(path, identity="person", embedding="vector")


def test_a_file_of_the_folder_without_the_column_is_named(tmp_path: Path) -> None:
    folder = write(VECTORS, PERSON, "folder", tmp_path)
    other = pq.read_table(folder / "0100.parquet").drop_columns(["person"])
    pq.write_table(other, folder / "0100.parquet")
    with pytest.raises(DataError, match=r"0100.parquet: no column 'person'"):
        opened(folder).parts(10)


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_a_sheet_holds_unit_rows_and_codes(kind: str, tmp_path: Path) -> None:
    source = opened(write(VECTORS, PERSON, kind, tmp_path))
    sheet, names = lay_out(source, tmp_path / "sheet.npy")
    written = np.load(tmp_path / "sheet.npy")
    lengths = np.linalg.norm(VECTORS.astype(float), axis=1)
    assert written.dtype == np.float32
    assert np.abs(written - VECTORS / lengths[:, None]).max() < 1e-6
    assert [names[code] for code in sheet.person] == PERSON.tolist()
    assert sorted(path.name for path in tmp_path.iterdir() if "sheet" in path.name) == ["sheet.npy"]


def test_a_sheet_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    vectors = VECTORS.copy()
    vectors[100] = np.inf
    source = opened(write(vectors, PERSON, "parquet", tmp_path))
    with pytest.raises(DataError, match="infinite"):
        lay_out(source, tmp_path / "sheet.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]
