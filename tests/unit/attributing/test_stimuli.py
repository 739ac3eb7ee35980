"""What encoders are shown: the forms, and the part of a crop that reaches each kind of encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import ndimage

from efface.attributing import stimuli
from efface.attributing.lens import Lens, lens_of
from efface.attributing.settings import Settings
from efface.attributing.stimuli import altered, face_blurred, forms, swapped_key
from efface.attributing.swaps import Swap
from efface.errors import DataError
from efface.faces.align import aligned
from efface.faces.face import Face, Outcome
from efface.faces.landmarks import TEMPLATE
from efface.faces.mask import face_masks
from efface.facts import EncoderFacts, Preprocessing

SIDE = 160
FACE = Face(np.array([40.0, 35, 120, 130]), TEMPLATE * 0.9 + 30)
MASK = face_masks(FACE.landmarks[None], (SIDE, SIDE))[0]


@pytest.fixture
def crop(rng: np.random.Generator) -> np.ndarray:
    return ndimage.gaussian_filter(rng.integers(0, 256, (SIDE, SIDE, 3)), (1, 1, 0)).astype(
        np.uint8
    )


def facts(**changes: object) -> EncoderFacts:
    plain = EncoderFacts(
        name="e", kind="test", weights="0" * 64, dimension=4,
        preprocessing=Preprocessing(height=112, width=112),
    )  # fmt: skip
    import msgspec

    return msgspec.structs.replace(plain, **changes)


def test_eleven_forms_of_a_picture_and_ten_of_a_context_match() -> None:
    own, exchanged = forms(Settings(), True), forms(Settings(), False)
    assert own == (
        "whole", "face 1", "face 2", "face 4", "face 6", "face 8", "ring 8", "shown 0.2",
        "shown 0.4", "shown 0.6", "shown 0.8",
    )  # fmt: skip
    assert exchanged == tuple(name for name in own if name != "ring 8")


def test_forms_against_the_paper_written_out(crop: np.ndarray) -> None:
    """Blur of SciPy, blended through the mask with a feather of 3 pixels (D.3)."""
    whole, face, ring = altered(crop, FACE, ["whole", "face 8", "ring 8"])
    assert np.array_equal(whole, crop)
    soft = ndimage.gaussian_filter(MASK.astype(float), 3, truncate=3, mode="mirror")[..., None]
    blur = ndimage.gaussian_filter(crop.astype(float), (8, 8, 0), truncate=3, mode="mirror")
    slow = crop + soft * (blur - crop)
    assert np.abs(face - slow).max() <= 1
    hidden = np.abs(ring.astype(int) - crop).sum(axis=2) > 0
    inside = ndimage.binary_erosion(MASK, iterations=10)
    assert not hidden[inside].any()
    assert hidden[~MASK].any()


def test_one_form_does_not_depend_on_which_others_are_made(crop: np.ndarray) -> None:
    names = list(forms(Settings(), True))
    together = altered(crop, FACE, names)
    for name, picture in zip(names, together, strict=True):
        assert np.array_equal(altered(crop, FACE, [name])[0], picture)
    assert face_blurred(0) == "whole"


def test_an_aligned_encoder_gets_all_forms_through_one_map(crop: np.ndarray) -> None:
    stack = np.stack(altered(crop, FACE, ["whole", "face 8", "shown 0.2"]))
    seen = Lens("arcface", 112).cut(stack, FACE, crop)
    for picture, expected in zip(seen, stack, strict=True):
        assert np.array_equal(picture, aligned([expected], FACE.landmarks[None], 112)[0])


def test_a_crop_at_its_own_size_is_left_alone(crop: np.ndarray) -> None:
    stack = crop[None]
    assert Lens("crop", SIDE).cut(stack, FACE, crop) is stack
    assert Lens("crop", 64).cut(stack, FACE, crop).shape == (1, 64, 64, 3)


def test_how_much_of_a_mask_is_seen(crop: np.ndarray) -> None:
    """Counted pixel by pixel: where each lies in the aligned picture."""
    left = np.zeros((SIDE, SIDE), bool)
    left[:, : SIDE // 2] = True
    masks = np.stack([MASK, left, np.ones((SIDE, SIDE), bool)])
    shares = Lens("arcface", 112).shares(masks, FACE, crop)
    scale = 1 / 0.9
    for mask, share in zip(masks, shares, strict=True):
        y, x = np.nonzero(mask)
        u, v = (x - 30) * scale, (y - 30) * scale
        inside = (u > -0.5) & (u < 111.5) & (v > -0.5) & (v < 111.5)
        assert share == pytest.approx(inside.mean(), abs=0.02)
    assert Lens("crop", 224).shares(masks, FACE, crop) == (1.0, 1.0, 1.0)


def test_dlib_sees_through_the_window_of_the_untouched_picture(crop: np.ndarray) -> None:
    pytest.importorskip("dlib")
    lens = Lens("dlib", 150)
    stack = np.stack(altered(crop, FACE, ["whole", "face 8"]))
    both, alone = lens.cut(stack, FACE, crop), lens.cut(stack[1:], FACE, crop)
    assert both.shape == (2, 150, 150, 3)
    assert np.array_equal(both[1], alone[0])
    everything = np.ones((1, SIDE, SIDE), bool)
    face, whole = lens.shares(np.stack([MASK, everything[0]]), FACE, crop)
    assert 0 < whole < face <= 1


def test_each_encoder_sees_as_it_was_made_to() -> None:
    assert lens_of(facts()) == Lens("crop", 112)
    assert lens_of(facts(alignment="arcface")) == Lens("arcface", 112)
    assert lens_of(facts(alignment="arcface"), "crop") == Lens("crop", 112)
    wide = Preprocessing(height=112, width=96)
    with pytest.raises(DataError, match="crops are squares"):
        lens_of(facts(preprocessing=wide))
    with pytest.raises(DataError, match="chips have 150"):
        lens_of(facts(), "dlib")
    odd = Preprocessing(height=100, width=100)
    with pytest.raises(DataError, match="112 or 128"):
        lens_of(facts(preprocessing=odd), "arcface")


def test_a_swap_changes_the_face_and_nothing_around_it(crop: np.ndarray) -> None:
    other = np.roll(crop, 7, axis=1)
    made, outcome, covered = Swap()(crop, FACE, other, replace(FACE))
    assert outcome is Outcome.ONE
    assert covered == 1
    changed = (made != crop).any(axis=2)
    assert changed[MASK].mean() > 0.5
    assert not changed[~MASK].any()


@pytest.mark.parametrize(
    "file", ["faces/blur.py", "pictures/decode.py", "encoders/numbers.py", "attributing/lens.py"]
)
def test_the_cache_knows_all_code_that_vectors_depend_on(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stimuli.code_digest.__wrapped__()
    real = Path.read_bytes

    def changed(path: Path) -> bytes:
        return real(path) + b"#" * path.as_posix().endswith(f"efface/{file}")

    monkeypatch.setattr(Path, "read_bytes", changed)
    assert stimuli.code_digest.__wrapped__() != before


def test_a_swap_is_remembered_by_its_network_and_by_who_reads_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Reader:
        def __init__(self, weights: str) -> None:
            self.facts = facts(weights=weights)

    opened = SimpleNamespace(digest="c" * 64)
    monkeypatch.setattr("efface.faces.swap_network.open_swap_network", lambda *_, **__: opened)
    one, two = (Swap("net.onnx", Reader(letter * 64)) for letter in "ab")
    assert swapped_key("crop", "donor", one) != swapped_key("crop", "donor", two)
    again = Swap("net.onnx", Reader("a" * 64))
    assert swapped_key("crop", "donor", one) == swapped_key("crop", "donor", again)
