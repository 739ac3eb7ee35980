"""Erasers of every form, drawn."""

from __future__ import annotations

import numpy as np

from efface.protect.linear.eraser import LinearEraser


def drawn(
    dim: int,
    rank: int,
    seed: int = 0,
    *,
    oblique: bool = False,
    centred: bool = False,
    normalise: bool = True,
) -> LinearEraser:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(dim, rank)))[0]
    dual = None
    if oblique:
        metric = np.diag(rng.uniform(0.5, 2, size=dim))
        basis, dual = metric @ basis, np.linalg.solve(metric, basis)
    mean = rng.normal(size=dim) / np.sqrt(dim) / 2 if centred else None
    return LinearEraser(basis, dual, mean, normalise)
