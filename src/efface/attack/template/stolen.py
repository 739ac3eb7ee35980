"""What a thief can do with one template: derive its projection, try a guess, take it apart.

Written from the schemes' documents and not with their code, as a thief would.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.population import Completion, Population, unit
from efface.errors import TemplateError
from efface.hazmat import e8
from efface.hazmat.expand import SEED_BYTES, gaussians
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis, nearest_point
from efface.hazmat.sketch import e8_recover
from efface.results import Scalar
from efface.tries import tries_of
from efface.types import Template, TemplateScheme

Matrix = NDArray[np.float64]
Bools = NDArray[np.bool_]

EXTRACTORS = ("facial-fe", "l2fe-hash")
"""Schemes of which an accepted guess of any length gives the enrolled vector itself."""


def accepted(scheme: TemplateScheme, template: Template, guesses: Matrix) -> Bools:
    """Which guesses reproduce the record; none where the helper or a pepper is missing."""
    rows = guesses if template.scheme in EXTRACTORS else unit(guesses)
    try:
        if hasattr(scheme, "guess"):
            found: Bools = scheme.guess(template, rows)
            return found
        return scheme.verify_many(template, tries_of(scheme, rows))
    except TemplateError:
        return np.zeros(len(guesses), bool)


def whole(template: Template) -> bool:
    """Whether the helper is there too (full leakage)."""
    return bool(template.helper)


# --- projections of a user ------------------------------------------------------------------


def directions(template: Template, settings: dict[str, Scalar]) -> Matrix:
    """R of an MRP or BioHash template, from its seed (equation 1)."""
    n, dim = number(settings, "n"), number(settings, "dim")
    seed = template.helper["seed"].tobytes()
    if template.scheme == "mrp":
        return gaussians(seed, "mrp", (n, dim)) / math.sqrt(n)
    q, r = np.linalg.qr(gaussians(seed, "biohash", (n, dim)).T)
    return np.asarray((q * np.sign(np.diag(r))).T)


def shortening(m: int, dim: int) -> Matrix:
    """The public projection of L2FE-Hash as dim x m columns; the identity for m = dim."""
    if m == dim:
        return np.eye(dim)
    seed = b"efface l2fe-hash projection 1".ljust(SEED_BYTES, b"\0")
    q, r = np.linalg.qr(gaussians(seed, f"projection {m} {dim}", (dim, m)))
    return np.asarray(q * np.sign(np.diag(r)) * math.sqrt(dim / m))


# --- from an accepted guess to the enrolled vector ------------------------------------------


def opened(
    scheme: TemplateScheme,
    template: Template,
    guess: Matrix,
    people: Population,
    basis: Basis | None = None,
) -> Matrix:
    """The embedding that a guess leads to: the enrolled one for a fuzzy extractor, to rounding.

    With a ``basis`` of its own the thief decodes further than the service does. What comes out is
    right if it is accepted, which the caller asks. What a projection does not show is filled in.
    """
    if template.scheme == "facial-fe":
        return from_e8(scheme.settings(), template, guess)
    if template.scheme == "l2fe-hash":
        short = _from_lattice(scheme, template, guess, basis)
        return _filler(people, len(short))(short)
    return unit(guess)


@lru_cache(maxsize=4)
def _filler(people: Population, m: int) -> Completion:
    return people.completion(shortening(m, len(people.mean)).T)


def from_e8(settings: dict[str, Scalar], template: Template, guess: Matrix) -> Matrix:
    """(c - ss) / s with c decoded from the guess, block by block: -ss / s where c is zero."""
    sketch, scale = template.helper["sketch"], real(settings, "scale")
    probe = np.zeros(len(sketch))
    probe[: len(guess)] = scale * guess
    found: Matrix = e8_recover(sketch, probe[None])[0, : len(guess)] / scale
    return unit(found)


def _from_lattice(
    scheme: TemplateScheme, template: Template, guess: Matrix, basis: Basis | None
) -> Matrix:
    """x = (c - x') - (nearest point) + x': what is left of c once the point is known."""
    settings = scheme.settings()
    if basis is None:
        basis = stored_basis(scheme, template)
    quantised = scheme.quantised(guess[None])  # type: ignore[attr-defined]
    target = template.helper["sketch"].astype(np.int64) - quantised
    levels = (target - nearest_point(basis, target) + quantised)[0]
    low, high = real(settings, "minimum"), real(settings, "maximum")
    scale = real(settings, "scale") * number(settings, "q")
    return np.asarray((levels + 0.5) / scale * (high - low) + low)


def lattice_of(template: Template, settings: dict[str, Scalar]) -> Lattice:
    shape = Shape(*(number(settings, name) for name in ("m", "l", "q")))
    return Lattice(shape, template.helper["seed"].tobytes())


def stored_basis(scheme: TemplateScheme, template: Template) -> Basis:
    """The reduced basis that the service decodes with; it is public."""
    bases: Any = scheme.bases  # type: ignore[attr-defined]
    digest = template.helper["basis"].tobytes()
    basis: Basis = bases.known(lattice_of(template, scheme.settings()), digest)
    return basis


def number(settings: dict[str, Scalar], name: str) -> int:
    return int(real(settings, name))


def real(settings: dict[str, Scalar], name: str) -> float:
    value = settings.get(name)
    if not isinstance(value, int | float):
        raise TemplateError(f"the scheme's settings lack {name!r}: fit it first")
    return float(value)


# --- right or wrong without a hash ----------------------------------------------------------


def leftover(scheme: TemplateScheme, template: Template, guesses: Matrix) -> Matrix:
    """How far each guess's target is from the point it decodes to: short where it is right.

    So a thief ranks guesses by it, and hashes the shortest alone, whatever a hash costs.
    """
    if template.scheme == "l2fe-hash":
        quantised = scheme.quantised(guesses)  # type: ignore[attr-defined]
        target = template.helper["sketch"].astype(np.int64) - quantised
        left = target - nearest_point(stored_basis(scheme, template), target)
    else:
        sketch = template.helper["sketch"].astype(np.float64)
        target = np.zeros((len(guesses), len(sketch)))
        target[:, : guesses.shape[1]] = real(scheme.settings(), "scale") * guesses
        left = target + sketch - e8.decode(target + sketch)
    return np.asarray(np.linalg.norm(left, axis=1))
