"""Encoders that by construction see the face only, the surroundings only, or so much of each; and
a rendered world in which what they see can be told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from efface.data.rendered.render import Rendered, render
from efface.data.rendered.scenes import scene
from efface.data.rendered.shots import shot
from efface.data.rendered.traits import person
from efface.data.rendered.world import RenderedFaces, Triplets
from efface.faces.mask import face_masks
from efface.facts import EncoderFacts, Preprocessing
from efface.types import Floats, Picture

SIDE = 128
_INNER, _OUTER, _CELL = 0.34, 0.66, 8
_NOISE = 6.0
_RANDOM, _PATTERNS = 200, 4


class Seeing:
    """Fine detail in small cells, which blur takes away, and a little noise that depends on every
    pixel seen. The face's numbers have the weight ``face``, the surroundings' the rest."""

    def __init__(self, face: float) -> None:
        self.face = face
        self.calls = 0

    @property
    def facts(self) -> EncoderFacts:
        return EncoderFacts(
            name=f"sees {self.face:g}", kind="test",
            weights=hashlib.sha256(f"{self.face}".encode()).hexdigest(),
            dimension=_PATTERNS * sum(len(zone) for zone in zones()) + 2 * _RANDOM,
            preprocessing=Preprocessing(height=SIDE, width=SIDE),
        )  # fmt: skip

    def encode(self, images: Sequence[Picture] | Picture, /) -> Floats:
        self.calls += len(images)
        return np.array([self._vector(np.asarray(image)) for image in images], np.float32).reshape(
            len(images), self.facts.dimension
        )

    def _vector(self, picture: Picture) -> Floats:
        grey = _cells(picture).astype(np.float64).mean(axis=3)
        detail = grey.reshape(len(grey), -1) @ patterns()
        parts = []
        for zone, weight in zip(zones(), (self.face, 1 - self.face), strict=True):
            pixels = np.ascontiguousarray(_cells(picture)[zone])
            seed = int.from_bytes(hashlib.sha256(pixels.tobytes()).digest()[:8], "little")
            noise = np.random.default_rng(seed).normal(0, _NOISE / np.sqrt(_RANDOM), _RANDOM)
            parts += [np.sqrt(weight) * detail[zone].ravel(), np.sqrt(weight) * noise]
        return np.concatenate(parts)


def _cells(picture: Picture) -> Any:
    side = SIDE // _CELL
    cut = picture.reshape(side, _CELL, side, _CELL, 3).swapaxes(1, 2)
    return cut.reshape(side * side, _CELL, _CELL, 3)


@lru_cache(maxsize=1)
def patterns() -> Any:
    """Weights of the pixels of a cell that sum to nothing: flat and slowly changing cells give
    next to nothing."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:_CELL, :_CELL].reshape(2, -1)
    slopes = np.stack([np.ones(_CELL**2), x, y, x * y, x**2, y**2], axis=1)
    drawn = rng.normal(0, 1 / _CELL, (_CELL**2, _PATTERNS))
    return drawn - slopes @ np.linalg.lstsq(slopes, drawn, rcond=None)[0]


@lru_cache(maxsize=1)
def zones() -> tuple[Any, Any]:
    """Numbers of the cells in which there is face in every crop, and of those without any."""
    at = (np.arange(SIDE // _CELL) + 0.5) * _CELL - SIDE / 2
    away = np.hypot(at[None, :], at[:, None]).ravel() / (SIDE / 2)
    return np.flatnonzero(away <= _INNER), np.flatnonzero((away >= _OUTER) & (away <= 0.78))


def world(count: int = 16, people: int = 12, seed: int = 3, *, one_event: bool = False) -> Triplets:
    """Queries, identity matches and context matches in which only what is meant to differ does:
    outside the face everything of a context match is the query's, hair and all, and nothing of an
    identity match is, unless all were taken at ``one_event``. Light and shot are the same, but for
    the grain of the sensor."""
    rng = np.random.default_rng(seed)
    rows: list[list[RenderedFaces]] = [[], [], []]
    for k in range(count):
        who, other = k % people, (k + 1 + int(rng.integers(people - 1))) % people
        here = scene(seed, k % 6)
        there = here if one_event else replace(scene(seed, 10 + k % 7), light=here.light)
        how = replace(shot(seed, k, pose=0.0), noise=1.0, soft=0.2)
        again = replace(how, grain=how.grain + 1)
        query, match, context = (
            render(person(seed, number), place, taken, SIDE)
            for number, place, taken in ((who, here, how), (who, there, again), (other, here, how))
        )
        host = render(person(seed, who if one_event else people + k % 5), there, again, SIDE)
        inside = face_masks(query.landmarks[None], (SIDE, SIDE), 1.06)[0][..., None]
        rows[0].append(_one(query, query.picture, query, who, here.number))
        rows[1].append(
            _one(match, np.where(inside, match.picture, host.picture), query, who, there.number)
        )
        rows[2].append(
            _one(query, np.where(inside, context.picture, query.picture), query, other, here.number)
        )
    query_, match_, context_ = (_joined(part) for part in rows)
    return Triplets(query_, match_, context_)


def _one(made: Rendered, picture: Any, like: Rendered, who: int, where: int) -> RenderedFaces:
    """One picture with the face of ``like`` where it is."""
    return RenderedFaces(
        picture[None], made.face[None], made.person[None], like.landmarks[None], like.box[None],
        np.array([who]), np.array([where]), np.zeros((1, 3)),
    )  # fmt: skip


def _joined(parts: list[RenderedFaces]) -> RenderedFaces:
    columns = {
        name: np.concatenate([getattr(one, name) for one in parts]) for name in vars(parts[0])
    }
    return RenderedFaces(**columns)
