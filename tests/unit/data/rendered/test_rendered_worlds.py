"""Worlds: any number of people, in any parts, and triplets whose truth is exact."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from efface.data.rendered.folder import COLUMNS, write_faces
from efface.data.rendered.png import contact_sheet, png, write_png
from efface.data.rendered.world import RenderedFaces, World, rendered_faces, stream, triplets
from efface.errors import DataError


def same(one: RenderedFaces, other: RenderedFaces) -> bool:
    return all(np.array_equal(value, getattr(other, name)) for name, value in vars(one).items())


def test_a_world_has_what_was_asked_for() -> None:
    made = rendered_faces(4, 3, contexts=5, size=64, seed=1)
    assert len(made) == 12
    assert made.identity.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert set(made.context.tolist()) <= set(range(5))
    assert made.pictures.shape == (12, 64, 64, 3)
    assert made.faces.shape == made.persons.shape == (12, 64, 64)
    assert made.landmarks.shape == (12, 5, 2)
    assert made.boxes.shape == (12, 4)
    assert made.pose.shape == (12, 3)
    assert same(made, rendered_faces(4, 3, contexts=5, size=64, seed=1))
    assert not np.array_equal(made.pictures, rendered_faces(4, 3, size=64, seed=2).pictures)


def test_parts_of_a_world_are_made_apart() -> None:
    whole = rendered_faces(4, 2, size=64)
    parts = [rendered_faces(range(a, a + 2), 2, size=64) for a in (0, 2)]
    assert np.array_equal(whole.pictures, np.concatenate([p.pictures for p in parts]))
    assert np.array_equal(whole.identity, np.concatenate([p.identity for p in parts]))


def test_a_stream_is_the_world_in_batches() -> None:
    world = World(5, 3, size=64)
    batches = list(stream(world, batch=4))
    assert [len(batch) for batch in batches] == [4, 4, 4, 3]
    whole = rendered_faces(5, 3, size=64)
    assert np.array_equal(np.concatenate([b.landmarks for b in batches]), whole.landmarks)


def test_at_home_nobody_else_is() -> None:
    made = rendered_faces(3, 4, size=64, home=1.0)
    assert len(set(made.context.tolist())) == 3
    for who in range(3):
        assert len(set(made.context[made.identity == who].tolist())) == 1


def test_no_pose_is_straight_ahead() -> None:
    assert not rendered_faces(2, 2, size=64, pose=0.0).pose.any()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"size": 63}, "64 to 256"), ({"size": 257}, "64 to 256"),
        ({"people": 0}, "needs a person"), ({"images": 0}, "needs a person"),
        ({"contexts": 0}, "needs a person"),
        ({"home": 1.5}, "home=1.5"), ({"pose": -1}, "pose=-1"),
    ],
)  # fmt: skip
def test_worlds_that_cannot_be_are_refused(wrong: dict, told: str) -> None:
    with pytest.raises(DataError, match=told):
        World(**wrong)
    with pytest.raises(DataError, match="batches of 0"):
        next(stream(World(), 0))


def test_triplets_keep_what_they_have_to_keep() -> None:
    made = triplets(World(6, contexts=4, size=64), 8)
    query, same_person, same_place = made.query, made.identity_match, made.context_match
    assert len(query) == len(same_person) == len(same_place) == 8
    assert np.array_equal(query.identity, same_person.identity)
    assert (query.context != same_person.context).all()
    assert (query.identity != same_place.identity).all()
    assert np.array_equal(query.context, same_place.context)
    assert np.array_equal(query.pose, same_place.pose)
    for row in range(8):
        outside = ~(query.persons[row] | same_place.persons[row])
        assert np.array_equal(query.pictures[row][outside], same_place.pictures[row][outside])
        assert not np.array_equal(query.pictures[row], same_place.pictures[row])


def test_no_triplets_and_impossible_ones() -> None:
    assert len(triplets(World(3, size=64), 0).query) == 0
    for world in (World(1, size=64), World(5, contexts=1, size=64)):
        with pytest.raises(DataError, match="two people and two contexts"):
            triplets(world, 1)


def test_a_folder_in_the_manner_of_lfw_with_its_truth(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    assert write_faces(World(2, 2, size=64), tmp_path / "faces") == 4
    whole = rendered_faces(2, 2, size=64)
    with open(tmp_path / "faces" / "truth.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["identity"] for row in rows] == ["person_0000"] * 2 + ["person_0001"] * 2
    for number, row in enumerate(rows):
        picture = np.asarray(image.open(tmp_path / "faces" / row["file"]))
        assert np.array_equal(picture, whole.pictures[number])
        assert float(row["nose_x"]) == pytest.approx(whole.landmarks[number, 2, 0], abs=1e-4)
        assert int(row["context"]) == whole.context[number]


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (64, 64)])
def test_png_is_read_back_as_it_was(tmp_path: Path, shape: tuple[int, int]) -> None:
    image = pytest.importorskip("PIL.Image")
    picture = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    write_png(picture, tmp_path / "new" / "p.png")
    assert np.array_equal(np.asarray(image.open(tmp_path / "new" / "p.png")), picture)


@pytest.mark.parametrize(
    "wrong", [np.zeros((2, 2, 3)), np.zeros((2, 2), np.uint8), np.zeros((0, 2, 3), np.uint8)]
)
def test_what_is_no_picture_is_not_written(wrong: np.ndarray) -> None:
    with pytest.raises(DataError, match="a picture is uint8"):
        png(wrong)


def test_a_contact_sheet_by_hand() -> None:
    pictures = np.arange(3, dtype=np.uint8)[:, None, None, None] + np.ones((3, 2, 4, 3), np.uint8)
    sheet = contact_sheet(pictures, 2)
    assert sheet.shape == (4, 8, 3)
    assert sheet[::2, ::4, 0].tolist() == [[1, 2], [3, 0]]
