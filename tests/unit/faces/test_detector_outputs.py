"""Decoding is the inverse of the encoding that detectors are trained with; suppression by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.faces import decode
from efface.faces.found import Candidates, suppressed

SIZE = (96, 128)
BOX = np.array([30.0, 20, 70, 72])
POINTS = np.array([[40.0, 40], [60, 41], [50, 50], [43, 60], [58, 61]])
CENTRE, SIDES = (BOX[:2] + BOX[2:]) / 2, BOX[2:] - BOX[:2]


def the_only_one(found: Candidates, score: float) -> None:
    assert len(found) == 1
    assert np.allclose(found.boxes[0], BOX)
    assert np.allclose(found.landmarks[0], POINTS)
    assert found.scores[0] == pytest.approx(score)


def grids(depth: int, strides: tuple[int, ...], fill: float = 0.0, each: int = 1) -> dict:
    return {
        s: np.full((1, (SIZE[0] // s) * (SIZE[1] // s) * each, depth), fill, np.float64)
        for s in strides
    }


@pytest.mark.parametrize("stride", [8, 16, 32])
def test_yunet(stride: int) -> None:
    strides = (8, 16, 32)
    cls, obj, bbox, kps = (grids(d, strides) for d in (1, 1, 4, 10))
    column, row = 2, 1
    cell = row * (SIZE[1] // stride) + column
    cls[stride][0, cell], obj[stride][0, cell] = 0.9, 0.4
    bbox[stride][0, cell, :2] = CENTRE / stride - [column, row]
    bbox[stride][0, cell, 2:] = np.log(SIDES / stride)
    kps[stride][0, cell] = (POINTS / stride - [column, row]).ravel()
    named = {
        f"{name}_{s}": grid[s]
        for name, grid in (("cls", cls), ("obj", obj), ("bbox", bbox), ("kps", kps))
        for s in strides
    }
    the_only_one(decode.yunet(named, SIZE, 0.5), np.sqrt(0.9 * 0.4))
    assert len(decode.yunet(named, SIZE, 0.7)) == 0
    cls[stride][0, cell], obj[stride][0, cell] = 7.0, 1.5  # clipped to one each
    assert decode.yunet(named, SIZE, 0.5).scores.tolist() == [1]


@pytest.mark.parametrize(("strides", "each"), [((8, 16, 32), 2), ((8, 16, 32, 64, 128), 1)])
def test_scrfd(strides: tuple[int, ...], each: int) -> None:
    size = (128, 128)
    scores, sides, points = (
        [np.zeros(((128 // s) ** 2 * each, depth)) for s in strides] for depth in (1, 4, 10)
    )
    level, column, row = 1, 3, 2
    stride = strides[level]
    place = np.array([column, row]) * stride
    at = (row * (128 // stride) + column) * each + each - 1
    scores[level][at] = 0.8
    sides[level][at] = np.concatenate([place - BOX[:2], BOX[2:] - place]) / stride
    points[level][at] = ((POINTS - place) / stride).ravel()
    the_only_one(decode.scrfd([*scores, *sides, *points], size, 0.5), 0.8)
    batched = [o[None] for o in (*scores, *sides, *points)]
    the_only_one(decode.scrfd(batched, size, 0.5), 0.8)


def by_priors(count: int, prior: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    boxes, points = np.zeros((1, count, 4)), np.zeros((1, count, 10))
    boxes[0, at, :2] = (CENTRE - prior[:2]) / (0.1 * prior[2])
    boxes[0, at, 2:] = np.log(SIDES / prior[2]) / 0.2
    points[0, at] = ((POINTS - prior[:2]) / (0.1 * prior[2])).ravel()
    return boxes, points


@pytest.mark.parametrize("softmax", [True, False])
def test_retinaface_with_and_without_its_softmax(softmax: bool) -> None:
    priors = decode.priors(SIZE, {8: (16, 32), 16: (64, 128), 32: (256, 512)})
    boxes, points = by_priors(len(priors), priors[77], 77)
    chance = np.tile([1.0, 0.0], (1, len(priors), 1))
    chance[0, 77] = [0.25, 0.75]
    if not softmax:
        chance = np.log(np.clip(chance, 1e-9, 1)) + 3
    for order in ([boxes, chance, points], [points, boxes, chance]):
        the_only_one(decode.retinaface(order, SIZE, 0.5), 0.75)


def test_yunet_of_2022() -> None:
    sides = {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}
    size = (128, 128)
    priors = decode.priors(size, sides)
    boxes, points = by_priors(len(priors), priors[-20], len(priors) - 20)
    conf, iou = np.zeros((1, len(priors), 2)), np.zeros((1, len(priors), 1))
    conf[0, -20, 1], iou[0, -20] = 0.9, 0.6
    named = {"loc": np.concatenate([boxes, points], axis=2), "conf": conf, "iou": iou}
    the_only_one(decode.yunet_2022(named, size, 0.5), np.sqrt(0.54))


def test_cells_and_priors_by_hand() -> None:
    assert decode.cells((16, 24), 8).tolist() == [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]
    assert decode.priors((8, 16), {8: (4, 9)}).tolist() == [
        [4, 4, 4], [4, 4, 9], [12, 4, 4], [12, 4, 9],
    ]  # fmt: skip


def candidates(boxes: list, scores: list) -> Candidates:
    return Candidates(np.array(boxes, float), np.zeros((len(boxes), 5, 2)), np.array(scores))


def test_suppression_by_hand() -> None:
    """Two boxes of 100 share 50, so 50 of 150; the third touches nobody."""
    boxes = [[0, 0, 10, 10], [5, 0, 15, 10], [20, 0, 30, 10]]
    found = candidates(boxes, [0.5, 0.9, 0.7])
    assert suppressed(found, 0.33).boxes.tolist() == [boxes[1], boxes[2]]
    assert suppressed(found, 0.34).scores.tolist() == [0.9, 0.7, 0.5]
    assert suppressed(found, 0.34, most=1).scores.tolist() == [0.9]


def test_equal_scores_keep_their_order_and_boxes_without_area_hurt_nobody() -> None:
    found = candidates([[3, 3, 3, 3], [0, 0, 4, 4], [9, 9, 12, 12]], [0.6, 0.6, 0.6])
    assert suppressed(found, 0.3).boxes[:, 0].tolist() == [3, 0, 9]
    assert len(suppressed(candidates([[0, 0, 1, 1]], [1.0])[np.array([], int)], 0.3)) == 0


@given(st.integers(0, 10_000), st.integers(1, 30))
def test_what_is_kept_overlaps_little_and_what_goes_overlaps_a_better_one(
    seed: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 50, (count, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(1, 40, (count, 2))], axis=1)
    scores = rng.random(count)
    kept = suppressed(candidates(boxes.tolist(), scores.tolist()), 0.4)

    def overlap(a: np.ndarray, b: np.ndarray) -> float:
        w, h = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
        both = max(w, 0) * max(h, 0)
        return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)

    for i, a in enumerate(kept.boxes):
        assert all(overlap(a, b) <= 0.4 for b in kept.boxes[:i])
    for box, score in zip(boxes, scores, strict=True):
        if not (kept.boxes == box).all(axis=1).any():
            better = kept.boxes[kept.scores >= score]
            assert any(overlap(box, b) > 0.4 for b in better)


def test_numbers_that_are_no_face_are_left_out() -> None:
    found = candidates([[0, 0, np.nan, 4], [4, 4, 2, 9], [0, 0, 8, 8]], [0.9, 0.9, 0.9])
    faces = found.faces(0.5)
    assert len(faces) == 1
    assert faces[0].box.tolist() == [0, 0, 16, 16]
    assert faces[0].landmarks[0].tolist() == [0.5, 0.5]
