"""Small worlds with known identity structure for the tests of the erasers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def rotation(rng: np.random.Generator, dim: int) -> Array:
    return np.linalg.qr(rng.standard_normal((dim, dim)))[0]


def world(
    rng: np.random.Generator,
    *,
    people: int = 24,
    images: int = 10,
    dim: int = 64,
    rank: int | None = None,
    noise: float = 0.5,
) -> tuple[Array, Array]:
    """Unit rows and integer labels: identity within ``rank`` directions (all, if None), plus
    noise of uneven spectrum in every direction, plus a mean that all share."""
    basis = rotation(rng, dim)[:, : rank or dim]
    who = rng.standard_normal((people, basis.shape[1])) @ basis.T
    spread = rotation(rng, dim) * np.linspace(1.0, 0.3, dim)
    identity = np.repeat(np.arange(people), images)
    x = who[identity] + noise * rng.standard_normal((len(identity), dim)) @ spread.T
    return unit(x + 0.5), identity


def exact_world(
    rng: np.random.Generator,
    *,
    people: int,
    dim: int,
    rank: int,
    images: int = 3,
    weakest: float = 1.0,
) -> tuple[Array, Array]:
    """Unit rows without noise: the means differ in exactly ``rank`` directions, the last of them
    ``weakest`` times as much; one more coordinate is the same for all."""
    basis = rotation(rng, dim)[:, : rank + 1]
    who = rng.standard_normal((people, rank))
    who[:, -1] *= weakest
    same = np.full((people, 1), 0.6)
    identity = np.repeat(np.arange(people), images)
    return (np.hstack([0.8 * unit(who), same]) @ basis.T)[identity], identity


def class_means(x: Array, identity: Array) -> Array:
    """The obvious way, person by person."""
    return np.stack([x[identity == who].mean(axis=0) for who in np.unique(identity)])
