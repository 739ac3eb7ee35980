"""Every format gives the same samples; every damage ends in one error that says where."""

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
from hypothesis.extra import numpy as hnp
from stored_people import LISTS, WRITERS, People, vector_column, write_npy

from efface.data.arrow import vector_array, vector_like
from efface.data.readers import load, read_columns, read_vectors
from efface.data.samples import samples
from efface.errors import DataError

PEOPLE = People.drawn()


# --- what comes out -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_samples(tmp_path: Path, name: str, dtype: str) -> None:
    people = People.drawn(dtype=dtype)
    WRITERS[name](people, tmp_path / name)
    read = load(tmp_path / name, identity="person")
    truth = samples(people.vectors, people.person)
    assert read.digest() == truth.digest()
    assert read.names.tolist() == truth.names.tolist()
    assert read.stored_dtype == dtype
    assert read.dataset == "emb"
    assert set(read.attributes) == {"age"}
    assert read.attributes["age"].tolist() == people.age
    stored = read_vectors(tmp_path / name)
    assert stored.dtype == dtype
    np.testing.assert_array_equal(stored, people.vectors)


@pytest.mark.parametrize("name", WRITERS)
def test_attributes_can_be_chosen(tmp_path: Path, name: str) -> None:
    WRITERS[name](PEOPLE, tmp_path / name)
    assert set(load(tmp_path / name, identity="person", attributes=[]).attributes) == set()
    read = load(tmp_path / name, identity="age", attributes=["person"])
    assert read.names.tolist() == PEOPLE.age
    assert read.attributes["person"].tolist() == PEOPLE.person


def test_a_folder_of_parquet_is_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "emb"
    folder.mkdir()
    pq.write_table(PEOPLE.table().slice(7), folder / "b.parquet")
    pq.write_table(PEOPLE.table().slice(0, 7), folder / "a.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.parquet").write_bytes(b"no")
    assert (
        load(folder, identity="person").digest() == samples(PEOPLE.vectors, PEOPLE.person).digest()
    )


def test_labels_of_an_npy_may_lie_elsewhere(tmp_path: Path) -> None:
    write_npy(PEOPLE, tmp_path / "emb.npy")
    elsewhere = (tmp_path / "emb.csv").rename(tmp_path / "people.txt")
    with pytest.raises(DataError, match=r"no labels: expected .*emb\.csv"):
        load(tmp_path / "emb.npy", identity="person")
    read = load(tmp_path / "emb.npy", identity="person", labels=elsewhere)
    assert read.digest() == samples(PEOPLE.vectors, PEOPLE.person).digest()
    WRITERS["emb.npz"](PEOPLE, tmp_path / "emb.npz")
    with pytest.raises(DataError, match=r"labels= goes with a \.npy"):
        load(tmp_path / "emb.npz", identity="person", labels=elsewhere)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        (["7", "10", "7"], [7, 10]),
        (["007", "7", "10"], ["007", "10", "7"]),
        (["1.0", "2.0", "1.0"], ["1.0", "2.0"]),
        (["NA", "null", "true"], ["NA", "null", "true"]),
        (['"Ann, Dr"', "Zoë", '"two\nlines"'], ["Ann, Dr", "Zoë", "two\nlines"]),
        (["99999999999999999999", "1", "2"], ["1", "2", "99999999999999999999"]),
        (["2020-01-01", "2020-01-02", "2020-01-01"], ["2020-01-01", "2020-01-02"]),
    ],
)
def test_csv_identities_are_taken_as_written(
    tmp_path: Path, written: list[str], names: list[Any]
) -> None:
    np.save(tmp_path / "emb.npy", np.ones((3, 2)))
    (tmp_path / "emb.csv").write_text("\n".join(["who", *written]), encoding="utf-8")
    assert load(tmp_path / "emb.npy", identity="who").names.tolist() == names


def test_csv_attributes_have_types(tmp_path: Path) -> None:
    np.save(tmp_path / "emb.npy", np.ones((2, 2)))
    rows = "who,height,ok,day,empty\na,1.5,true,2020-01-01,\nb,2,false,2020-01-02,\n"
    (tmp_path / "emb.csv").write_text(rows)
    columns = load(tmp_path / "emb.npy", identity="who").attributes
    assert columns["height"].tolist() == [1.5, 2.0]
    assert columns["ok"].tolist() == [True, False]
    assert columns["day"].tolist() == ["2020-01-01", "2020-01-02"]
    assert columns["empty"].tolist() == [None, None]


