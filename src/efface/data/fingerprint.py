"""Recognise people of one set of samples in another (the numbers: :mod:`efface.fingerprint`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface import fingerprint
from efface.types import Codes, Samples


@dataclass(frozen=True, eq=False)
class Recognised:
    """``codes`` of the people in the samples, and how many of those looked for they were.

    The two differ where one person goes by two names, or two by one.
    """

    codes: Codes
    found: int


def row_fingerprints(samples: Samples) -> NDArray[np.uint64]:
    """One number per row; equal rows have equal numbers, and hardly any others have."""
    return fingerprint.of_rows(samples.data)


def identity_fingerprints(samples: Samples) -> dict[int, str]:
    """Code of every identity -> its fingerprint, from its vectors only, in any order."""
    return fingerprint.of_people(row_fingerprints(samples), samples.identity)


def recognise(samples: Samples, people: Sequence[str]) -> Recognised:
    """Who of ``people`` (fingerprints) has a row here: any one row of a person is enough."""
    wanted, owner = fingerprint.numbers_of(people)
    if not wanted.size:
        return Recognised(np.zeros(0, np.int64), 0)
    sure, unsure = fingerprint.either_way(samples.data)
    met = np.isin(sure, wanted) | np.isin(unsure, wanted)
    hit = np.isin(wanted, sure[met]) | np.isin(wanted, unsure[met])
    return Recognised(np.unique(samples.identity[met]), len(np.unique(owner[hit])))


def overlap(samples: Samples, known: Iterable[int] | Iterable[str] | NDArray[Any]) -> Codes:
    """Codes of the identities with at least one row in ``known``: fingerprints of people, or of
    rows as numbers or as hex digits."""
    texts = [item if isinstance(item, str) else f"{int(item):016x}" for item in known]
    return recognise(samples, texts).codes
