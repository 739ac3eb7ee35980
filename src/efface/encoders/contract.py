"""The contract of :class:`efface.types.Encoder` as a check, for :mod:`efface.testing`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.encoders.fit import fitted
from efface.errors import DataError
from efface.facts import EncoderFacts, Preprocessing
from efface.types import Encoder, Picture

_ALIKE = 1e-3
"""Part of a vector's length by which other pictures in the batch, or another number of threads,
may move it: rounding in float32 through many layers."""


def check_encoder(encoder: Any) -> None:
    """Hold an encoder (an instance, a class or a function that makes one) to its contract:
    AssertionError names, in a sentence, the first rule broken."""
    ready = hasattr(encoder, "encode") and not isinstance(encoder, type)
    made = encoder if ready else encoder()
    _require(isinstance(made, Encoder), f"{type(made).__name__} lacks 'facts' or 'encode'")
    _facts_are_complete(made.facts)
    pictures = _pictures(made.facts.preprocessing)
    for rule in _RULES:
        before = [picture.copy() for picture in pictures]
        rule(made, pictures)
        same = all(map(np.array_equal, before, pictures))
        _require(same, "encode modified the pictures it was given")


def _facts_are_complete(facts: Any) -> None:
    _require(isinstance(facts, EncoderFacts), "facts must be efface.facts.EncoderFacts")
    _require(bool(facts.name and facts.kind), "facts must name the encoder and its kind")
    hexadecimal = re.fullmatch("[0-9a-f]{64}", facts.weights) is not None
    _require(hexadecimal, "the weights must be known by their SHA-256")


def _vectors_are_well_formed(encoder: Encoder, pictures: list[Picture]) -> None:
    found = encoder.encode(pictures)
    wanted = (len(pictures), encoder.facts.dimension)
    _require(found.shape == wanted, f"{found.shape} came back where facts promise {wanted}")
    _require(np.issubdtype(found.dtype, np.floating), f"vectors are {found.dtype}, not floats")
    _require(bool(np.isfinite(found).all()), "a vector holds a value that is not finite")
    none = encoder.encode([])
    _require(none.shape == (0, wanted[1]), f"no pictures give {none.shape}, not (0, {wanted[1]})")


def _pictures_differ(encoder: Encoder, pictures: list[Picture]) -> None:
    found = encoder.encode(pictures[:2])
    _require(not _near(found[:1], found[1:]), "two pictures without likeness give one vector")


def _the_batch_does_not_matter(encoder: Encoder, pictures: list[Picture]) -> None:
    together = encoder.encode(pictures)
    alone = np.concatenate([encoder.encode([picture]) for picture in pictures])
    _require(_near(together, alone), "a vector depends on which pictures are in the batch")
    back = encoder.encode(pictures[::-1])[::-1]
    _require(_near(together, back), "a vector depends on its place in the batch")


def _twice_is_the_same(encoder: Encoder, pictures: list[Picture]) -> None:
    one, two = (encoder.encode(pictures).tobytes() for _ in range(2))
    _require(one == two, "encoded twice, the same pictures give other bits")


def _an_array_is_a_list_of_pictures(encoder: Encoder, pictures: list[Picture]) -> None:
    as_array = encoder.encode(np.stack(pictures))
    _require(_near(as_array, encoder.encode(pictures)), "an array is encoded unlike its pictures")


def _floats_are_pixels_too(encoder: Encoder, pictures: list[Picture]) -> None:
    """Blurred and blended pictures come as float32 from 0 to 255."""
    floats = encoder.encode([picture.astype(np.float32) for picture in pictures])
    same = _near(floats, encoder.encode(pictures))
    _require(same, "float32 from 0 to 255 and the same in uint8 give different vectors")


def _an_unfitted_picture_is_refused(encoder: Encoder, pictures: list[Picture]) -> None:
    wanted = encoder.facts.preprocessing
    odd = np.zeros((wanted.height + 3, wanted.width + 5, 3), np.uint8)
    for wrong in (odd, pictures[0][..., 0], pictures[0].astype(np.float64)):
        try:
            encoder.encode([wrong])
        except DataError:
            continue
        _require(False, f"{wrong.dtype} of {wrong.shape} is encoded without a word")


_RULES: tuple[Callable[[Encoder, list[Picture]], None], ...] = (
    _vectors_are_well_formed,
    _pictures_differ,
    _the_batch_does_not_matter,
    _twice_is_the_same,
    _an_array_is_a_list_of_pictures,
    _floats_are_pixels_too,
    _an_unfitted_picture_is_refused,
)


def _pictures(wanted: Preprocessing) -> list[Picture]:
    """Colourful patterns at the declared size; no two are alike."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (5, 4, 4, 3), np.uint8)
    large = coarse.repeat(wanted.height, axis=1).repeat(wanted.width, axis=2)
    return [np.array(fitted(picture, wanted)) for picture in large]


def _near(one: NDArray[Any], two: NDArray[Any]) -> bool:
    gaps = np.linalg.norm(one - two, axis=-1)
    return bool((gaps <= _ALIKE * np.linalg.norm(one, axis=-1)).all())


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
