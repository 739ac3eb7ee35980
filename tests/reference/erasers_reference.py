"""The erasers once more, slowly and from the data: explicit one-hots and d x d matrices.

Nothing here is shared with the package, so agreement means something.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def rotation(rng: np.random.Generator, dim: int) -> Array:
    return np.linalg.qr(rng.standard_normal((dim, dim)))[0]


def uneven_world(
    rng: np.random.Generator, people: int = 24, dim: int = 64, signal: float = 1.0
) -> tuple[Array, Array]:
    """Unit rows; 4 to 15 images a person; noise whose spectrum falls twentyfold; shared mean."""
    identity = np.repeat(np.arange(people), rng.integers(4, 16, people))
    who = signal * rng.standard_normal((people, dim)) * np.linspace(1, 0.2, dim)
    noise = (
        rng.standard_normal((len(identity), dim))
        @ (rotation(rng, dim) * np.geomspace(1, 0.05, dim)).T
    )
    return unit(who[identity] + noise + 0.5), identity


def one_hot(identity: Array) -> Array:
    return (identity[:, None] == np.unique(identity)).astype(float)


def means(x: Array, identity: Array) -> Array:
    people, codes, counts = np.unique(identity, return_inverse=True, return_counts=True)
    sums = np.zeros((len(people), x.shape[1]))
    np.add.at(sums, codes, x)
    return sums / counts[:, None]


def spread_of_means(x: Array, identity: Array) -> float:
    """Largest distance of a person's mean from the mean of all."""
    found = means(x, identity)
    return float(np.linalg.norm(found - found.mean(axis=0), axis=1).max())


def covariance(x: Array) -> Array:
    return np.cov(x.T, bias=True)


def cross(x: Array, identity: Array) -> Array:
    z = one_hot(identity)
    return (x - x.mean(axis=0)).T @ (z - z.mean(axis=0)) / len(x)


def power(matrix: Array, exponent: float) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * values**exponent) @ vectors.T


def leading(matrix: Array, rank: int) -> Array:
    return np.linalg.svd(matrix)[0][:, :rank]


def isp(x: Array, identity: Array, rank: int) -> Array:
    """U U' of equation 11."""
    found = means(x, identity)
    frame = leading((found - found.mean(axis=0)).T, rank)
    return frame @ frame.T


def whitened_isp(x: Array, identity: Array, rank: int, shrinkage: float) -> Array:
    """S^(1/2) U U' S^(-1/2) with S the covariance around each person's mean."""
    around = x - means(x, identity)[identity]
    inside, dim = around.T @ around / len(x), x.shape[1]
    inside = (1 - shrinkage) * inside + shrinkage * np.trace(inside) / dim * np.eye(dim)
    found = means(x, identity)
    frame = leading(power(inside, -0.5) @ (found - found.mean(axis=0)).T, rank)
    return power(inside, 0.5) @ frame @ frame.T @ power(inside, -0.5)


def sal(x: Array, identity: Array, rank: int) -> Array:
    frame = leading(cross(x, identity), rank)
    return frame @ frame.T


def leace(x: Array, identity: Array, rank: int) -> Array:
    whole = covariance(x)
    frame = leading(power(whole, -0.5) @ cross(x, identity), rank)
    return power(whole, 0.5) @ frame @ frame.T @ power(whole, -0.5)


def ridge_gain(x: Array, identity: Array, removed: Array, penalty: float) -> float:
    """How much of the variance of the one-hot identity a ridge explains after the projection.

    Solved as the regression that it is, on the projected rows.
    """
    n, dim = x.shape
    centred = x - x.mean(axis=0)
    left = centred - centred @ removed @ removed.T
    z = one_hot(identity)
    z = z - z.mean(axis=0)
    weights = np.linalg.solve(left.T @ left / n + penalty * np.eye(dim), left.T @ z / n)
    loss = np.sum((z - left @ weights) ** 2) / n + penalty * np.sum(weights**2)
    return float(np.sum(z**2) / n - loss)
