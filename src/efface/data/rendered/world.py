"""Many pictures with their truth: worlds of people, and triplets for questions about context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.data.rendered.people import Person
from efface.data.rendered.render import LARGEST, SMALLEST, Rendered, render
from efface.data.rendered.scenes import Scene, scene
from efface.data.rendered.shots import Shot, shot
from efface.data.rendered.traits import person
from efface.errors import DataError

Numbers = NDArray[np.int64]
_HOME = 1_000_000
"""Scenes of people's own are numbered from here on."""


@dataclass(frozen=True, eq=False)
class RenderedFaces:
    """Pictures, and row by row what is true of them."""

    pictures: NDArray[np.uint8]
    """n x size x size x 3."""
    faces: NDArray[np.bool_]
    """n x size x size: skin and features of the face, hair left out."""
    persons: NDArray[np.bool_]
    """n x size x size: all pixels that another person would change."""
    landmarks: NDArray[np.float64]
    """n x 5 x 2: eyes, nose, mouth corners; centres of pixels are whole numbers."""
    boxes: NDArray[np.float64]
    """n x 4: edges of the face."""
    identity: Numbers
    context: Numbers
    pose: NDArray[np.float64]
    """n x 3: yaw, pitch and roll, in radians."""

    def __len__(self) -> int:
        return len(self.pictures)


@dataclass(frozen=True, eq=False)
class Triplets:
    """For every row one person in one place; the same person elsewhere; another person in the
    same place, in the same pose and light, with every other pixel as it was."""

    query: RenderedFaces
    identity_match: RenderedFaces
    context_match: RenderedFaces


@dataclass(frozen=True)
class World:
    """What a world is made of. ``people`` may be a range of numbers: person 7 is the same person
    in every world of one seed, so that parts of a world can be made apart."""

    people: int | range = 50
    images: int = 8
    contexts: int = 20
    size: int = 128
    home: float = 0.0
    """The share of pictures taken in a place of the person's own, where nobody else is."""
    pose: float = 1.0
    """How far heads turn; 0 for straight ahead."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not SMALLEST <= self.size <= LARGEST:
            raise DataError(f"size={self.size}: rendered faces have {SMALLEST} to {LARGEST} pixels")
        if min(len(self.numbers), self.images, self.contexts) < 1:
            raise DataError("a rendered world needs a person, a picture of each, and a context")
        if not 0 <= self.home <= 1 or not 0 <= self.pose <= 2:
            raise DataError(f"home={self.home}, pose={self.pose}: give 0 to 1, and 0 to 2")

    @property
    def numbers(self) -> Sequence[int]:
        return range(self.people) if isinstance(self.people, int) else self.people

    def place(self, who: int, image: int) -> int:
        """The number of the scene that a picture is taken in."""
        rng = np.random.default_rng([self.seed, 5, who, image])
        return _HOME + who if rng.random() < self.home else int(rng.integers(self.contexts))


def rendered_faces(
    people: int | range = 50,
    images: int = 8,
    *,
    contexts: int = 20,
    size: int = 128,
    home: float = 0.0,
    pose: float = 1.0,
    seed: int = 0,
) -> RenderedFaces:
    """All pictures of a world at once: people x images of them, person by person."""
    world = World(people, images, contexts, size, home, pose, seed)
    return next(stream(world, len(world.numbers) * images))


def stream(world: World, batch: int = 64) -> Iterator[RenderedFaces]:
    """The pictures of a world in batches: memory stays what one batch takes."""
    if batch < 1:
        raise DataError(f"batches of {batch} pictures cannot be made: give at least 1")
    held: list[_Taken] = []
    for number in world.numbers:
        one = person(world.seed, number)
        for image in range(world.images):
            held.append(_take(world, one, world.place(number, image), (number, image)))
            if len(held) == batch:
                yield _gathered(held, world.size)
                held = []
    if held:
        yield _gathered(held, world.size)


def triplets(world: World, count: int) -> Triplets:
    """``count`` of them, each from pictures of its own. Scenes and persons differ where they have
    to; the match of context is taken with the query's own shot."""
    numbers = world.numbers
    if len(numbers) < 2 or world.contexts < 2:
        raise DataError("triplets need two people and two contexts: raise the smaller number")
    made: tuple[list[_Taken], ...] = ([], [], [])
    for row in range(count):
        rng = np.random.default_rng([world.seed, 6, row])
        one, other = (person(world.seed, numbers[i]) for i in rng.permutation(len(numbers))[:2])
        here, there = (int(number) for number in rng.permutation(world.contexts)[:2])
        made[0].append(_take(world, one, here, (_HOME, row, 0)))
        made[1].append(_take(world, one, there, (_HOME, row, 1)))
        made[2].append(_take(world, other, here, (_HOME, row, 0)))
    query, same, swapped = (_gathered(part, world.size) for part in made)
    return Triplets(query, same, swapped)


@dataclass(frozen=True, eq=False)
class _Taken:
    who: Person
    where: Scene
    how: Shot
    what: Rendered


def _take(world: World, who: Person, place: int, numbers: tuple[int, ...]) -> _Taken:
    where, how = scene(world.seed, place), shot(world.seed, *numbers, pose=world.pose)
    return _Taken(who, where, how, render(who, where, how, world.size))


def _gathered(taken: Sequence[_Taken], size: int) -> RenderedFaces:
    def stacked(name: str, *shape: int) -> NDArray[Any]:
        parts = [getattr(one.what, name)[None] for one in taken]
        return np.concatenate(parts) if parts else np.zeros((0, *shape))

    return RenderedFaces(
        stacked("picture", size, size, 3).astype(np.uint8, copy=False),
        stacked("face", size, size).astype(np.bool_, copy=False),
        stacked("person", size, size).astype(np.bool_, copy=False),
        stacked("landmarks", 5, 2),
        stacked("box", 4),
        np.array([one.who.number for one in taken], np.int64),
        np.array([one.where.number for one in taken], np.int64),
        np.array([(t.how.yaw, t.how.pitch, t.how.roll) for t in taken]).reshape(-1, 3),
    )
