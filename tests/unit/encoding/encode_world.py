"""A folder of people's pictures, an encoder in a few lines, and cuts that misbehave."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from PIL import Image

from efface.encoders.numbers import check_fitted
from efface.encoding.geometry import Prepared, Whole
from efface.encoding.run import Order
from efface.errors import DataError
from efface.facts import EncoderFacts, GeometryFacts, Preprocessing
from efface.pictures.source import open_source

SIDE = 8
WANTED = Preprocessing(height=SIDE, width=SIDE, filter="area")


class Means:
    """The mean colour of each quarter, about the middle: 12 numbers."""

    facts = EncoderFacts(
        name="means", kind="test", weights="ab" * 32, dimension=12, preprocessing=WANTED
    )
    calls = 0

    def encode(self, images: Sequence[Any]) -> Any:
        check_fitted(images, WANTED)
        self.calls += 1
        x = np.stack(images).astype(np.float32).reshape(-1, 2, 4, 2, 4, 3) - 128
        return x.mean(axis=(2, 4)).reshape(len(images), -1)


def picture(seed: int, height: int = 40, width: int = 30) -> np.ndarray:
    """A picture like no other."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (12, 9, 3), np.uint8))
    return np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))


def people(root: Path, count: int = 3, each: int = 4) -> Path:
    """A folder for each of p0, p1 ... with PNGs in it."""
    for who in range(count):
        folder = root / f"p{who}"
        folder.mkdir(parents=True)
        for number in range(each):
            image = Image.fromarray(picture(100 * who + number))
            image.save(folder / f"{number:02}.png", compress_level=1)
    return root


def order(images: Path, out: Path, **changes: Any) -> Order:
    encoder = changes.pop("encoder", None) or Means()
    return Order(open_source(images), encoder, out, **{"batch": 2, **changes})


def read(out: Path) -> dict[str, list[Any]]:
    return dict(pq.read_table(out).to_pydict())


def listed(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Picky(Whole):
    """Refuses dark pictures, measures the others, and dies of or trips over some colours."""

    @property
    def facts(self) -> GeometryFacts:
        return GeometryFacts(name="whole picture", settings={"picky": 1})

    @property
    def columns(self) -> tuple[str, ...]:
        return ("brightness",)

    def __call__(self, pixels: Any, name: str = "", /) -> Prepared:
        level = float(pixels.mean())
        if name.endswith("deadly.png"):
            os._exit(11)
        if name.endswith("odd.png"):
            raise DataError("points in one place")
        if level < 20:
            return Prepared(None, "no face", f"brightness {level:.0f}")
        made = super().__call__(pixels)
        return Prepared(made.image, "bright" if level > 200 else "", measured={"brightness": level})


def flat(path: Path, level: int) -> None:
    """A picture of one level with a little structure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ramp = np.clip(level + np.arange(1200).reshape(40, 30, 1) % 9, 0, 255)
    Image.fromarray(np.repeat(ramp, 3, axis=2).astype(np.uint8)).save(path)
