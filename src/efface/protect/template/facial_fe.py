"""Facial-FE: a fuzzy extractor on the lattice E8 (paper, Algorithm 2; Zhang, Cui and Yu, 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from efface.errors import DataError, PlanError
from efface.hazmat import e8
from efface.hazmat.sketch import e8_recover, e8_sketch
from efface.protect.template.kinds import Extractor
from efface.protect.template.pairs import genuine_pairs
from efface.protect.template.parts import Filled, Layout
from efface.protect.template.pictures import Matrix
from efface.registry import register
from efface.results import Card
from efface.types import Samples


@register(
    Card(
        role="scheme",
        name="facial-fe",
        summary="Stores the way from a vector to the nearest point of E8, and a hash of both.",
        accepts="embedding",
        yields="template",
        paper=(
            "Zhang, Cui and Yu, Facial template protection via lattice-based fuzzy extractors, "
            "ePrint 2021"
        ),
        verdict=(
            "broken by whoever holds all that is stored: at scales that accept people the sketch "
            "is nearly the negated vector itself. PIPE reports 89 to 100 %."
        ),
    )
)
@dataclass(eq=False, kw_only=True)
class FacialFE(Extractor):
    """ss = c - s x with c the point of E8 nearest to s x in every block of eight; r = H_k(s x, ss).

    s is the ``scale``. A larger one hides more and accepts less. Without one, ``fit`` searches the
    largest at which no more than ``fnr`` of the genuine pairs are refused: 0.7 in the paper.
    """

    scale: float | None = None
    fnr: float = 0.7

    def check(self) -> None:
        super().check()
        if self.scale is not None and not 0 < self.scale < float("inf"):
            raise PlanError(f"facial-fe: scale takes a number above zero, not {self.scale!r}")
        if not 0 <= self.fnr < 1:
            raise PlanError(f"facial-fe: fnr takes a share from 0 to below 1, not {self.fnr!r}")

    def _learn(self, samples: Samples) -> float:
        if self.scale is not None:
            return self.scale
        return search_scale(samples, self.fnr)

    def _helper_layout(self) -> Layout:
        return {**super()._helper_layout(), "sketch": (np.float32, (_padded_size(self.dim_),))}

    def _enrol(self, x: Matrix, root: bytes, owner: Filled) -> Filled:
        placed = _padded(self.radius_ * x)
        parts: Filled = {"sketch": e8_sketch(placed)}
        return self._recorded(parts, root, owner, lambda p: self._messages(p, x[None])[0])

    def _messages(self, parts: Filled, x: Matrix) -> list[bytes]:
        sketch = parts["sketch"]
        found = e8_recover(sketch, _padded(self.radius_ * x))
        return [row.tobytes() + sketch.tobytes() for row in found]

    def critical(self, enrolled: Matrix, probes: Matrix, seed: int = 0) -> Matrix:
        return e8.reach(_padded(probes - enrolled))


def search_scale(samples: Samples, fnr: float = 0.7) -> float:
    """The largest scale that refuses at most ``fnr`` of the genuine pairs (paper, section 6.2).

    No grid: every pair has one scale at which it is on the border of its Voronoi cell, so the
    answer is a quantile of those. Pairs beyond the first hundred thousand are left out.
    """
    first, second = genuine_pairs(samples, 100_000)
    if not len(first):
        raise DataError(
            f"{samples.dataset}: nobody has two pictures, so no scale can be searched: add "
            "pictures, or give a scale"
        )
    x = samples.data.astype(np.float64)
    borders = np.sort(e8.reach(_padded(x[second] - x[first])))
    refused = int(np.floor(fnr * len(borders)))
    return float(np.nextafter(borders[refused], 0)) if np.isfinite(borders[refused]) else 1.0


def _padded_size(dim: int) -> int:
    return -(-dim // e8.SIZE) * e8.SIZE


def _padded(x: Matrix) -> Matrix:
    """Zeros up to a multiple of eight; they decode to zero and tell nothing."""
    short = _padded_size(x.shape[-1]) - x.shape[-1]
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, short)]) if short else x
