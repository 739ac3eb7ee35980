"""A picture is brought to an encoder's size as Pillow, or exact area, does it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from efface.encoders.fit import fitted
from efface.errors import DataError
from efface.facts import Preprocessing

SIDES = st.integers(1, 40)


def wanted(**changes: object) -> Preprocessing:
    return Preprocessing(**{"height": 20, "width": 24, **changes})  # type: ignore[arg-type]


def noise(rng: np.random.Generator, height: int = 37, width: int = 53) -> np.ndarray:
    return rng.integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize("name", ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"])
def test_squash_is_pillows_resize(rng: np.random.Generator, name: str) -> None:
    picture = noise(rng)
    theirs = Image.fromarray(picture).resize((24, 20), Image.Resampling[name.upper()])
    assert np.array_equal(fitted(picture, wanted(filter=name)), np.asarray(theirs))


@pytest.mark.parametrize(("height", "width"), [(37, 53), (53, 37), (40, 40), (24, 300)])
def test_crop_takes_the_middle_after_the_shorter_side(
    rng: np.random.Generator, height: int, width: int
) -> None:
    picture = noise(rng, height, width)
    found = fitted(picture, wanted(fit="crop", shorter=30))
    long = int(30 * max(height, width) / min(height, width))
    size = (long, 30) if width >= height else (30, long)
    whole = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BILINEAR))
    top, left = (whole.shape[0] - 20) // 2, (whole.shape[1] - 24) // 2
    assert np.array_equal(found, whole[top : top + 20, left : left + 24])


@given(height=SIDES, width=SIDES, side=st.integers(1, 30))
def test_shorter_keeps_proportions(height: int, width: int, side: int) -> None:
    picture = np.zeros((height, width, 3), np.uint8)
    found = fitted(picture, wanted(fit="shorter", shorter=side, filter="area"))
    assert min(found.shape[:2]) == side
    exact = Fraction(max(height, width), min(height, width)) * side
    assert 0 <= exact - max(found.shape[:2]) < 1


@given(
    old=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    new=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    seed=st.integers(0, 9),
)
def test_area_is_the_mean_over_the_area_of_each_new_pixel(
    old: tuple[int, int], new: tuple[int, int], seed: int
) -> None:
    picture = np.random.default_rng(seed).random((*old, 3), np.float32) * 255
    shape = wanted(height=new[0], width=new[1], filter="area", rounded=False)
    down, across = (weights(a, b) for a, b in zip(old, new, strict=True))
    slow = np.einsum("ij,jkc,lk->ilc", down, picture.astype(float), across)
    assert np.allclose(fitted(picture, shape), slow, rtol=0, atol=1e-3)


def weights(old: int, new: int) -> np.ndarray:
    """Share of old pixel j in new pixel i, by the overlap of two intervals in whole fractions."""
    share = [
        [
            max(
                Fraction(0),
                min(Fraction((i + 1) * old, new), Fraction(j + 1))
                - max(Fraction(i * old, new), Fraction(j)),
            )
            * Fraction(new, old)
            for j in range(old)
        ]
        for i in range(new)
    ]
    return np.array(share, float)


def test_area_of_whole_blocks_is_their_mean_rounded(rng: np.random.Generator) -> None:
    picture = noise(rng, 40, 48)
    blocks = picture.reshape(20, 2, 24, 2, 3).mean(axis=(1, 3))
    assert np.array_equal(fitted(picture, wanted(filter="area")), np.rint(blocks))


@given(height=SIDES, width=SIDES, level=st.integers(0, 255))
def test_one_colour_stays_that_colour(height: int, width: int, level: int) -> None:
    picture = np.full((height, width, 3), level, np.uint8)
    for name in ("area", "bicubic", "lanczos"):
        assert (fitted(picture, wanted(filter=name)) == level).all()


def test_what_has_the_size_already_is_not_touched(rng: np.random.Generator) -> None:
    picture = noise(rng, 20, 24)
    assert fitted(picture, wanted(filter="lanczos")) is picture


def test_unrounded_is_torchs_antialiased_resize_of_floats(rng: np.random.Generator) -> None:
    """Which is what DINOv3's processor does: it makes numbers of pixels first."""
    torch = pytest.importorskip("torch")
    picture = noise(rng, 61, 47)
    for name, height in (("bilinear", 20), ("bicubic", 80)):
        found = fitted(picture, wanted(height=height, filter=name, rounded=False))
        planes = torch.from_numpy(picture.transpose(2, 0, 1).copy())[None].float()
        theirs = torch.nn.functional.interpolate(
            planes, (height, 24), mode=name, antialias=True, align_corners=False
        )
        assert found.dtype == np.float32
        assert np.abs(found - theirs[0].numpy().transpose(1, 2, 0)).max() < 2e-3


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 4, 3), np.float64),
        np.zeros((4, 4, 3), np.int16),
        "picture.jpg",
    ],
    ids=lambda x: str(getattr(x, "shape", x)),
)
def test_what_is_no_picture_is_refused(wrong: object) -> None:
    with pytest.raises(DataError, match="height x width x 3"):
        fitted(wrong, wanted())
