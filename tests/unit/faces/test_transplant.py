"""Another face, the same surroundings: what has to stay, what has to come, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_faces import UPRIGHT, smooth, turned

from efface.faces.face import Outcome
from efface.faces.mask import face_masks
from efface.faces.transplant import transplant

ONE = UPRIGHT[None]


def test_outside_the_face_nothing_changes_and_inside_something_does() -> None:
    target, source = smooth(0), smooth(1)
    made = transplant([target], ONE, [source], ONE)
    mask = face_masks(ONE, (224, 224), 0.9)[0]
    assert made.outcomes == (Outcome.ONE,)
    assert made.covered.tolist() == [1]
    assert np.array_equal(made.masks[0], mask)
    assert np.array_equal(made.pictures[0][~mask], target[~mask])
    assert np.abs(made.pictures[0][mask].astype(int) - target[mask]).mean() > 5
    assert np.array_equal(made.pictures[0], transplant([target], ONE, [source], ONE).pictures[0])


def test_one_s_own_face_changes_nothing() -> None:
    target = smooth(2)
    made = transplant([target], ONE, [target], ONE)
    assert np.abs(made.pictures[0].astype(int) - target).max() <= 1


def test_one_s_own_face_from_a_brighter_picture_changes_nothing_either() -> None:
    """Histogram matching takes the light out: only rounding and clipping are left."""
    target = (smooth(3) * 0.6).astype(np.uint8)
    made = transplant([target], ONE, [np.clip(target + 60, 0, 255).astype(np.uint8)], ONE)
    assert np.abs(made.pictures[0].astype(int) - target).max() <= 3


def test_a_turned_and_larger_source_of_another_size_comes_into_place() -> None:
    """A dark spot under the source's nose is under the target's nose afterwards."""
    source = np.full((400, 300, 3), 180, np.uint8)
    source += (np.indices((400, 300))[1] // 10)[..., None].astype(np.uint8)
    there = turned(UPRIGHT, 25, 1.5, (40, 60))
    x, y = there[2].round().astype(int)
    source[y - 6 : y + 7, x - 6 : x + 7] = 20
    target = np.full((224, 224, 3), 100, np.uint8)
    target += (np.indices((224, 224))[0] // 4)[..., None].astype(np.uint8)
    out = transplant([target], ONE, [source], there[None]).pictures[0].astype(float)
    change = (out - target).mean(axis=2)
    low = np.argwhere(change < change.min() * 0.8)
    assert np.allclose(low.mean(axis=0), UPRIGHT[2, ::-1], atol=1.5)


@pytest.mark.parametrize(
    ("mine", "other", "outcome"),
    [
        (UPRIGHT, UPRIGHT[[1, 0, 2, 4, 3]], Outcome.MIRRORED),
        (UPRIGHT[[0, 2, 1, 3, 4]], UPRIGHT, Outcome.DISORDERED),
        (UPRIGHT, np.zeros((5, 2)), Outcome.DISORDERED),
        (UPRIGHT, UPRIGHT - [120, 0], Outcome.BORDER),
    ],
)
def test_what_cannot_be_done_is_named_and_loses_no_batch(mine, other, outcome) -> None:
    targets, sources = [smooth(4)] * 2, [smooth(5)] * 2
    made = transplant(targets, np.stack([mine, UPRIGHT]), sources, np.stack([other, UPRIGHT]))
    assert made.outcomes == (outcome, Outcome.ONE)
    assert np.array_equal(made.pictures[0], targets[0])
    assert not made.masks[0].any()


def test_none_is_no_error() -> None:
    made = transplant([], np.zeros((0, 5, 2)), [], np.zeros((0, 5, 2)))
    assert made.pictures == ()
    assert made.covered.shape == (0,)


@pytest.mark.shared
def test_a_recogniser_sees_the_other_person(shared: Path) -> None:
    from PIL import Image

    from efface.faces.align import aligned

    runtime = pytest.importorskip("onnxruntime")
    marks = np.load(shared / "data" / "lfw" / "landmarks.npz")
    network = runtime.InferenceSession(str(shared / "models" / "face_mobile_512.onnx"))
    rows = np.arange(0, 4000, 100)
    pictures = [np.asarray(Image.open(shared / "data/lfw/images" / marks["name"][r])) for r in rows]
    points = marks["landmarks"][rows].astype(float)

    def vectors(faces: list, at: np.ndarray) -> np.ndarray:
        numbers = (aligned(faces, at).astype(np.float32) - 127.5) / 128
        batches = numbers.transpose(0, 3, 1, 2)
        out = np.concatenate([network.run(None, {"input": one[None]})[0] for one in batches])
        return out / np.linalg.norm(out, axis=1, keepdims=True)

    half = len(rows) // 2
    made = transplant(pictures[:half], points[:half], pictures[half:], points[half:])
    assert set(made.outcomes) == {Outcome.ONE}
    before, other = vectors(pictures[:half], points[:half]), vectors(pictures[half:], points[half:])
    after = vectors(list(made.pictures), points[:half])
    assert ((before * other).sum(1) < 0.4).all()
    assert ((after * other).sum(1) > (after * before).sum(1)).all()
