"""Pictures of a few queries: what was done to them, for a reader to judge by eye."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import numpy as np

from efface.attributing.drawing import Plan, Query
from efface.attributing.material import Material
from efface.attributing.settings import Settings
from efface.attributing.stimuli import (
    WHOLE,
    altered,
    face_blurred,
    revealed_to,
    ring_blurred,
)
from efface.attributing.swaps import Swap
from efface.attributions import Example, Shown, Strip
from efface.data.rendered.png import png
from efface.faces.face import Face, Outcome, Pixels
from efface.faces.resample import resized

_SIDE = 112


def examples(
    material: Material, plan: Plan, settings: Settings, swap: Swap, count: int
) -> list[Example]:
    """The first of the plan's queries that have everything; the plan's order is by lot."""
    found: list[Example] = []
    for query in plan.queries:
        if len(found) == count:
            break
        made = _example(material, query, settings, swap)
        if made is not None:
            found.append(made)
    return found


def _example(material: Material, query: Query, settings: Settings, swap: Swap) -> Example | None:
    places = [material.place(row) for row in (query.query, query.match, query.other)]
    crop, match, other = (place.pixels() for place in places)
    face, their = places[0].face, places[2].face
    if not query.ready:
        other, outcome, _ = swap(crop, face, other, their)
        their = face
        if outcome is not Outcome.ONE or not material.rows[query.query].matched:
            return None
    return Example(
        strips=[
            Strip(title="Query: the crop, the face blurred, the ring blurred",
                  pictures=list(_occluded(crop, face, settings))),
            Strip(title="Surroundings revealed",
                  pictures=list(_series(crop, face, _shares(settings)))),
            *(
                Strip(title=title, pictures=list(_series(picture, where, _blurs(settings))))
                for title, picture, where in (
                    ("Query, face blurred more and more", crop, face),
                    ("Identity match: the same person elsewhere", match, places[1].face),
                    ("Context match: another person in the query's place", other, their),
                )
            ),
        ]
    )  # fmt: skip


def _occluded(crop: Pixels, face: Face, settings: Settings) -> Iterator[Shown]:
    names = [WHOLE, face_blurred(settings.occlusion), ring_blurred(settings.occlusion)]
    captions = ["crop", "face blurred", "ring blurred"]
    for caption, picture in zip(captions, altered(crop, face, names), strict=True):
        yield _shown(caption, picture)


def _series(crop: Pixels, face: Face, steps: list[tuple[str, str]]) -> Iterator[Shown]:
    names = [name for name, _ in steps]
    for (_, caption), picture in zip(steps, altered(crop, face, names), strict=True):
        yield _shown(caption, picture)


def _shares(settings: Settings) -> list[tuple[str, str]]:
    return [(revealed_to(level), f"{level:.0%}") for level in settings.levels]


def _blurs(settings: Settings) -> list[tuple[str, str]]:
    return [(face_blurred(sigma), f"σ {sigma:g}") for sigma in settings.sigmas]


def _shown(caption: str, picture: Pixels) -> Shown:
    small = np.ascontiguousarray(resized(picture, (_SIDE, _SIDE)))
    return Shown(caption=caption, png=base64.b64encode(png(small)).decode())
