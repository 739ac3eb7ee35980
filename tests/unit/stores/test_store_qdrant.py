"""Qdrant, in a folder and over HTTP: ids, payload, and every other vector of a point."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from db_kills import DIM

pytest.importorskip("qdrant_client", reason="no qdrant-client: pip install 'efface[qdrant]'")

from qdrant_client import models
from qdrant_places import (
    ERASER,
    IDS,
    PART,
    ROWS,
    Place,
    apply,
    collections,
    contents,
    in_folder,
    load,
    on_server,
    require_erased,
    some,
)  # fmt: skip

from efface.errors import DataError, StoreError
from efface.scale.runner import Processes
from efface.stores.address import open_sink, open_source
from efface.stores.contract import Source
from efface.stores.engine import apply_store
from efface.stores.qd import connect


@pytest.fixture
def folder() -> Iterator[Place]:
    with in_folder() as made:
        yield made


@pytest.fixture
def server() -> Iterator[Place]:
    with on_server() as made:
        yield made


@pytest.fixture(params=["folder", "server"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


# --- reading --------------------------------------------------------------------------------


def test_parts_are_runs_of_ids_in_their_order(place: Place) -> None:
    load(place)
    source = open_source(place.address("items"))
    parts = source.parts(PART)
    assert parts == source.parts(PART)
    assert [part.rows for part in parts] == [9, 9, 9, 9, 4]
    chunks = [source.read(part) for part in parts]
    assert [label for chunk in chunks for label in chunk.labels] == IDS
    assert np.concatenate([chunk.vectors for chunk in chunks]).tobytes() == some().tobytes()
    assert (source.shape.rows, source.shape.dim, source.shape.dtype) == (ROWS, DIM, "float32")


def test_a_sample_is_without_points_that_have_no_vector(place: Place) -> None:
    load(place, gaps=True)
    source = open_source(place.address("items"))
    rng = np.random.default_rng(0)
    all_labels, _ = source.sample(1000, rng)
    assert sorted(map(str, all_labels)) == sorted(
        str(one) for row, one in enumerate(IDS) if row % 7 != 3
    )
    labels, vectors = source.sample(10, rng)
    assert len(set(labels)) == len(vectors) == 10
    for label, vector in zip(labels, vectors, strict=True):
        assert vector.tobytes() == some()[IDS.index(label)].tobytes()


@pytest.mark.parametrize("change", ["payload", "vector", "gone", "come"])
def test_the_fingerprint_sees_a_change(place: Place, change: str) -> None:
    load(place)
    before = open_source(place.address("items")).fingerprint()
    assert open_source(place.address("items")).fingerprint() == before
    with place.look() as client:
        if change == "payload":
            client.set_payload("items", {"row": -1}, points=[5])
        elif change == "gone":
            client.delete("items", [5])
        else:
            point = models.PointStruct(id=5 if change == "vector" else 6, vector=[1.0] * DIM)
            client.upsert("items", [point])
    assert open_source(place.address("items")).fingerprint() != before


@pytest.mark.parametrize(("row", "says"), [(6, "from id 0 on"), (44, "from id 0 on")])
def test_points_that_come_while_a_part_is_read_are_noticed(
    place: Place, row: int, says: str
) -> None:
    load(place)
    source = open_source(place.address("items"))
    part = source.parts(PART)[0]
    del source
    with place.look() as client:
        client.upsert("items", [models.PointStruct(id=row - 3, vector=[1.0] * DIM)])
    with pytest.raises(StoreError, match=says):
        open_source(place.address("items")).read(part)


# --- the whole way --------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["Dot", "Cosine", "Euclid"])
def test_everything_of_a_point_is_kept_and_the_name_is_an_alias(
    place: Place, distance: str
) -> None:
    if place.remote and distance == "Cosine":
        pytest.skip("the stub's engine rounds unit vectors again, which a server does not")
    load(place, distance=distance)
    sink = apply(place)
    del sink
    require_erased(place)
    names, aliases = collections(place)
    assert aliases.keys() == {"clean"}
    assert names == {"items", aliases["clean"], "clean__efface_journal"}
    with place.look() as client:
        params = client.get_collection("clean").config.params.vectors
    assert (params.size, params.distance.value) == (DIM, distance)


def test_other_vectors_of_a_point_are_kept(place: Place) -> None:
    rng = np.random.default_rng(4)
    with place.look() as client:
        client.create_collection(
            "items",
            vectors_config={
                "face": models.VectorParams(size=DIM, distance=models.Distance.DOT),
                "text": models.VectorParams(size=3, distance=models.Distance.EUCLID),
                "many": models.VectorParams(
                    size=2, distance=models.Distance.DOT,
                    multivector_config=models.MultiVectorConfig(comparator="max_sim"),
                ),
            },
            sparse_vectors_config={"words": models.SparseVectorParams()},
        )  # fmt: skip
        for row, one in enumerate(IDS):
            held: dict[str, Any] = {"text": rng.normal(size=3).astype("f4").tolist()}
            if row % 4:
                held["face"] = some()[row].tolist()
            if row % 3:
                held["many"] = [[1.0, float(row)], [0.5, 2.0]]
                held["words"] = models.SparseVector(indices=[1, row + 2], values=[0.5, 2.0])
            client.upsert("items", [models.PointStruct(id=one, vector=held)])
    for name, says in ((None, "3 dense vectors: choose one"), ("fac", "no dense vector 'fac'")):
        with pytest.raises(StoreError, match=says):
            open_source(place.address("items", embedding=name))
    with pytest.raises(StoreError, match="a multivector"):
        open_source(place.address("items", embedding="many"))
    source = open_source(place.address("items", embedding="face"))
    sink = open_sink(place.address("clean"), source)
    apply_store(ERASER, source, sink, part_rows=PART, verify="full", null="keep")
    del source, sink
    before, after = contents(place, "items"), contents(place, "clean")
    assert list(after) == IDS
    for row, one in enumerate(IDS):
        old, new = before[one][1], after[one][1]
        assert ("face" in new) == (row % 4 != 0)
        assert {k: v for k, v in new.items() if k != "face"} == {
            k: v for k, v in old.items() if k != "face"
        }
        if "face" in new:
            want = ERASER.transform(some()[row : row + 1])[0]
            np.testing.assert_allclose(new["face"], want, atol=1e-6)


@pytest.mark.parametrize("part", [PART, 3], ids=["none done", "one part done"])
@pytest.mark.parametrize("null", ["keep", "drop"])
def test_points_without_a_vector(place: Place, null: Any, part: int) -> None:
    load(place, gaps=True)
    with pytest.raises(DataError, match=r"row 15 .*no vector|rows 15, .*no vector"):
        apply(place, part_rows=part)
    apply(place, null=null, part_rows=part)
    after = contents(place, "clean")
    assert list(after) == [one for row, one in enumerate(IDS) if null == "keep" or row % 7 != 3]
    assert sum(bool(vector) for _, vector in after.values()) == 34


def test_several_processes_work_on_a_server(server: Place) -> None:
    load(server)
    runner = Processes(2)
    try:
        sink = apply(server, runner=runner)
    finally:
        runner.close()
    require_erased(server)
    assert not getattr(sink, "local_only", True)


def test_a_folder_says_that_it_is_open_in_one_process_only(folder: Place) -> None:
    load(folder)
    source = open_source(folder.address("items"))
    sink = open_sink(folder.address("clean"), source)
    assert getattr(source, "local_only", False)
    assert getattr(sink, "local_only", False)
    again: Source = pickle.loads(pickle.dumps(source))
    assert again.shape == source.shape
    with pytest.raises(StoreError, match="open in another program"):
        connect.Opened(folder.location)


def test_a_folder_that_another_program_has_open(folder: Place) -> None:
    load(folder)
    with folder.look(), pytest.raises(StoreError, match="open in another program"):
        open_source(folder.address("items"))
    assert open_source(folder.address("items")).shape.rows == ROWS


def test_from_one_folder_into_another(folder: Place, tmp_path: Path) -> None:
    load(folder)
    source = open_source(folder.address("items"))
    there = Place(str(tmp_path / "new"), None)
    sink = open_sink(there.address("clean"), source)
    apply_store(ERASER, source, sink, part_rows=PART, verify="full")
    del source, sink
    assert list(contents(there, "clean")) == IDS
    assert collections(folder)[0] == {"items"}


def test_a_large_folder_gives_no_warning(folder: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from qdrant_client.common import client_warnings
    from qdrant_client.local import local_collection, qdrant_local

    load(folder)
    monkeypatch.setattr(client_warnings, "SEEN_MESSAGES", set())
    monkeypatch.setattr(local_collection.LocalCollection, "LARGE_DATA_THRESHOLD", 10)
    monkeypatch.setattr(qdrant_local.QdrantLocal, "LARGE_DATA_THRESHOLD", 10)
    apply(folder)
