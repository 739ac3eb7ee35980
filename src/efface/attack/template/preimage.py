"""A vector with the stored projection: the most probable one, for what people look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.guessing import scheme_of
from efface.attack.template.population import Population
from efface.attack.template.stolen import directions, whole
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Release, Samples, Template, TemplateScheme

Matrix = NDArray[np.float64]


@register(
    Card(
        role="attack",
        name="preimage",
        summary="Solves for the likeliest unit vector that has the stored projection or bits.",
        accepts="template",
        yields="embeddings",
        needs="public embeddings of other people, and the seeds that are stored (full leakage)",
        paper="Lee, Chung and Moon, Inverse operation and preimage attack on BioHashing, 2009",
    )
)
@dataclass
class Preimage:
    """x from y = R x and what people look like (``Completion``). For BioHash, where only the signs
    of y are stored, y is the mean of a Gaussian projection that has them."""

    population_: Population | None = field(default=None, repr=False)

    schemes: ClassVar[tuple[str, ...]] = ("mrp", "biohash")
    without_helper: ClassVar[str] = (
        "the stored numbers can be solved for only with the seed in the helper: "
        "without it there is nothing to start from"
    )

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        self.population_ = Population.of(shadow)
        return self

    def options(self) -> Sequence[Self]:
        return (self,)

    def settings(self) -> dict[str, Scalar]:
        return {}

    def run(self, release: Release) -> Claim:
        if self.population_ is None:
            raise RuntimeError("fit the attack before running it")
        scheme = scheme_of(release)
        rows = [_solved(self.population_, scheme, t) for t in release.templates]
        return Claim(np.array(rows).reshape(len(rows), len(self.population_.mean)), "embeddings")


def _solved(known: Population, scheme: TemplateScheme, template: Template) -> Matrix:
    """Without a helper or with a covered record there is nothing to solve for."""
    if template.scheme not in Preimage.schemes or not whole(template) or "seal" in template.helper:
        return known.direction
    rows = directions(template, scheme.settings())
    y = _projected(known, template, rows)
    return known.completion(rows)(y)


def _projected(known: Population, template: Template, rows: Matrix) -> Matrix:
    if "projection" in template.record:
        return np.asarray(template.record["projection"], np.float64)
    from scipy.special import log_ndtr

    signs = 2.0 * np.unpackbits(template.record["bits"]) - 1
    mean = rows @ known.mean
    width = np.sqrt(np.einsum("ij,jk,ik->i", rows, known.covariance, rows))
    z = signs * mean / width
    ratio = np.exp(-(z**2) / 2 - np.log(np.sqrt(2 * np.pi)) - log_ndtr(z))
    return np.asarray(mean + signs * width * ratio)  # the mean of a normal number with this sign
