"""Made-up people for template schemes: embeddings that verify, and small lattices that reduce at
once."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.protect.template import L2FEHash, Memory
from efface.types import Samples

SMALL: dict[str, Any] = {"m": 40, "l": 13, "scale": 0.02}
"""Forty dimensions reduce in a few hundredths of a second."""
BASES = Memory()


def unit(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def crowd(people: int = 30, images: int = 6, dim: int = 64, noise: float = 0.5) -> Samples:
    """Unit vectors; two pictures of a person are about ``noise`` times 1.4 apart, others 1.4."""
    rng = np.random.default_rng(7)
    who = np.repeat(np.arange(people), images)
    centre = unit(rng.standard_normal((people, dim)))
    x = unit(centre[who] + noise * unit(rng.standard_normal((len(who), dim))))
    return Samples(x, who, np.array([f"p{i}" for i in range(people)]))


def small(**params: Any) -> L2FEHash:
    return L2FEHash(**{**SMALL, "bases": BASES, **params})


def pictures_of(samples: Samples, person: int) -> Any:
    return samples.data[samples.identity == person]
