"""What a rendered picture says of itself is so: same pixels again, masks, landmarks, labels."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from efface.data.rendered.people import Person
from efface.data.rendered.render import Rendered, render
from efface.data.rendered.scenes import scene
from efface.data.rendered.shots import shot
from efface.data.rendered.traits import person

SIZE = 96


def one(who: int = 0, where: int = 0, how: int = 0, size: int = SIZE) -> Rendered:
    return render(person(0, who), scene(0, where), shot(0, how), size)


def bare(who: Person) -> Person:
    """Without what may cover eyes or mouth."""
    hair = dataclasses.replace(who.hair, fringe=0.0, beard=0.0, moustache=0.0, stubble=0.0)
    glasses = dataclasses.replace(who.glasses, worn=False)
    return dataclasses.replace(who, hair=hair, glasses=glasses)


@pytest.mark.parametrize("size", [64, 127, 200, 256])
def test_a_picture_is_uint8_of_the_size_asked_for_and_the_same_again(size: int) -> None:
    made, again = one(size=size), one(size=size)
    assert made.picture.shape == (size, size, 3)
    assert made.picture.dtype == np.uint8
    assert made.picture.std() > 10
    assert np.array_equal(made.picture, again.picture)
    assert np.array_equal(made.landmarks, again.landmarks)


def test_people_scenes_and_shots_are_the_same_whatever_was_drawn_before() -> None:
    assert person(3, 7) == person(3, 7)
    assert scene(3, 7) == scene(3, 7)
    assert shot(3, 7, 2) == shot(3, 7, 2)
    assert len({person(3, n) for n in range(50)}) == 50
    assert person(3, 7) != dataclasses.replace(person(4, 7))


@pytest.mark.parametrize("how", range(6))
def test_another_person_changes_nothing_outside_the_two_persons(how: int) -> None:
    mine, other = one(who=1, how=how), one(who=2, how=how)
    outside = ~(mine.person | other.person)
    assert outside.mean() > 0.3
    assert np.array_equal(mine.picture[outside], other.picture[outside])
    inside = mine.person & other.person
    assert (mine.picture[inside] != other.picture[inside]).mean() > 0.8


@pytest.mark.parametrize("how", range(6))
def test_another_scene_changes_no_truth_about_the_face(how: int) -> None:
    here, there = one(where=1, how=how), one(where=2, how=how)
    for name in ("face", "landmarks", "box"):
        assert np.array_equal(getattr(here, name), getattr(there, name))
    assert (here.picture != there.picture).mean() > 0.8


def test_the_face_is_inside_the_person_and_its_box_fits() -> None:
    for who in range(8):
        made = one(who, who, who)
        assert not (made.face & ~made.person).any()
        x1, y1, x2, y2 = made.box.astype(int)
        rest = made.face.copy()
        rest[y1:y2, x1:x2] = False
        assert not rest.any()
        assert all(made.face[y].any() for y in (y1, y2 - 1))
        assert all(made.face[:, x].any() for x in (x1, x2 - 1))
        assert 0.05 < made.face.mean() < 0.3


def test_landmarks_are_on_the_face_and_in_order() -> None:
    from efface.faces.landmarks import landmark_faults

    points = []
    for who in range(40):
        made = one(who, who, who)
        x, y = made.landmarks.round().astype(int).T
        assert made.face[y, x].sum() >= 4  # a fringe may hang over an eye
        points.append(made.landmarks)
    assert set(landmark_faults(np.array(points))) == {None}


def test_landmarks_are_where_the_features_are() -> None:
    """Straight ahead, eyes wide open, noise off: pupils are the dark spots at the eyes, and
    between the corners of the mouth it is redder than beside them."""
    ahead = {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "gaze_x": 0.0, "gaze_y": 0.0}
    calm = {"blink": 0.0, "noise": 0.0, "open": 0.0, "smile": 0.3, "raise_brows": 0.0}
    still = dataclasses.replace(shot(0, 1), **ahead, **calm)
    redder = []
    for who in range(12):
        plain = bare(person(0, who))
        made = render(plain, scene(0, 0), still, 256)
        grey = made.picture.mean(axis=2)
        for x, y in made.landmarks[:2].round().astype(int):
            near = grey[y - 6 : y + 7, x - 9 : x + 10]
            dark = np.argwhere(near < np.quantile(near, 0.08)).mean(axis=0) - [6, 9]
            assert np.abs(dark).max() < 5  # lashes are dark too
        redness = made.picture[..., 0] / made.picture[..., 1].astype(float)
        right, left = made.landmarks[3:]
        middle, half = (right + left) / 2, (left - right) / 2
        on, beside = (
            np.mean([redness[round(y) + 3, round(x)] for x, y in (middle + k * half for k in ks)])
            for ks in ((-0.5, 0.0, 0.5), (-1.5, 1.5))
        )
        redder.append(on / beside)
    assert min(redder) > 1
    assert np.mean(redder) > 1.08


def test_turning_the_head_moves_the_nose_across_the_eyes_and_rolling_turns_the_eye_line() -> None:
    still = dataclasses.replace(shot(0, 1), yaw=0, pitch=0, roll=0)

    def points(**changes: float) -> np.ndarray:
        moved = dataclasses.replace(still, **changes)
        return render(person(0, 5), scene(0, 0), moved, 128).landmarks

    straight = points()
    assert straight[2, 0] == pytest.approx((straight[0, 0] + straight[1, 0]) / 2, abs=1e-6)
    for yaw in (-0.4, 0.4):
        turned = points(yaw=yaw)
        middle = (turned[0, 0] + turned[1, 0]) / 2
        assert np.sign(turned[2, 0] - middle) == np.sign(yaw)
        assert turned[1, 0] - turned[0, 0] < straight[1, 0] - straight[0, 0]
    down = points(pitch=0.25)
    assert down[2, 1] - down[:2, 1].mean() > straight[2, 1] - straight[:2, 1].mean()
    tilted = points(roll=0.2)
    line = tilted[1] - tilted[0]
    assert np.arctan2(line[1], line[0]) == pytest.approx(0.2, abs=1e-6)


def test_sizes_show_the_same_person_in_the_same_pose() -> None:
    small, large = one(3, 3, 3, 64), one(3, 3, 3, 256)
    assert np.allclose((small.landmarks + 0.5) * 4, large.landmarks + 0.5, atol=1e-6)
    half = large.picture.reshape(64, 4, 64, 4, 3).mean(axis=(1, 3))
    assert np.corrcoef(half.ravel(), small.picture.ravel().astype(float))[0, 1] > 0.95


def test_expressions_change_the_mouth_and_leave_the_eyes() -> None:
    still = dataclasses.replace(shot(0, 1), smile=0.0, open=0.0, noise=0.0)
    smiling = dataclasses.replace(still, smile=1.0, open=0.8)
    a, b = (render(person(0, 4), scene(0, 0), s, 128) for s in (still, smiling))
    assert np.allclose(a.landmarks[:2], b.landmarks[:2], atol=0.05)  # a smile lifts the cheeks
    assert b.landmarks[4, 0] - b.landmarks[3, 0] > a.landmarks[4, 0] - a.landmarks[3, 0]
    y = a.landmarks[3:, 1].mean()
    rows = np.abs(a.picture.astype(int) - b.picture).mean(axis=(1, 2))
    assert rows[int(y) - 8 : int(y) + 8].mean() > 5 * rows[: int(y) - 60].mean()


def test_noise_is_as_strong_as_the_shot_says() -> None:
    quiet = dataclasses.replace(shot(0, 1), noise=0.0)
    loud = dataclasses.replace(quiet, noise=4.0)
    a, b = (render(person(0, 4), scene(0, 0), s, 128).picture.astype(int) for s in (quiet, loud))
    assert 3 < (b - a).std() < 5
