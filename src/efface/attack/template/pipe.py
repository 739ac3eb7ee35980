"""PIPE, the part before the picture: a surrogate embedding from what was stored (paper, section 5).

The paper's second step paints a face for the surrogate. Whether the surrogate is near enough to the
person is decided before that, and here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.guessing import scheme_of
from efface.attack.template.population import Population, unit
from efface.attack.template.stolen import directions, from_e8, lattice_of, whole
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Release, Samples, Template, TemplateScheme

Matrix = NDArray[np.float64]
_SHADOWS = 2000


@register(
    Card(
        role="attack",
        name="pipe",
        summary="Reads a surrogate off the helper: the sketch, a pseudo-inverse, or A and Ab + x.",
        accepts="template",
        yields="embeddings",
        needs="public embeddings of other people; without the helper it is the partial leakage",
        paper="Prabhakar et al., Model inversion attacks meet cryptographic fuzzy extractors, 5",
    )
)
@dataclass
class Pipe:
    """Full leakage: the sketch for Facial-FE, which is -s x plus a lattice point that is zero or
    decoded from the mean of people; R^+ y for MRP and BioHash. For L2FE-Hash, and for a
    projection without its seed, a linear map learnt on people whom the attacker enrols itself; it
    stands for the paper's network, which is given the same. A digest alone tells nothing."""

    strength: float = 0.1
    population_: Population | None = field(default=None, repr=False)
    seed_: int = field(default=0, repr=False)

    schemes: ClassVar[tuple[str, ...]] = ()

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        self.population_ = Population.of(shadow)
        self.seed_ = int(rng.integers(2**63))
        return self

    def options(self) -> Sequence[Self]:
        return (self,)

    def settings(self) -> dict[str, Scalar]:
        return {"strength": self.strength}

    def run(self, release: Release) -> Claim:
        if self.population_ is None:
            raise RuntimeError("fit the attack before running it")
        scheme, people = scheme_of(release), self.population_
        if not release.templates:
            return Claim(np.empty((0, len(people.mean))), "embeddings")
        first = release.templates[0]
        if scheme.settings().get("pepper"):  # all is covered: noise to whoever does not have it
            return _everybody(people, release)
        if whole(first) and first.scheme != "l2fe-hash":
            found = [_surrogate(t, scheme.settings(), people) for t in release.templates]
            return Claim(unit(np.array(found)), "embeddings")
        given = [_visible(t) for t in release.templates]
        if given[0] is None:
            return _everybody(people, release)
        shadows = self._shadows(first, scheme, people)
        map_ = _linear(shadows, people.rows[: len(shadows)], self.strength)
        return Claim(_applied(map_, np.array(given)), "embeddings")

    def _shadows(self, like: Template, scheme: TemplateScheme, people: Population) -> Matrix:
        """What the attacker's own people would have stored, with a seed of their own each."""
        rng, rows = np.random.default_rng(self.seed_), people.rows[:_SHADOWS]
        if like.scheme == "l2fe-hash":
            return _lattice_shadows(like, scheme, rows, rng)
        whose = {"owner": b"a shadow"} if scheme.settings().get("owner") else {}
        found = [_visible(scheme.enrol(row, rng, **whose).partial()) for row in rows]
        return np.array(found)


def _surrogate(template: Template, settings: dict[str, Scalar], people: Population) -> Matrix:
    if template.scheme == "facial-fe":
        return from_e8(settings, template, people.mean)
    if template.scheme not in ("mrp", "biohash"):
        return people.direction
    y: NDArray[np.floating] = (
        template.record["projection"].astype(np.float64)
        if template.scheme == "mrp"
        else 2.0 * np.unpackbits(template.record["bits"]) - 1
    )
    return np.asarray(np.linalg.pinv(directions(template, settings)) @ y)


def _visible(template: Template) -> Matrix | None:
    """The numbers of a template that a learner can use; A is uniform and independent of x."""
    parts = {**template.record, **template.helper}
    for name in ("sketch", "projection"):
        if name in parts:
            return np.asarray(parts[name], np.float64)
    if "bits" in parts:
        return np.asarray(2.0 * np.unpackbits(parts["bits"]) - 1, np.float64)
    return None


def _lattice_shadows(
    like: Template, scheme: TemplateScheme, rows: Matrix, rng: np.random.Generator
) -> Matrix:
    """Sketches of other people. A b mod q is uniform for a fresh A, so none has to be made."""
    shape = lattice_of(like, scheme.settings()).shape
    levels = scheme.quantised(rows)  # type: ignore[attr-defined]
    points = rng.integers(shape.q, size=levels.shape)
    return np.asarray((points + levels) % shape.q, np.float64)


def _linear(x: Matrix, y: Matrix, strength: float) -> tuple[Matrix, Matrix, Matrix]:
    """Ridge regression: centre of x, centre of y, weights."""
    mean, other = x.mean(axis=0), y.mean(axis=0)
    centred = x - mean
    gram = centred.T @ centred
    gram += strength * np.trace(gram) / len(gram) * np.eye(len(gram))
    return mean, other, np.linalg.solve(gram, centred.T @ (y - other))


def _applied(map_: tuple[Matrix, Matrix, Matrix], x: Matrix) -> Matrix:
    mean, other, weights = map_
    return unit((x - mean) @ weights + other)


def _everybody(people: Population, release: Release) -> Claim:
    return Claim(np.tile(people.direction, (len(release.templates), 1)), "embeddings")
