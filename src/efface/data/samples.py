"""The way in: arrays to checked :class:`~efface.types.Samples` (P1, P2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.data.identities import as_column, encode
from efface.data.vectors import as_matrix, unit_rows
from efface.errors import DataError
from efface.types import Samples

_SHOWN = 5


def samples(
    data: ArrayLike,
    identity: ArrayLike,
    *,
    attributes: Mapping[str, ArrayLike] | None = None,
    dataset: str = "samples",
    names: Sequence[str] | NDArray[Any] | None = None,
) -> Samples:
    """Unit rows with an integer identity each, or a DataError that names the first bad row.

    ``identity`` is text or whole numbers; with ``names``, positions in that list. The result is
    a copy: float64 stays float64, every other type becomes float32. ``stored_dtype`` is the type
    the vectors came in; integers, in which unit rows cannot be kept, count as float32.
    """
    matrix = as_matrix(data, dataset)
    codes, known = encode(identity, dataset, names)
    if len(codes) != len(matrix):
        raise DataError(
            f"{dataset}: {len(matrix)} vectors but {len(codes)} identities: give one per row"
        )
    if len(known) < 2:
        raise DataError(
            f"{dataset}: only one identity ({known[0]!s}): need at least two people to compare"
        )
    columns = {
        name: _attribute(name, column, len(matrix), dataset)
        for name, column in (attributes or {}).items()
    }
    stored = matrix.dtype.newbyteorder("=").name if matrix.dtype.kind == "f" else "float32"
    return Samples(
        unit_rows(matrix, dataset), codes, known, columns, dataset=dataset, stored_dtype=stored
    )


def require_pairs(samples: Samples, minimum: int = 2) -> None:
    """Refuse people with too few images to be compared with themselves."""
    people, images = np.unique(samples.identity, return_counts=True)
    few = np.flatnonzero(images < minimum)
    if not few.size:
        return
    shown = ", ".join(f"{samples.names[people[i]]!s} ({images[i]})" for i in few[:_SHOWN])
    more = f" and {len(few) - _SHOWN} more" if len(few) > _SHOWN else ""
    raise DataError(
        f"{samples.dataset}: {len(few)} of {len(people)} identities have fewer than {minimum} "
        f"images: {shown}{more}. Add images of these people, or leave them out "
        f"(--min-images {minimum})"
    )


def require_people(dataset: str, people: int, rows: int) -> None:
    """Refuse labels of which each stands on one row: numbers of pictures, not of people."""
    if people == rows:
        raise DataError(
            f"{dataset}: each of {people:,} identities has one image: these labels may tell "
            "pictures apart, not people. Name the column that says who is on a picture with "
            "--identity, or force the fit (--force)"
        )


def leave_out_small(samples: Samples, n: int) -> Samples:
    """Everybody with ``n`` images or more, and all of their images."""
    images = np.bincount(samples.identity, minlength=len(samples.names))
    _require_two(samples.dataset, images, n)
    return samples.take(np.flatnonzero(images[samples.identity] >= n))


def curate(samples: Samples, n: int, *, seed: int = 0, skip_small: bool = True) -> Samples:
    """Exactly ``n`` images of every person (P3), a seeded choice; rows keep their order.

    People with fewer are left out, or refused when ``skip_small`` is false.
    """
    if n < 1:
        raise DataError(f"{samples.dataset}: cannot keep {n} images per identity: n must be >= 1")
    if not skip_small:
        require_pairs(samples, n)
    images = np.bincount(samples.identity, minlength=len(samples.names))
    kept = (_place_among_own(samples, seed) < n) & (images[samples.identity] >= n)
    _require_two(samples.dataset, images, n)
    return samples.take(np.flatnonzero(kept))


def _require_two(dataset: str, images: NDArray[np.int64], n: int) -> None:
    if np.count_nonzero(images >= n) < 2:
        raise DataError(
            f"{dataset}: {np.count_nonzero(images >= n)} identities have {n} images or "
            f"more, need at least two: ask for fewer (the largest has {images.max()})"
        )


def _place_among_own(samples: Samples, seed: int) -> NDArray[np.int64]:
    """The position of every row in a random order of its person's rows: 0, 1, 2 ..."""
    luck = np.random.default_rng(seed).random(len(samples))
    order = np.lexsort((luck, samples.identity))
    ranked = samples.identity[order]
    first = np.searchsorted(ranked, ranked, side="left")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - first
    return place


def _attribute(name: str, values: ArrayLike, rows: int, dataset: str) -> NDArray[Any]:
    try:
        column = as_column(values)
    except (ValueError, UnicodeDecodeError) as error:
        raise DataError(f"{dataset}: attribute {name!r} cannot be read ({error})") from error
    if column.shape != (rows,):
        raise DataError(
            f"{dataset}: attribute {name!r} has shape {column.shape}, need one value for each of "
            f"the {rows} vectors"
        )
    return column
