"""Pairs of pictures of calibration people: of one person, and of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from efface.types import Samples

Rows = NDArray[np.int64]


def genuine_pairs(samples: Samples, limit: int) -> tuple[Rows, Rows]:
    """Row numbers of all pairs of one person's pictures; at most about ``limit``, of whole people.

    People come in the order of their codes, so which are left out does not depend on the rows.
    """
    first, second, count = [], [], 0
    for person in samples.people:
        own = np.flatnonzero(samples.identity == person)
        one, two = np.triu_indices(len(own), k=1)
        first.append(own[one])
        second.append(own[two])
        count += len(one)
        if count >= limit:
            break
    return np.concatenate(first), np.concatenate(second)
