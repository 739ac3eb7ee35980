"""Every damage ends in one error that names the file and the way out."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored_people import WHO, WRITERS, People, npz, vector_column

from efface.data.readers import load, read_vectors
from efface.errors import DataError

PEOPLE = People.drawn()


def test_missing_unknown_and_empty(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.npz: no such file: check"):
        load(tmp_path / "gone.npz")
    (tmp_path / "emb.pkl").write_bytes(b"x")
    with pytest.raises(DataError, match=r"unknown format '\.pkl' \(known: \.npz.*convert"):
        load(tmp_path / "emb.pkl")
    (tmp_path / "bare").write_bytes(b"x")
    with pytest.raises(DataError, match=r"bare: unknown format '\(no ending\)'"):
        load(tmp_path / "bare")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=r"no \.parquet or \.pq files in this folder"):
        load(tmp_path / "folder")


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("content", [b"", b"x", b"PK\x03\x04", b"ARROW1\0\0", b"PAR1PAR1"])
def test_foreign_bytes(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "emb.csv").write_text("identity\na\nb\n")
    for read in (load, read_vectors):
        with pytest.raises(DataError, match=rf"{name}: .*: write it again"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", WRITERS)
def test_files_without_rows(tmp_path: Path, name: str) -> None:
    whole = People.drawn()
    WRITERS[name](People(whole.vectors[:0], [], []), tmp_path / name)
    with pytest.raises(DataError, match=rf"{name}: .*(no vectors|no rows|empty)"):
        load(tmp_path / name, identity="person")


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_refused_or_harmless(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """Cut or altered bytes give a DataError, or numbers: never another exception."""
    path = tmp_path / name
    WRITERS[name](PEOPLE, path)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:at])
    else:
        flip = data.draw(st.integers(1, 255))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
    for read in (lambda: load(path, identity="person"), lambda: read_vectors(path)):
        with suppress(DataError):
            read()


@pytest.mark.parametrize("name", ["emb.npz", "emb.parquet", "emb.arrow", "emb.npy", "emb.feather"])
def test_every_truncation_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](PEOPLE, path)
    whole = path.read_bytes()
    for size in np.linspace(1, len(whole) - 1, 60).astype(int):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=name):
            load(path, identity="person")


def test_a_flipped_bit_in_an_npz_fails_its_checksum(tmp_path: Path) -> None:
    path = npz(tmp_path, identity=WHO, embedding=np.eye(3) * 7)
    whole = path.read_bytes()
    at = whole.index(np.float64(7).tobytes())
    path.write_bytes(whole[:at] + b"\x01" + whole[at + 1 :])
    with pytest.raises(DataError, match=r"CRC.*write it again"):
        load(path)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return (Path(tmp_path / "exploded").touch, ())

    path = npz(tmp_path, identity=np.array([Bomb(), "b", "a"], object), embedding=np.eye(3))
    with np.load(path, allow_pickle=True) as loaded:
        list(loaded["identity"])
    assert (tmp_path / "exploded").exists(), "the pickle would have run"
    (tmp_path / "exploded").unlink()
    with pytest.raises(DataError, match=r"emb\.npz: array 'identity' holds pickled.*dtype=str"):
        load(path)
    path = npz(tmp_path, identity=WHO, other=np.array([Bomb()] * 3, object), embedding=np.eye(3))
    assert dict(load(path).attributes) == {}
    np.save(tmp_path / "emb.npy", np.array([[Bomb()]], object), allow_pickle=True)
    with pytest.raises(DataError, match=r"emb\.npy: array 'embedding' holds pickled"):
        read_vectors(tmp_path / "emb.npy")
    assert not (tmp_path / "exploded").exists()


def test_an_npz_may_hold_things_that_are_no_arrays(tmp_path: Path) -> None:
    path = npz(tmp_path, identity=WHO, embedding=np.eye(3))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("README.txt", "hello")
    assert len(load(path)) == 3


def test_compressed_and_fortran_ordered_arrays(tmp_path: Path) -> None:
    np.savez_compressed(
        tmp_path / "emb.npz", identity=WHO, embedding=np.asfortranarray(PEOPLE.vectors[:3])
    )
    np.testing.assert_array_equal(read_vectors(tmp_path / "emb.npz"), PEOPLE.vectors[:3])


def test_an_array_header_of_version_2(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.eye(3), version=(2, 0))
    path = npz(tmp_path, identity=WHO)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("embedding.npy", stream.getvalue())
    np.testing.assert_array_equal(read_vectors(path), np.eye(3))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("person\na\nb\n", r"emb\.csv: 2 rows below the header for 3 .*header line missing"),
        ("person\na\n", r"emb\.csv: 1 rows below the header for 3 vectors in .*emb\.npy: give one"),
        ("person\na\nb\na\nb\n", "4 rows below"),
        ("", r"emb\.csv: cannot be read"),
        ("person,age\na,1\nb\na,2\n", r"emb\.csv: cannot be read .*header line"),
        ("person,person\na,1\nb,2\na,2\n", "two columns have the same name"),
        ("person\na\nb\n\n\n", "2 rows below"),
        ("person,age\na,1\n,2\nb,3\n", "no identity in row 1 "),
    ],
)
def test_csv_that_does_not_fit(tmp_path: Path, text: str, words: str) -> None:
    np.save(tmp_path / "emb.npy", np.eye(3))
    (tmp_path / "emb.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        load(tmp_path / "emb.npy", identity="person")


def test_csv_that_is_not_utf8(tmp_path: Path) -> None:
    np.save(tmp_path / "emb.npy", np.eye(3))
    (tmp_path / "emb.csv").write_bytes("person\nZo\xeb\na\nb\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"emb\.csv: cannot be read .*UTF-8"):
        load(tmp_path / "emb.npy", identity="person")


@pytest.mark.parametrize("array", [np.ones(3), np.ones((3, 2, 2)), np.array("x"), np.ones((3, 0))])
def test_npy_that_is_no_matrix(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "emb.npy", array)
    with pytest.raises(DataError, match=r"emb\.npy: "):
        read_vectors(tmp_path / "emb.npy")


def test_columns_of_one_name(tmp_path: Path) -> None:
    vectors = vector_column(np.eye(3), pa.list_(pa.float64()))
    table = pa.Table.from_arrays([pa.array(WHO), pa.array(WHO), vectors], ["who", "who", "emb"])
    pq.write_table(table, tmp_path / "emb.parquet")
    with pa.ipc.new_file(str(tmp_path / "emb.arrow"), table.schema) as writer:
        writer.write_table(table)
    for name in ("emb.parquet", "emb.arrow"):
        with pytest.raises(DataError, match=rf"{name}: two columns have the same name"):
            load(tmp_path / name, identity="who")


def test_folders_whose_files_differ(tmp_path: Path) -> None:
    pq.write_table(PEOPLE.table(), tmp_path / "a.parquet")
    other = PEOPLE.table().drop_columns("person")
    pq.write_table(other, tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: no column 'person', which a\.parquet has"):
        load(tmp_path, identity="person")
    pq.write_table(People.drawn(dtype="float64").table(), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: column 'emb' is list<.*in a\.parquet it is"):
        load(tmp_path, identity="person")


def test_a_checksummed_parquet_page_that_was_altered(tmp_path: Path) -> None:
    path = tmp_path / "emb.parquet"
    pq.write_table(
        PEOPLE.table(), path, write_page_checksum=True, compression="none", use_dictionary=False
    )
    whole = path.read_bytes()
    at = whole.index(PEOPLE.vectors[0, 1].tobytes())
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(DataError, match=r"(?i)(checksum|crc).*write it again"):
        load(path, identity="person")


def test_a_ragged_object_array_is_no_vector_column(tmp_path: Path) -> None:
    rows = np.empty(3, object)
    rows[:] = [[1.0], [1.0, 2.0], [1.0]]
    path = npz(tmp_path, identity=WHO, embedding=rows)
    with pytest.raises(DataError, match="no column of vectors"):
        load(path)
    with pytest.raises(DataError, match="'embedding' holds pickled Python objects"):
        load(path, embedding="embedding")