def test_coded_text_and_gaps_in_columns(tmp_path: Path) -> None:
    table = PEOPLE.table()
    coded = table.column("person").dictionary_encode()
    table = table.set_column(0, "person", coded)
    table = table.append_column("score", pa.array([None, *range(11)], pa.int32()))
    table = table.append_column("weight", pa.array([None, *range(11)], pa.float32()))
    table = table.append_column("photo", pa.array([b"jpg"] * 12))
    table = table.append_column("taken", pa.array([0] * 12, pa.timestamp("s")))
    for path in (tmp_path / "emb.parquet", tmp_path / "emb.arrow"):
        if path.suffix == ".parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(str(path), table.schema) as writer:
                writer.write_table(table)
        read = load(path, identity="person")
        assert read.digest() == samples(PEOPLE.vectors, PEOPLE.person).digest()
        assert set(read.attributes) == {"age", "score", "weight"}
        assert read.attributes["score"].tolist() == [None, *range(11)]
        assert np.isnan(read.attributes["weight"][0])
        with pytest.raises(DataError, match=r"no identity in row 0 "):
            load(path, identity="score")
        with pytest.raises(DataError, match=r"'taken' is timestamp\[m?s\], not one number or text"):
            load(path, identity="taken")


def test_a_missing_name_is_found(tmp_path: Path) -> None:
    who = pa.array(["a", None, "b"])
    table = pa.table({"who": who, "emb": vector_column(np.eye(3), pa.list_(pa.float64()))})
    pq.write_table(table, tmp_path / "emb.parquet")
    with pytest.raises(DataError, match=r"emb\.parquet: no identity in row 1 "):
        load(tmp_path / "emb.parquet", identity="who")


# --- which column holds the vectors ---------------------------------------------------------


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path / "emb.npz", **arrays)
    return path / "emb.npz"


WHO = np.array(["a", "b", "a"])


@pytest.mark.parametrize(
    ("arrays", "chosen"),
    [
        ({"faces": np.eye(3)}, "faces"),
        ({"faces": np.eye(3), "embedding": 2 * np.eye(3)}, "embedding"),
        ({"box": np.eye(3), "Features": 2 * np.eye(3)}, "Features"),
        ({"box": np.ones((3, 4), int), "faces": np.eye(3)}, "faces"),
        ({"box": np.eye(3), "X": np.eye(3, dtype=np.int8)}, "X"),
        ({"marks": np.ones((3, 5, 2)), "faces": np.eye(3)}, "faces"),
    ],
)
def test_the_vectors_are_found(tmp_path: Path, arrays: dict[str, Any], chosen: str) -> None:
    path = npz(tmp_path, identity=WHO, **arrays)
    np.testing.assert_array_equal(read_columns(path).vectors, arrays[chosen])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"one": np.eye(3), "two": np.eye(3)}, r"several columns of vectors \(one, two\)"),
        ({"embedding": np.eye(3), "x": np.eye(3)}, r"several columns .*\(embedding, x\)"),
        ({"count": np.arange(3)}, "no column of vectors found .*columns: identity, count"),
        ({"codes": np.ones((3, 4), int)}, "no column of vectors found"),
    ],
)
def test_the_vectors_are_not_guessed(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    path = npz(tmp_path, identity=WHO, **arrays)
    with pytest.raises(DataError, match=words + ".*embedding="):
        load(path)


def test_columns_of_another_length_are_no_attributes(tmp_path: Path) -> None:
    path = npz(tmp_path, identity=WHO, embedding=np.eye(3), classes=np.arange(9), version=1)
    assert dict(load(path).attributes) == {}


@pytest.mark.parametrize("name", [n for n in WRITERS if n != "emb.npy"])
def test_unknown_columns_are_answered_with_the_nearest(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](PEOPLE, path)
    known = "known: age, emb, person"
    with pytest.raises(DataError, match=rf"no column 'persn' \(did you mean 'person'\? {known}"):
        load(path, identity="persn")
    with pytest.raises(DataError, match=rf"no column 'embb' \(did you mean 'emb'\? {known}"):
        load(path, identity="person", embedding="embb")
    with pytest.raises(DataError, match=rf"no column 'zzz' \({known}"):
        load(path, identity="person", attributes=["zzz"])
    with pytest.raises(DataError, match=r"person|type <U2 are not numeric"):
        load(path, identity="person", embedding="person")


def test_unknown_columns_of_a_csv(tmp_path: Path) -> None:
    write_npy(PEOPLE, tmp_path / "emb.npy")
    with pytest.raises(DataError, match=r"no column 'persn' \(did you mean 'person'\?"):
        load(tmp_path / "emb.npy", identity="persn")


# --- Arrow memory ---------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    vectors=hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64]),
        st.tuples(st.integers(1, 9), st.integers(1, 5)),
        elements=st.floats(-9, 9, width=16),
    ),
    kind=st.sampled_from(list(LISTS)),
    data=st.data(),
)
def test_slices_of_lists_are_the_slices_of_the_array(
    vectors: np.ndarray, kind: str, data: st.DataObject
) -> None:
    type_ = LISTS[kind](pa.from_numpy_dtype(vectors.dtype), vectors.shape[1])
    column = vector_column(vectors, type_)
    start = data.draw(st.integers(0, len(vectors) - 1))
    length = data.draw(st.integers(1, len(vectors) - start))
    part = column.slice(start, length)
    got = vector_array(part, "file", "emb")
    np.testing.assert_array_equal(got, vectors[start : start + length])
    assert got.dtype == vectors.dtype
    assert vector_like(got, type_).equals(part)
    assert vector_like(got, type_).type == type_


