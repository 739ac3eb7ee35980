"""(pixel * scale - mean) / std, in the order and layout of the network."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from efface.encoders.declared import NORMALISE
from efface.encoders.numbers import numbers
from efface.facts import Preprocessing

RED_TO_BLUE = np.array([[[[10, 20, 30], [40, 50, 60]]]], np.uint8)  # one picture, 1 x 2


def wanted(**changes: object) -> Preprocessing:
    return Preprocessing(**{"height": 1, "width": 2, **changes})  # type: ignore[arg-type]


def test_by_hand() -> None:
    made = numbers(RED_TO_BLUE, wanted(scale=0.1, mean=(1, 2, 3), std=(1, 2, 4)))
    assert made.dtype == np.float32
    assert np.allclose(made, [[[[0, 3]], [[0, 1.5]], [[0, 0.75]]]])


def test_mean_and_std_follow_the_order_of_the_network() -> None:
    made = numbers(RED_TO_BLUE, wanted(colour="BGR", scale=0.1, mean=(1, 2, 3), std=(1, 2, 4)))
    assert np.allclose(made, [[[[2, 5]], [[0, 1.5]], [[-0.5, 0.25]]]])


def test_channels_last() -> None:
    made = numbers(RED_TO_BLUE, wanted(layout="NHWC", scale=1.0))
    assert np.array_equal(made, RED_TO_BLUE)
    assert made.flags.c_contiguous


def test_grey_is_luma_as_pillow_has_it() -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (1, 9, 9, 3), np.uint8)
    made = numbers(picture, wanted(height=9, width=9, colour="grey", scale=1.0))
    theirs = np.asarray(Image.fromarray(picture[0]).convert("L"), float)
    assert made.shape == (1, 1, 9, 9)
    assert np.abs(made[0, 0] - theirs).max() <= 1


@pytest.mark.parametrize(
    ("name", "ends"),
    [("half", (-1, 1)), ("unit", (0, 1)), ("pixel", (0, 255)),
     ("half-128", (-127.5 / 128, 127.5 / 128))],
)  # fmt: skip
def test_known_normalisations_end_where_their_names_say(name: str, ends: tuple) -> None:
    scale, mean, std = NORMALISE[name]
    both = np.array([[[[0, 0, 0], [255, 255, 255]]]], np.uint8)
    made = numbers(both, wanted(scale=scale, mean=mean, std=std))
    assert np.allclose(made[0, :, 0], [ends] * 3, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"scale": 1.0}, "pixels as they are, 0 to 255"),
        ({}, "x / 255"),
        ({"mean": (0.5,), "std": (0.5,)}, "(x / 255 - 0.5) / 0.5"),
        ({"scale": 1.0, "mean": (127.5,), "std": (128.0,)}, "(x / 1 - 127.5) / 128"),
        ({"std": (0.2, 0.3, 0.4)}, "(x / 255) / (0.2, 0.3, 0.4)"),
    ],
)
def test_the_formula_is_written_as_one_reads_it(changes: dict, shown: str) -> None:
    assert wanted(**changes).formula == shown


@pytest.mark.parametrize(
    "wrong",
    [
        {"height": 0},
        {"width": 9000},
        {"fit": "crop"},
        {"shorter": 30},
        {"fit": "crop", "shorter": 1, "height": 2},
        {"mean": [1.0, 2.0]},
        {"std": [1.0, 0.0, 1.0]},
        {"mean": [float("nan")]},
        {"scale": 0.0},
        {"scale": float("inf")},
        {"colour": "rgb"},
        {"flavour": "sweet"},
    ],
    ids=str,
)
def test_impossible_facts_are_refused(wrong: dict) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"height": 1, "width": 2, **wrong}, Preprocessing)
