"""A better basis than the service has: then the same guess is near enough more often (P25, P26)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.guessing import scheme_of
from efface.attack.template.population import Population
from efface.attack.template.stolen import accepted, lattice_of, opened, stored_basis, whole
from efface.errors import PlanError
from efface.extras import need
from efface.hazmat.lattice import Lattice
from efface.hazmat.reduction import Basis
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Release, Samples, Template, TemplateScheme

Matrix = NDArray[np.float64]

ABSENT = (
    "lattice-reduction was not run: fpylll is not installed, and a stronger basis than the "
    "service's own is known to open more templates. For an audit install the extra 'audit-gpl' "
    "(fpylll is under the GPL)."
)


@register(
    Card(
        role="attack",
        name="lattice-reduction",
        summary="Reduces the basis of a template further (BKZ), then queries with the mean.",
        accepts="template",
        yields="embeddings",
        needs="public embeddings of other people, and the extra 'audit-gpl'",
        paper="Schnorr and Euchner, Lattice basis reduction, 1994; Babai, 1986",
    )
)
@dataclass
class LatticeReduction:
    """BKZ in blocks of ``block``, Babai, and x from what is left. The service's own test says
    whether x is right: it is, when it reproduces the record.

    Templates that share a lattice share the reduction.
    """

    block: int = 20
    population_: Population | None = field(default=None, repr=False)

    schemes: ClassVar[tuple[str, ...]] = ("l2fe-hash",)
    without_helper: ClassVar[str] = (
        "the lattice is in the helper: without it there is nothing to start from"
    )

    def check(self) -> None:
        if type(self.block) is not int or self.block < 2:
            raise PlanError(
                f"lattice-reduction: block takes a whole number from 2, not {self.block!r}"
            )

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        self.check()
        self.population_ = Population.of(shadow)
        return self

    def options(self) -> Sequence[Self]:
        return (self,)

    def settings(self) -> dict[str, Scalar]:
        return {"block": self.block}

    def absent(self) -> str:
        """Why it cannot be run here, or nothing."""
        return "" if importlib.util.find_spec("fpylll") else ABSENT

    def run(self, release: Release) -> Claim:
        if self.population_ is None:
            raise RuntimeError("fit the attack before running it")
        scheme, people = scheme_of(release), self.population_
        stronger: dict[Lattice, Basis] = {}
        vectors = np.tile(people.direction, (len(release.templates), 1))
        tried = np.zeros(len(release.templates), np.int64)
        for i, template in enumerate(release.templates):
            found = self._opened(scheme, template, stronger, people)
            if found is not None:
                vectors[i], tried[i] = found, 1
        return Claim(vectors, "embeddings", tried)

    def _opened(
        self,
        scheme: TemplateScheme,
        template: Template,
        known: dict[Lattice, Basis],
        people: Population,
    ) -> Matrix | None:
        if template.scheme != "l2fe-hash" or not whole(template) or "seal" in template.helper:
            return None
        lattice = lattice_of(template, scheme.settings())
        if lattice not in known:
            known[lattice] = bkz(stored_basis(scheme, template), self.block)
        found = opened(scheme, template, people.mean, people, known[lattice])
        return found if accepted(scheme, template, found[None])[0] else None


def bkz(basis: Basis, block: int) -> Basis:
    """The lattice's basis after BKZ, from a reduced one."""
    fpylll = need("fpylll", "audit-gpl")
    rows = fpylll.IntegerMatrix.from_matrix(basis.rows.tolist())
    fpylll.BKZ.reduction(rows, _parameters(fpylll.BKZ, block))
    size = len(basis.rows)
    found = np.array([[int(rows[i, j]) for j in range(size)] for i in range(size)], np.int64)
    made = Basis(basis.lattice, found, f"bkz block={block}")
    made.check()
    return made


def _parameters(bkz: Any, block: int) -> Any:
    """With the library's pruning strategies where its package brings them; without, blocks of up to
    some twenty are searched whole, and larger ones take hours."""
    try:
        return bkz.Param(block, strategies=bkz.DEFAULT_STRATEGY, flags=bkz.AUTO_ABORT)
    except RuntimeError:  # the file of strategies is not where the library was built to look
        return bkz.Param(block, flags=bkz.AUTO_ABORT)


def stronger(bases: Any, block: int) -> Callable[[Lattice], Basis]:
    """A reduction that begins with the service's basis and ends with BKZ."""

    def reduce(lattice: Lattice) -> Basis:
        return bkz(bases.known(lattice, b""), block)

    return reduce
