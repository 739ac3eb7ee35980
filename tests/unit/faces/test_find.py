"""Policies, and every bad picture named in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from drawn_faces import UPRIGHT, noise

from efface.errors import DataError
from efface.faces.face import Face, Outcome, Pixels, tally
from efface.faces.find import find_faces, given_faces
from efface.faces.pictures import framed, picture_fault


def face(x: float, y: float, side: float, score: float, points: np.ndarray = UPRIGHT) -> Face:
    return Face(np.array([x, y, x + side, y + side]), points, score)


@dataclass
class Sees:
    """A detector that answers from a list."""

    answers: list[tuple[Face, ...]]
    name: str = "sees"
    digest: str = "0" * 64
    given: list[int] = field(default_factory=list)

    def detect(self, pictures: Sequence[Pixels]) -> list[tuple[Face, ...]]:
        self.given.append(len(pictures))
        return self.answers


LARGE, CENTRAL, SMALL = face(0, 0, 90, 0.7), face(90, 90, 50, 0.9), face(108, 108, 9, 0.99)


@pytest.mark.parametrize(("policy", "chosen"), [("largest", LARGE), ("central", CENTRAL)])
def test_of_several_faces(policy, chosen: Face) -> None:
    """The smallest scores best and is nearest to the middle, and is too small to compete."""
    finding = find_faces([noise(0)], Sees([(SMALL, CENTRAL, LARGE)]), policy)[0]
    assert finding.face is chosen
    assert finding.outcome is Outcome.SEVERAL
    assert finding.faces == (SMALL, CENTRAL, LARGE)


def test_only_small_faces() -> None:
    finding = find_faces([noise(0)], Sees([(SMALL,)]))[0]
    assert (finding.outcome, finding.face, finding.detail) == (
        Outcome.SMALL_FACE, None, "9.0 pixels",
    )  # fmt: skip
    assert find_faces([noise(0)], Sees([(SMALL,)]), least_face=9)[0].face is SMALL


def test_only_leaves_pictures_of_several_out_and_says_so() -> None:
    several, one = find_faces([noise(0), noise(1)], Sees([(LARGE, CENTRAL), (LARGE,)]), "only")
    assert (several.outcome, several.face) == (Outcome.SEVERAL, None)
    assert several.detail == "2 faces"
    assert (one.outcome, one.face) == (Outcome.ONE, LARGE)


def test_every_bad_picture_is_named_in_its_place() -> None:
    mirrored = face(50, 50, 90, 0.9, UPRIGHT[[1, 0, 2, 4, 3]])
    disordered = face(50, 50, 90, 0.9, UPRIGHT[[0, 1, 3, 2, 4]])
    pictures = [
        noise(0), np.zeros((1, 1, 3), np.uint8), noise(1), noise(2), noise(3),
        np.zeros((50, 50), np.uint8), np.zeros((50, 50, 3)), np.zeros((0, 40, 3), np.uint8),
    ]  # fmt: skip
    seen = [(LARGE,), (), (mirrored,), (disordered,), (), (), (), ()]
    findings = find_faces(pictures, Sees(seen))
    assert [finding.outcome for finding in findings] == [
        Outcome.ONE, Outcome.SMALL_PICTURE, Outcome.MIRRORED, Outcome.DISORDERED, Outcome.NONE,
        Outcome.NO_PICTURE, Outcome.NO_PICTURE, Outcome.SMALL_PICTURE,
    ]  # fmt: skip
    assert sum(tally(f.outcome for f in findings).values()) == len(pictures)
    assert findings[1].detail == "uint8 of shape (1, 1, 3)"
    assert all(f.face is None for f in findings[1:])


def test_faces_that_are_known_already() -> None:
    findings = given_faces([noise(0), noise(1)], [LARGE, None])
    assert [f.outcome for f in findings] == [Outcome.ONE, Outcome.NONE]


def test_a_policy_that_does_not_exist() -> None:
    with pytest.raises(DataError, match="choose one of largest, central, only"):
        find_faces([], Sees([]), "first")  # type: ignore[arg-type]
    assert find_faces([], Sees([])) == []


def test_pictures_and_what_is_none() -> None:
    assert picture_fault(noise(0)) is None
    assert picture_fault("face.jpg") is Outcome.NO_PICTURE
    assert picture_fault(np.zeros((20, 20, 4), np.uint8)) is Outcome.NO_PICTURE
    assert picture_fault(np.zeros((20, 15, 3), np.uint8)) is Outcome.SMALL_PICTURE


def test_a_frame_reduces_and_fills_up_with_black() -> None:
    picture = noise(0, 100, 250)
    same, scale = framed(picture, (640, 640), 32)
    assert same.shape == (128, 256, 3)
    assert scale == 1
    assert np.array_equal(same[:100, :250], picture)
    assert not same[100:].any()
    half, scale = framed(picture, (640, 125))
    assert half.shape == (50, 125, 3)
    assert scale == 0.5
