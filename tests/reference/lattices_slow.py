"""Nearest points the slow way, in fractions and loops: nothing shared with efface.hazmat."""

from __future__ import annotations

import itertools
from fractions import Fraction

Vector = list[Fraction]


def e8_near(x: list[float]) -> tuple[float, list[float]]:
    """Squared distance and a nearest point of E8, from all candidates that can be nearest: every
    way to take floor or ceiling in each coset. (A nearest point differs by at most 1 from x in
    every coordinate, because the covering radius of E8 is 1.)"""
    best: tuple[float, list[float]] | None = None
    for shift in (0.0, 0.5):
        choices = [[_floor(v - shift) + shift + k for k in (0, 1)] for v in x]
        for point in itertools.product(*choices):
            if (sum(point) - 8 * shift) % 2 == 0:
                off = sum((a - b) ** 2 for a, b in zip(x, point, strict=True))
                if best is None or off < best[0]:
                    best = off, list(point)
    if best is None:
        raise AssertionError("E8 has points everywhere")
    return best


def _floor(value: float) -> float:
    whole = int(value)
    return float(whole - 1 if value < whole else whole)


def dot(a: Vector, b: Vector) -> Fraction:
    return sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0))


def gram_schmidt(rows: list[list[int]]) -> list[Vector]:
    """Orthogonal vectors in exact fractions."""
    done: list[Vector] = []
    for row in rows:
        left = [Fraction(v) for v in row]
        for other in done:
            share = dot(left, other) / dot(other, other)
            left = [u - share * v for u, v in zip(left, other, strict=True)]
        done.append(left)
    return done


def babai(rows: list[list[int]], target: list[int]) -> list[int]:
    """The lattice point of Babai's nearest plane, rounding exact halves to even."""
    stars = gram_schmidt(rows)
    left = [Fraction(v) for v in target]
    for row, star in zip(reversed(rows), reversed(stars), strict=True):
        step = round(dot(left, star) / dot(star, star))
        left = [u - step * v for u, v in zip(left, row, strict=True)]
    return [int(t - u) for t, u in zip(target, left, strict=True)]


def lll_reduced(rows: list[list[int]], delta: Fraction, eta: Fraction) -> bool:
    """Size reduction and the condition of Lovasz, for every row."""
    stars = gram_schmidt(rows)
    norms = [dot(s, s) for s in stars]
    for i, row in enumerate(rows):
        exact = [Fraction(v) for v in row]
        shares = [dot(exact, stars[j]) / norms[j] for j in range(i)]
        if any(abs(share) > eta for share in shares):
            return False
        if i and norms[i] < (delta - shares[-1] ** 2) * norms[i - 1]:
            return False
    return True


def determinant(rows: list[list[int]]) -> Fraction:
    product = Fraction(1)
    for star in gram_schmidt(rows):
        product *= dot(star, star)
    return product
