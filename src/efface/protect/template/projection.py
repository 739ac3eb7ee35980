"""The fixed projection that shortens embeddings: the paper does not say how it comes to 180."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from efface.errors import PlanError
from efface.hazmat.expand import SEED_BYTES, gaussians
from efface.protect.template.pictures import Matrix
from efface.threads import one_blas_thread

_PUBLIC_SEED = b"efface l2fe-hash projection 1".ljust(SEED_BYTES, b"\0")


def shortened(x: Matrix, m: int) -> Matrix:
    """x P' with P made of m orthonormal rows times sqrt(d / m), the same for everybody.

    It keeps distances as Johnson and Lindenstrauss promise, with less spread than rows that are
    only independent. P is a constant of efface: normal numbers from a public seed, made
    orthonormal. With m = d nothing is done.
    """
    dim = x.shape[-1]
    if m > dim:
        raise PlanError(
            f"l2fe-hash: m = {m} for vectors of {dim} elements: take m at most that many, l a "
            "third of it as published, and a radius set from people: --param "
            f"m={dim} --param l={max(dim // 3, 1)} --fmr 0.001"
        )
    return x if m == dim else x @ _columns(m, dim)


@lru_cache(maxsize=8)
def _columns(m: int, dim: int) -> Matrix:
    with one_blas_thread():  # the same bits, however many cores there are
        q, r = np.linalg.qr(gaussians(_PUBLIC_SEED, f"projection {m} {dim}", (dim, m)))
    columns = np.ascontiguousarray(q * np.sign(np.diag(r)) * math.sqrt(dim / m))
    columns.flags.writeable = False
    return columns
