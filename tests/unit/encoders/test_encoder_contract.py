"""Every registered encoder keeps the contract, and a broken one is found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_checkpoints import save_model
from tiny_networks import onnx_encoder, torchscript_encoder

from efface import registry
from efface.encoders.declared import Declared, Sheet
from efface.facts import EncoderFacts, Preprocessing
from efface.testing import check_encoder

FACE = ("n", 3, 112, 112)
MADE: dict[str, Callable[[Path], dict[str, Any]]] = {
    "onnx": lambda at: {
        "path": str(onnx_encoder(at / "e.onnx")),
        "declared": Sheet(preprocessing=Declared(normalise="imagenet")),
    },
    "arcface": lambda at: {
        "path": str(onnx_encoder(at / "e.onnx", shape=FACE)),
        "declared": Sheet(preprocessing=Declared(colour="RGB")),
    },
    "adaface": lambda at: {"path": str(onnx_encoder(at / "e.onnx", shape=FACE))},
    "torchscript": lambda at: {
        "path": str(torchscript_encoder(at / "e.pt")),
        "declared": Sheet(preprocessing=Declared(size=24, normalise="half")),
    },
    "sscd": lambda at: {"path": str(torchscript_encoder(at / "e.pt")), "side": 288},
    "huggingface": lambda at: {"path": str(save_model(at / "e", "dinov3_vit"))},
    "dlib": lambda at: {},
}


def test_each_registered_encoder_is_tried() -> None:
    assert {card.name for card in registry.cards("encoder")} == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_encoder_keeps_its_contract(name: str, tmp_path: Path) -> None:
    for extra in {"huggingface": ["transformers"], "dlib": ["dlib"]}.get(name, []):
        pytest.importorskip(extra)
    params = MADE[name](tmp_path)
    check_encoder(registry.make("encoder", name, **params))


class Means:
    """A proper encoder in a few lines: the mean of each quarter."""

    facts = EncoderFacts(
        name="means", kind="test", weights="0" * 64, dimension=12,
        preprocessing=Preprocessing(height=8, width=8),
    )  # fmt: skip

    def encode(self, images: Sequence[Any]) -> Any:
        from efface.encoders.numbers import check_fitted

        check_fitted(images, self.facts.preprocessing)
        if not len(images):
            return np.zeros((0, 12))
        x = np.stack(images).astype(float).reshape(-1, 2, 4, 2, 4, 3)
        return x.mean(axis=(2, 4)).reshape(len(images), -1)


def test_a_plain_class_is_an_encoder() -> None:
    check_encoder(Means())
    check_encoder(Means)


class Wrong(Means):
    """Means with one thing wrong; ``how`` says which."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.calls = 0

    def encode(self, images: Sequence[Any]) -> Any:
        found = super().encode(images) if self.how != "anything goes" else self.lenient(images)
        self.calls += 1
        if not len(found):
            return found
        return {
            "short": lambda: found[:, :5],
            "nan": lambda: found * np.nan,
            "constant": lambda: found * 0 + 1,
            "batch": lambda: found - found.mean(axis=0) + 0.1,
            "lot": lambda: found + self.calls * 1e-9,
            "writes": lambda: self.written(images, found),
            "whole": lambda: found.astype(int),
            "floats": lambda: found * (2 if images[0].dtype != np.uint8 else 1),
            "anything goes": lambda: found,
        }[self.how]()

    def lenient(self, images: Sequence[Any]) -> Any:
        fine = [i if i.shape == (8, 8, 3) else np.zeros((8, 8, 3), np.uint8) for i in images]
        return super().encode([i.astype(np.float32) for i in fine])

    def written(self, images: Sequence[Any], found: Any) -> Any:
        images[0][0, 0, 0] ^= 1
        return found


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("short", "facts promise"),
        ("nan", "not finite"),
        ("constant", "without likeness"),
        ("batch", "depends on which pictures"),
        ("lot", "other bits"),
        ("writes", "modified the pictures"),
        ("whole", "not floats"),
        ("floats", "float32 from 0 to 255"),
        ("anything goes", "without a word"),
    ],
)
def test_each_breach_is_named(how: str, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_encoder(Wrong(how))


def test_facts_are_looked_at() -> None:
    class Nameless(Means):
        facts = EncoderFacts(
            name="x", kind="test", weights="unknown", dimension=12,
            preprocessing=Preprocessing(height=8, width=8),
        )  # fmt: skip

    with pytest.raises(AssertionError, match="SHA-256"):
        check_encoder(Nameless())
    with pytest.raises(AssertionError, match="lacks"):
        check_encoder(type("No", (), {"encode": lambda self, images: images})())