@pytest.mark.parametrize("kind", LISTS)
def test_arrow_memory_is_not_copied(kind: str) -> None:
    type_ = LISTS[kind](pa.float32(), 4)
    column = vector_column(PEOPLE.vectors, type_)
    got = vector_array(column.slice(3, 5), "file", "emb")
    values = column.flatten().to_numpy()
    assert np.shares_memory(got, values)


def test_a_mapped_fixed_size_list_is_not_copied(tmp_path: Path) -> None:
    table = PEOPLE.table("fixed_size_list")
    with pa.ipc.new_file(str(tmp_path / "emb.arrow"), table.schema) as writer:
        writer.write_table(table)
    before = pa.total_allocated_bytes()
    vectors = read_vectors(tmp_path / "emb.arrow")
    assert pa.total_allocated_bytes() == before
    assert not vectors.flags.owndata
    np.testing.assert_array_equal(vectors, PEOPLE.vectors)


def test_a_column_of_tensors(tmp_path: Path) -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(PEOPLE.vectors)
    pq.write_table(pa.table({"who": PEOPLE.person, "t": tensors}), tmp_path / "emb.parquet")
    np.testing.assert_array_equal(read_vectors(tmp_path / "emb.parquet"), PEOPLE.vectors)


def with_rows(path: Path, rows: list[Any], type_: Any, chunk: int = 2) -> Path:
    table = pa.table({"identity": [f"p{i % 2}" for i in range(len(rows))]})
    table = table.append_column("emb", pa.array(rows, type_))
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=chunk)
    return path


@pytest.mark.parametrize("name", ["emb.parquet", "emb.arrow"])
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize(
    ("third", "words"),
    [
        (None, "no vector in row 3 "),
        ([1.0, None], "an empty element in row 3 "),
        ([1.0, np.nan], "row 3 .*NaN"),
        ([0.0, 0.0], "row 3 .*zeros"),
    ],
)
def test_gaps_are_named(tmp_path: Path, name: str, kind: str, third: Any, words: str) -> None:
    rows = [[1.0, 2.0], [3.0, 1.0], [0.5, 1.0], third, [2.0, 2.0]]
    path = with_rows(tmp_path / name, rows, LISTS[kind](pa.float32(), 2))
    for read in (load, read_vectors):
        with pytest.raises(DataError, match=rf"{name}.*{words}"):
            read(path)


@pytest.mark.parametrize("name", ["emb.parquet", "emb.arrow"])
@pytest.mark.parametrize("kind", ["list", "large_list"])
def test_ragged_lists_are_named_with_both_lengths(tmp_path: Path, name: str, kind: str) -> None:
    # In batches of two rows, row 3 ends one and row 4 begins one.
    for odd in (3, 4):
        rows = [[1.0, 2.0]] * 6
        rows[odd] = [1.0, 2.0, 3.0]
        path = with_rows(tmp_path / name, rows, LISTS[kind](pa.float32(), 2))
        with pytest.raises(DataError, match=rf"ragged: row {odd} .* has 3 elements where .* has 2"):
            load(path)


def test_a_ragged_object_array_is_no_vector_column(tmp_path: Path) -> None:
    rows = np.empty(3, object)
    rows[:] = [[1.0], [1.0, 2.0], [1.0]]
    path = npz(tmp_path, identity=WHO, embedding=rows)
    with pytest.raises(DataError, match="no column of vectors"):
        load(path)
    with pytest.raises(DataError, match="'embedding' holds pickled Python objects"):
        load(path, embedding="embedding")


# --- files that are not what they should be -------------------------------------------------


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


# --- real files -----------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "dim"),
    [
        ("face_mobile_512", 512),
        ("dlib128", 128),
        ("efficientnet_lite0", 1280),
        ("augnet_r50", 2048),
    ],
)
def test_real_embeddings(shared: Path, name: str, dim: int) -> None:
    read = load(shared / "data" / "lfw" / "embeddings" / f"{name}.npz")
    assert (len(read), read.dim, len(read.people)) == (4202, dim, 423)
    assert read.stored_dtype == "float16"
    assert set(read.attributes) == {"name"}
    np.testing.assert_allclose(np.linalg.norm(read.data, axis=1), 1, atol=1e-6)
