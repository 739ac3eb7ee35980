"""The noun: what is refused, and where its points go when the picture is cut and resized."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from drawn_faces import UPRIGHT

from efface.errors import DataError
from efface.faces.face import Face, Outcome, tally

BOX = (80.0, 60.0, 140.0, 160.0)


def test_a_face_knows_its_box() -> None:
    face = Face(np.array(BOX), UPRIGHT, 0.9)
    assert face.size.tolist() == [60, 100]
    assert face.area == 6000
    assert face.centre.tolist() == [110, 110]


def test_a_face_is_frozen_to_its_numbers() -> None:
    given = np.array(BOX)
    face = Face(given, UPRIGHT)
    given[0] = -1
    assert face.box[0] == 80
    with pytest.raises(ValueError, match="read-only"):
        face.landmarks[0, 0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        face.score = 2.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("box", "landmarks", "told"),
    [
        ((0, 0, 1), UPRIGHT, "box of shape"),
        ((0, 0, 0, 5), UPRIGHT, "x1, y1, x2, y2"),
        ((5, 0, 1, 5), UPRIGHT, "x1, y1, x2, y2"),
        ((0, 0, 1, np.nan), UPRIGHT, "finite box"),
        (BOX, UPRIGHT[:4], "landmarks of shape"),
        (BOX, UPRIGHT * np.inf, "finite landmarks"),
    ],
)
def test_numbers_that_are_no_face_are_refused(box, landmarks, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Face(box, landmarks)


def test_a_cut_and_a_resize_move_edges_and_centres_each_in_their_own_way() -> None:
    """A landmark on the centre of pixel 90, cut at 80 and doubled: pixel 10 becomes 20 and 21,
    whose common middle is 20.5. The box edge at 80 becomes 0."""
    moved = Face(np.array(BOX), UPRIGHT).moved((80, 60), 2)
    assert moved.box.tolist() == [0, 0, 120, 200]
    assert moved.landmarks[0].tolist() == [20.5, 80.5]


def test_moving_there_and_back_is_nothing(rng: np.random.Generator) -> None:
    face = Face(np.array(BOX), UPRIGHT + rng.normal(size=(5, 2)))
    back = face.moved((31, -7), 1.7).moved((-31 * 1.7, 7 * 1.7), 1 / 1.7)
    assert np.allclose(back.landmarks, face.landmarks)
    assert np.allclose(back.box, face.box)


def test_the_tally_counts_every_picture_once() -> None:
    told = [Outcome.NONE, Outcome.ONE, Outcome.ONE, Outcome.BORDER]
    assert tally(told) == {"one face": 2, "no face": 1, "face at the border": 1}
    assert tally([]) == {}
