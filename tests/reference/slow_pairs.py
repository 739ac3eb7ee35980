"""The plain definitions, pair by pair, as a reader would write them on paper; small crowds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import floor, log2

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pair:
    score: float
    left: int
    right: int


def all_pairs(vectors: NDArray[np.floating], person: NDArray[np.integer]) -> list[Pair]:
    """Every pair of rows once, the smaller person on the left."""
    found = []
    for a, b in combinations(range(len(vectors)), 2):
        score = float(sum(float(x) * float(y) for x, y in zip(vectors[a], vectors[b], strict=True)))
        left, right = sorted((int(person[a]), int(person[b])))
        found.append(Pair(score, left, right))
    return found


def impostors(pairs: list[Pair]) -> list[Pair]:
    return [p for p in pairs if p.left != p.right]


def mated(pairs: list[Pair]) -> list[Pair]:
    return [p for p in pairs if p.left == p.right]


def smallest_threshold(scores: NDArray[np.floating], allowed: int) -> float:
    """Of all observed scores, the smallest with at most ``allowed`` scores above it."""
    fits = [s for s in np.unique(scores) if np.count_nonzero(scores > s) <= allowed]
    return float(min(fits))


def ranked(pairs: list[Pair]) -> list[tuple[float, int, int]]:
    """(score, left, right), best first, equal scores by the smaller people."""
    return sorted(((p.score, p.left, p.right) for p in pairs), key=lambda t: (-t[0], t[1], t[2]))


def confusions(pairs: list[Pair], above: float) -> Counter[tuple[int, int]]:
    return Counter((p.left, p.right) for p in pairs if p.score > above)


def on_grid(score: float) -> int:
    """Octaves of the distance from 1, moved by 2^-18; 4,096 steps in each, from 2^-17 to 2."""
    away = min(max(1 + 2**-18 - score, 2**-17), 2)
    octave = floor(log2(away))
    return (1 - octave) * 4096 - floor((away / 2**octave - 1) * 4096)


def roc(mated: NDArray[np.floating], impostor: NDArray[np.floating]) -> list[tuple[float, float]]:
    """(FAR, TAR) of ``score >= t`` for every observed t, from (0, 0) to (1, 1)."""
    steps = sorted({*mated.tolist(), *impostor.tolist()}, reverse=True)
    points = [(float((impostor >= t).mean()), float((mated >= t).mean())) for t in steps]
    return [(0.0, 0.0), *points]


def crossing(points: list[tuple[float, float]]) -> float:
    """FAR at which the polyline of the ROC meets FAR = 1 - TAR."""
    for (x0, y0), (x1, y1) in pairwise(points):
        before, after = x0 + y0 - 1, x1 + y1 - 1
        if before <= 0 <= after and after > before:
            return x0 + (x1 - x0) * -before / (after - before)
    raise AssertionError("a ROC from (0, 0) to (1, 1) meets the diagonal")


def area_up_to(points: list[tuple[float, float]], limit: float) -> float:
    """Area under the polyline over [0, limit], trapezoid by trapezoid, cut where it crosses."""
    total = 0.0
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 >= limit or x1 == x0:
            continue
        end = min(x1, limit)
        at_end = y0 + (y1 - y0) * (end - x0) / (x1 - x0)
        total += (end - x0) * (y0 + at_end) / 2
    return total


def dyadic(rng: np.random.Generator, rows: int, dim: int, steps: int = 4) -> NDArray:
    """Vectors whose products are exact in float32, whatever the order of summation."""
    return rng.integers(-steps, steps + 1, (rows, dim)).astype(np.float32) / np.float32(8 * steps)


def crowd(rng: np.random.Generator, people: int, most: int) -> NDArray:
    """Person of each row: unequal numbers of images, rows in no order."""
    return rng.permutation(np.repeat(np.arange(people), rng.integers(1, most + 1, people)))
