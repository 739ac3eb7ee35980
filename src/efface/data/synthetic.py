"""Worlds of embeddings in which the truth is known (for demos, tests and calibration).

``z_ij = m + strength U a_i + context V c_k(ij) + attribute b_i w + noise e_ij``, then unit length:
person i in image j, scene k, with U, V, w orthonormal and a, c, e of expected squared length 1.
So it is known what an audit must find and an eraser must remove.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.data.samples import samples
from efface.errors import DataError
from efface.results import Scalar
from efface.types import Codes, Samples

Matrix = NDArray[np.float64]
_SCENES = 20
_MEAN = 0.2


@dataclass(frozen=True, eq=False)
class World:
    """Samples with the truth they were made from."""

    samples: Samples
    identity_basis: Matrix
    """U, d x rank, orthonormal: apart from the attribute, identity is in here only."""
    context_basis: Matrix
    attribute_direction: Matrix
    """w, of length 1: the person's ``gender`` (0 or 1) lies along it."""
    mean: Matrix
    params: Mapping[str, Scalar]


@dataclass(frozen=True, eq=False)
class ProductWorld:
    """Samples whose identity is in products of two features each, and the codes they give."""

    samples: Samples
    codes: NDArray[np.int64]
    """people x bits, each -1 or 1."""
    basis: Matrix
    """d x 2 bits: the first half of the columns holds s, the second s * code."""


def embedding_world(
    *,
    people: int = 200,
    images: int = 10,
    dim: int = 128,
    rank: int = 24,
    strength: float = 1.0,
    context_rank: int = 16,
    context: float = 0.6,
    noise: float = 0.5,
    attribute: float = 0.5,
    seed: int = 0,
) -> World:
    """Faces of one dataset. By default raw cosine accepts about 0.9 of the mated pairs at FAR
    1e-3, 0.4 after a third of the identity directions is erased, chance after all."""
    _at_least(2, people=people)
    _at_least(1, images=images, rank=rank, context_rank=context_rank)
    _fits(rank + context_rank + 2, dim)
    rng = np.random.default_rng(seed)
    directions = _orthonormal(rng, dim, rank + context_rank + 2)
    params: dict[str, Scalar] = {
        "people": people, "images": images, "dim": dim, "rank": rank, "strength": strength,
        "context_rank": context_rank, "context": context, "noise": noise,
        "attribute": attribute, "seed": seed,
    }  # fmt: skip
    mean = _MEAN * directions[:, -1]
    return _drawn(
        rng, directions[:, :rank], directions[:, rank:-2], directions[:, -2], mean, params
    )


def second_dataset(
    world: World,
    *,
    shared: float = 0.7,
    people: int | None = None,
    noise: float = 0.6,
    seed: int = 1,
) -> World:
    """Other people from another source: ``shared`` of the identity directions are the first
    dataset's, the rest is orthogonal to all of them; own scenes, mean and noise, same attribute.
    """
    if not 0 <= shared <= 1:
        raise DataError(f"shared={shared}: give a share between 0 and 1")
    dim, rank = world.identity_basis.shape
    context_rank = world.context_basis.shape[1]
    common = round(shared * rank)
    _fits(2 * rank + 1 - common + context_rank + 1, dim)
    rng = np.random.default_rng(seed)
    turned = world.identity_basis @ _orthonormal(rng, rank, rank)
    avoid = np.column_stack([world.identity_basis, world.attribute_direction])
    fresh = _orthonormal(rng, dim, rank - common + context_rank + 1, avoid)
    params = dict(world.params) | {"shared": shared, "noise": noise, "seed": seed}
    params["people"] = world.params["people"] if people is None else people
    identity = np.column_stack([turned[:, :common], fresh[:, : rank - common]])
    scenes = fresh[:, rank - common : -1]
    mean = 2 * _MEAN * fresh[:, -1]
    return _drawn(rng, identity, scenes, world.attribute_direction, mean, params)


def utility_world(
    world: World,
    *,
    classes: int = 10,
    per_class: int = 60,
    overlap: float = 0.1,
    noise: float = 2.0,
    seed: int = 2,
) -> Samples:
    """Things that are no faces, in the same space; the identity is the class. ``overlap`` is the
    share of the class centres' energy inside the identity subspace, which erasure takes away."""
    _at_least(2, classes=classes)
    _at_least(1, per_class=per_class)
    if not 0 <= overlap <= 1:
        raise DataError(f"overlap={overlap}: give a share between 0 and 1")
    rng = np.random.default_rng(seed)
    basis = world.identity_basis
    dim = len(basis)
    free = rng.standard_normal((classes, dim))
    outside = _unit(free - free @ basis @ basis.T)
    inside = _unit(rng.standard_normal((classes, basis.shape[1]))) @ basis.T
    centres = np.sqrt(1 - overlap) * outside + np.sqrt(overlap) * inside
    which = np.repeat(np.arange(classes), per_class)
    vectors = world.mean + centres[which] + noise * _isotropic(rng, len(which), dim)
    return samples(vectors.astype(np.float32), which, dataset="utility")


