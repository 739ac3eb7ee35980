"""The loop of all attacks that guess: try, and when the record is reproduced, take it apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.population import Population
from efface.attack.template.stolen import accepted, opened
from efface.errors import PlanError
from efface.types import Claim, Release, TemplateScheme

Matrix = NDArray[np.float64]
_FIRST = 16
_CHUNK = 256


def guess_all(release: Release, guesses: Matrix, people: Population) -> Claim:
    """Try the guesses in turn on every template; the mean is claimed where none is accepted.

    The guesses know nothing of the person, so every template gets the same.
    """
    scheme = scheme_of(release)
    vectors = np.tile(people.direction, (len(release.templates), 1))
    tried = np.zeros(len(release.templates), np.int64)
    for i, template in enumerate(release.templates):
        for rows in _chunks(len(guesses)):
            hits = np.flatnonzero(accepted(scheme, template, guesses[rows]))
            if hits.size:
                tried[i] = rows.start + hits[0] + 1
                vectors[i] = opened(scheme, template, guesses[tried[i] - 1], people)
                break
    return Claim(vectors, "embeddings", tried)


def scheme_of(release: Release) -> TemplateScheme:
    if release.scheme is None:
        raise PlanError(
            "this attack reads stored templates: give it Release.stored(templates, scheme)"
        )
    return release.scheme


def _chunks(count: int) -> list[slice]:
    """A few first, then many at once: most templates that open do so early."""
    edges = [0, *range(min(_FIRST, count), count, _CHUNK), count]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]
