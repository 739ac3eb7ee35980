"""Every other order of five points is noticed, whatever the tilt and turn of the head."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from drawn_faces import UPRIGHT, turned

from efface.faces.face import Outcome
from efface.faces.landmarks import TEMPLATE, landmark_faults

MIRRORED = [1, 0, 2, 4, 3]
OTHERS = [list(order) for order in permutations(range(5)) if list(order) != list(range(5))]


@pytest.mark.parametrize("points", [UPRIGHT, TEMPLATE], ids=["drawn", "template"])
@pytest.mark.parametrize("tilt", [-40, -20, 0, 20, 40])
def test_all_119_other_orders_are_noticed(points: np.ndarray, tilt: float) -> None:
    face = turned(points, tilt)
    assert landmark_faults(face[None]) == [None]
    faults = landmark_faults(np.array([face[order] for order in OTHERS]))
    assert None not in faults
    assert [order for order, f in zip(OTHERS, faults, strict=True) if f == Outcome.MIRRORED] == [
        MIRRORED
    ]


@pytest.mark.parametrize("side", [-1, 1])
def test_a_turned_head_is_still_in_order(side: int) -> None:
    """Half profile: the eyes come together, the nose goes to the side."""
    face = (UPRIGHT - 110) * [0.6, 1] + 110
    face[2, 0] += side * 14
    assert landmark_faults(face[None]) == [None]
    assert landmark_faults(face[None, MIRRORED]) == [Outcome.MIRRORED]


@pytest.mark.parametrize(
    "points", [np.zeros((5, 2)), np.full((5, 2), 7.0), turned(UPRIGHT, 180), turned(UPRIGHT, 90)]
)
def test_points_on_one_spot_and_heads_upside_down_are_disorder(points: np.ndarray) -> None:
    assert landmark_faults(points[None]) == [Outcome.DISORDERED]


def test_no_faces_no_faults() -> None:
    assert landmark_faults(np.zeros((0, 5, 2))) == []


@pytest.mark.shared
def test_real_faces_are_in_order_and_their_disorder_is_noticed(shared: Path) -> None:
    faces = np.load(shared / "data" / "lfw" / "landmarks.npz")["landmarks"].astype(float)
    assert set(landmark_faults(faces)) == {None}
    for order in OTHERS[::7]:
        assert None not in landmark_faults(faces[:, order])
