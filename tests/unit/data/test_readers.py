"""Every format gives the same samples; every damage ends in one error that says where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stored_people import WHO, WRITERS, People, npz, vector_column, write_npy

from efface.data.readers import load, read_columns, read_vectors
from efface.data.samples import samples
from efface.errors import DataError

PEOPLE = People.drawn()


# --- what comes out ---------------------------------------------------------------------------


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
    with pytest.raises(DataError, match=r"\(--labels\) go with a \.npy"):
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


# --- which column holds the vectors -----------------------------------------------------------


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


# --- real files -------------------------------------------------------------------------------


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