def copies_world(
    world: World, *, originals: int = 200, edits: int = 3, strength: float = 1.0, seed: int = 3
) -> Samples:
    """Pictures and edited copies of them; the identity is the original's number. Attribute
    ``edit`` is ``original``, ``edit-1`` ...: noise of length ``strength``, twice that ..."""
    _at_least(2, originals=originals)
    _at_least(1, edits=edits)
    rng = np.random.default_rng(seed)
    dim = len(world.identity_basis)
    first = world.mean + _isotropic(rng, originals, dim)
    level = np.repeat(np.arange(edits + 1), originals)
    changes = strength * level[:, None] * _isotropic(rng, len(level), dim)
    names = np.array(["original", *(f"edit-{k}" for k in range(1, edits + 1))])
    return samples(
        (np.tile(first, (edits + 1, 1)) + changes).astype(np.float32),
        np.tile(np.arange(originals), edits + 1),
        attributes={"edit": names[level]},
        dataset="copies",
    )


def product_world(
    *,
    people: int = 200,
    images: int = 10,
    bits: int = 8,
    dim: int = 64,
    noise: float = 0.3,
    seed: int = 0,
) -> ProductWorld:
    """A leak that no linear attacker sees: person i has a code of signs, every image is
    (s, s * code_i) with fresh random signs s, turned at random. Every class mean is zero in
    expectation; the product of two features gives one bit of the code."""
    _at_least(2, people=people)
    _at_least(1, images=images, bits=bits)
    _fits(2 * bits, dim)
    if people > 2**bits:
        raise DataError(f"{people} people need different codes: {bits} bits give {2**bits}")
    rng = np.random.default_rng(seed)
    codes = _distinct_codes(rng, people, bits)
    who = np.repeat(np.arange(people), images)
    signs = rng.choice([-1.0, 1.0], (len(who), bits))
    basis = _orthonormal(rng, dim, 2 * bits)
    features = np.column_stack([signs, signs * codes[who]]) / np.sqrt(2 * bits)
    vectors = features @ basis.T + noise * _isotropic(rng, len(who), dim)
    made = samples(vectors.astype(np.float32), who, dataset="products")
    return ProductWorld(made, codes, basis)


def _drawn(
    rng: np.random.Generator,
    identity: Matrix,
    scenes: Matrix,
    direction: Matrix,
    mean: Matrix,
    params: Mapping[str, Scalar],
) -> World:
    people, images = int(params["people"] or 0), int(params["images"] or 0)
    weight = {k: float(params[k] or 0) for k in ("strength", "context", "attribute", "noise")}
    who: Codes = np.repeat(np.arange(people), images)
    scene = rng.integers(0, _SCENES, len(who))
    gender = rng.integers(0, 2, people)
    vectors = (
        mean
        + weight["strength"] * (_isotropic(rng, people, identity.shape[1]) @ identity.T)[who]
        + weight["context"] * (_isotropic(rng, _SCENES, scenes.shape[1]) @ scenes.T)[scene]
        + weight["attribute"] * (2 * gender - 1)[who, None] * direction
        + weight["noise"] * _isotropic(rng, len(who), len(identity))
    )
    made = samples(
        vectors.astype(np.float32),
        who,
        attributes={"gender": gender[who], "context": scene},
        dataset=f"world-{params['seed']}",
    )
    return World(made, identity, scenes, direction, mean, params)


def _isotropic(rng: np.random.Generator, rows: int, dim: int) -> Matrix:
    """Gaussian rows of expected squared length 1."""
    drawn: Matrix = rng.standard_normal((rows, dim)) / np.sqrt(dim)
    return drawn


def _orthonormal(
    rng: np.random.Generator, dim: int, count: int, avoid: Matrix | None = None
) -> Matrix:
    """Random orthonormal columns, orthogonal to those of ``avoid``."""
    avoid = np.zeros((dim, 0)) if avoid is None else avoid
    columns = np.column_stack([avoid, rng.standard_normal((dim, count))])
    basis: Matrix = np.linalg.qr(columns)[0][:, avoid.shape[1] :]
    return basis


def _distinct_codes(rng: np.random.Generator, people: int, bits: int) -> NDArray[np.int64]:
    numbers = rng.choice(2**bits, size=people, replace=False)
    codes: NDArray[np.int64] = 2 * (numbers[:, None] >> np.arange(bits) & 1) - 1
    return codes


def _unit(rows: Matrix) -> Matrix:
    unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _at_least(least: int, **sizes: int) -> None:
    for name, size in sizes.items():
        if size < least:
            raise DataError(f"a world with {name}={size} cannot be made: give at least {least}")


def _fits(directions: int, dim: int) -> None:
    if directions > dim:
        raise DataError(
            f"{directions} orthogonal directions do not fit into {dim} dimensions: raise dim or "
            "lower the ranks"
        )
