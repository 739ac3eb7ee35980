"""What is left of an embedding's usefulness: k-NN, linear probe and copy detection (P17)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.results import Estimate
from efface.types import Samples

Matrix = NDArray[np.float64]
Labels = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]
Outcome = tuple[str, Flags, Flags]
Score = tuple[str, Estimate, Estimate, Estimate]

ALPHAS = tuple(10.0**e for e in range(-4, 3))
RECALLS = (1, 5, 10)
_PER_CLASS = 4


def utility(
    raw: Samples,
    transform: Callable[[NDArray[Any]], NDArray[Any]],
    *,
    rng: np.random.Generator,
    task: Literal["classes", "copies"] = "classes",
    k: int = 20,
    test: float = 0.3,
    bootstrap: int = 2000,
    level: float = 0.95,
) -> list[Score]:
    """(task, raw, protected, share) for a labelled set or for edited copies (P17).

    ``classes``: identity is the class; k-NN and linear probe on a stratified split. ``copies``:
    identity is the original's number and attribute ``edit`` is ``original`` for gallery rows.
    A generator of the same seed gives the same split, so scores of several protections compare.
    """
    protected = raw.replace(np.asarray(transform(raw.data)))
    if task == "classes":
        outcomes, clusters = _class_outcomes(raw, protected, rng, k, test), None
    elif task == "copies":
        outcomes, clusters = _copy_outcomes(raw, protected)
    else:
        raise DataError(f"utility task {task!r} is not known: use 'classes' or 'copies'")
    return [(name, *share(a, b, rng, clusters, bootstrap, level)) for name, a, b in outcomes]


def _class_outcomes(
    raw: Samples, protected: Samples, rng: np.random.Generator, k: int, test: float
) -> list[Outcome]:
    classes, counts = np.unique(raw.identity, return_counts=True)
    if len(classes) < 2:
        raise DataError(f"{raw.dataset}: one class only; give a label column with two or more")
    if counts.min() < _PER_CLASS:
        raise DataError(
            f"{raw.dataset}: class {raw.names[classes[counts.argmin()]]!s} has {counts.min()} "
            f"rows, utility needs {_PER_CLASS}: add rows or leave the class out"
        )
    held = hold_out(raw.identity, test, rng)
    seed = int(rng.integers(2**63))  # one validation part for the raw and the protected probe
    found = []
    for x in (raw.data, protected.data):
        parts = (x[~held], raw.identity[~held], x[held], raw.identity[held])
        probe = probe_correct(*parts, rng=np.random.default_rng(seed))
        found.append((knn_correct(*parts, k=k), probe))
    (knn, probe), (knn_kept, probe_kept) = found
    return [("k-NN top-1", knn, knn_kept), ("linear probe top-1", probe, probe_kept)]


def _copy_outcomes(raw: Samples, protected: Samples) -> tuple[list[Outcome], Labels]:
    edit = np.asarray(raw.attributes.get("edit", [""] * len(raw))).astype(str)
    first, ids = edit == "original", raw.identity
    originals = len(np.unique(ids[first]))
    if originals < 2 or first.all():
        raise DataError(
            f"{raw.dataset}: {originals} originals and {int((~first).sum())} copies; copy "
            "detection needs two originals (attribute 'edit' = 'original') and a copy of them"
        )
    before, after = (
        copy_ranks(x[first], ids[first], x[~first], ids[~first]) for x in (raw.data, protected.data)
    )
    # Among k originals or fewer every rank is at most k: such a recall would say nothing.
    kept = [k for k in RECALLS if k < originals]
    return [(f"copy recall@{k}", before <= k, after <= k) for k in kept], ids[~first]


def hold_out(labels: Labels, fraction: float, rng: np.random.Generator) -> Flags:
    """Mark ``fraction`` of every class (at least one row, never all) by lot."""
    if not 0 < fraction < 1:
        raise DataError(f"the share to hold out must be between 0 and 1, got {fraction}")
    held = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        held[rows[: min(max(1, round(fraction * len(rows))), len(rows) - 1)]] = True
    return held


def knn_correct(
    train: NDArray[Any],
    train_labels: Labels,
    test: NDArray[Any],
    test_labels: Labels,
    k: int = 20,
    temperature: float | None = 0.07,
) -> Flags:
    """Which test rows the k nearest training rows by cosine name rightly.

    A neighbour's vote weighs exp(cosine / 0.07) as in DINO (Caron et al. 2021); ``temperature``
    None counts heads. Equal neighbours: the earlier row; equal votes: the smaller label.
    """
    gallery, queries = _units(train=(train, train_labels), test=(test, test_labels))
    if not 1 <= k <= len(gallery):
        raise DataError(f"k = {k} neighbours asked of {len(gallery)} training rows: lower k")
    classes, codes = np.unique(train_labels, return_inverse=True)
    named = np.empty(len(queries), np.intp)
    for rows in _blocks(len(queries), len(gallery) + len(classes)):
        similarity = _cosines(queries[rows], gallery)
        near = _nearest(similarity, k)
        cosine = np.take_along_axis(similarity, near, axis=1)
        weight = np.ones_like(cosine) if temperature is None else np.exp(cosine / temperature)
        cell = np.arange(len(near))[:, None] * len(classes) + codes[near]
        votes = np.bincount(cell.ravel(), weight.ravel(), len(near) * len(classes))
        named[rows] = votes.reshape(len(near), -1).argmax(axis=1)
    return np.asarray(classes[named] == test_labels)


def _nearest(similarity: Matrix, k: int) -> NDArray[np.intp]:
    """Columns of the k largest entries of each row; of equal ones the leftmost."""
    kth = -np.partition(-similarity, k - 1, axis=1)[:, k - 1 : k]
    above, level = similarity > kth, similarity == kth
    room = k - above.sum(axis=1, keepdims=True)
    chosen = above | (level & (np.cumsum(level, axis=1) <= room))
    return np.nonzero(chosen)[1].reshape(len(similarity), k)


def probe_correct(
    train: NDArray[Any],
    train_labels: Labels,
    test: NDArray[Any],
    test_labels: Labels,
    *,
    rng: np.random.Generator,
    alphas: tuple[float, ...] = ALPHAS,
    validation: float = 0.2,
) -> Flags:
    """Which test rows a linear probe names rightly: ridge, one against the rest (P8's form).

    ``alphas`` are in units of the mean variance per direction; the best on a held-out share of
    the *training* rows is taken (of equal ones the largest), then the probe is fitted on all.
    """
    x, z = _units(train=(train, train_labels), test=(test, test_labels))
    held = hold_out(train_labels, validation, rng)
    if not held.any():
        raise DataError("every class has one training row: a probe needs two, add rows")
    named = _ridge_labels(x[~held], train_labels[~held], x[held], alphas)
    right = (named == train_labels[held]).sum(axis=1)
    alpha = max(a for a, hits in zip(alphas, right, strict=True) if hits == right.max())
    return np.asarray(_ridge_labels(x, train_labels, z, (alpha,))[0] == test_labels)


def _ridge_labels(x: Matrix, y: Labels, z: Matrix, alphas: tuple[float, ...]) -> Labels:
    """Labels of ``z`` for every alpha, from one eigendecomposition of the smaller Gram matrix.

    W = V (L + a)^-1 V'S with X'X = V L V' and S the centred class sums: no one-hot matrix (P2).
    """
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    centre = x.mean(axis=0)
    x = x - centre
    sums = np.add.reduceat(x[np.argsort(codes, kind="stable")], np.cumsum(counts) - counts)
    primal = len(x) >= x.shape[1]
    values, vectors = np.linalg.eigh(x.T @ x if primal else x @ x.T)
    kept = values > max(x.shape) * np.finfo(np.float64).eps * max(values[-1], 0.0)  # else noise
    values, vectors = values[kept], vectors[:, kept]
    basis = vectors if primal else x.T @ vectors / np.sqrt(values)
    probe, target = (z - centre) @ basis, basis.T @ sums.T
    unit = values.sum() / x.shape[1]
    scores = (probe @ (target / (values + a * unit)[:, None]) for a in alphas)
    return np.stack([classes[(s + counts / len(x)).argmax(axis=1)] for s in scores])


def copy_ranks(
    gallery: NDArray[Any], gallery_ids: Labels, queries: NDArray[Any], query_ids: Labels
) -> NDArray[np.int64]:
    """Rank, from 1, of each query's own original by cosine; exact, blocked.

    Another original that scores the same comes first: an embedding in which everything is equal
    finds nothing. Of several gallery rows of one original the best counts.
    """
    shelf, asked = _units(gallery=(gallery, gallery_ids), queries=(queries, query_ids))
    missing = np.setdiff1d(query_ids, gallery_ids)
    if len(missing):
        raise DataError(f"original {missing[0]} has copies but no row in the gallery: add it")
    ranks = np.empty(len(asked), np.int64)
    for rows in _blocks(len(asked), len(shelf)):
        similarity = _cosines(asked[rows], shelf)
        own = query_ids[rows, None] == gallery_ids[None, :]
        best = np.where(own, similarity, -np.inf).max(axis=1, keepdims=True)
        ranks[rows] = 1 + ((similarity >= best) & ~own).sum(axis=1)
    return ranks


def recall_at(ranks: NDArray[np.integer[Any]], k: int) -> float:
    """Share of queries whose original is among the first k."""
    return float(np.mean(ranks <= k))


def share(
    raw_correct: Flags,
    protected_correct: Flags,
    rng: np.random.Generator,
    clusters: Labels | None = None,
    bootstrap: int = 2000,
    level: float = 0.95,
) -> tuple[Estimate, Estimate, Estimate]:
    """Rate with raw vectors, with protected vectors, and protected / raw, paired.

    Percentile bootstrap over clusters (items if none). Where resampling sees no spread (all
    right, all wrong, no item answered differently) Wilson's bound takes over: [1, 1] would be
    false certainty (P14). A raw rate that resampling cannot tell from 0 has no share.
    """
    table, counts = _cluster_table(raw_correct, protected_correct, clusters)
    units, kind = int(counts.sum()), "items" if clusters is None else "clusters"
    items, hits, kept_hits = (rng.multinomial(units, counts / units, bootstrap) @ table).T
    tail = (1 - level) / 2

    def estimate(value: float, draws: Matrix, low: float, high: float) -> Estimate:
        method = f"no spread: Wilson bound over {kind}"
        if np.ptp(draws) > 1e-12:
            method = f"bootstrap over {kind}"
            low, high = (float(q) for q in np.quantile(draws, [tail, 1 - tail]))
        low, high = min(low, value), max(high, value)
        return Estimate(value, low, high, len(raw_correct), units, method, level)

    before, after = float(np.mean(raw_correct)), float(np.mean(protected_correct))
    raw = estimate(before, hits / items, *_wilson(before, units, level))
    kept = estimate(after, kept_hits / items, *_wilson(after, units, level))
    if np.mean(hits == 0) > tail:
        why = "insufficient data: the raw rate cannot be told from 0"
        return raw, kept, Estimate(None, None, None, len(raw_correct), units, why, level)
    some = hits > 0
    ratio, slack = after / before, _wilson(0.0, units, level)[1] / before
    draws = kept_hits[some] / hits[some]
    return raw, kept, estimate(ratio, draws, max(0.0, ratio - slack), ratio + slack)


def _cluster_table(
    raw: Flags, kept: Flags, clusters: Labels | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct (items, raw right, protected right) of a cluster, and how many clusters have it:
    resampling clusters is a multinomial draw over these few rows."""
    own = np.arange(len(raw)) if clusters is None else clusters
    if not len(raw) == len(kept) == len(own) or not len(raw):
        raise DataError(f"{len(raw)} raw, {len(kept)} protected, {len(own)} clusters do not pair")
    own = np.unique(own, return_inverse=True)[1]
    columns = [np.bincount(own, weight) for weight in (np.ones(len(raw)), raw, kept)]
    table, counts = np.unique(np.stack(columns, 1).astype(np.int64), axis=0, return_counts=True)
    return table, counts


def _wilson(rate: float, n: int, level: float) -> tuple[float, float]:
    """Wilson's score interval (1927): sane at 0 and 1, where it is about [0, 3.8 / n]."""
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def _units(**sides: tuple[NDArray[Any], Labels]) -> list[Matrix]:
    """Unit rows in float64 (P1); refuses what has no direction."""
    units = []
    for name, (x, labels) in sides.items():
        if x.ndim != 2 or len(x) != len(labels) or not len(x):
            raise DataError(f"{name}: {len(labels)} labels for an array of shape {x.shape}")
        norms = np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
        bad = np.flatnonzero(~((norms > 0) & (norms < np.inf)))
        if len(bad):
            raise DataError(f"{name}: row {bad[0]} is zero or not finite: remove it")
        units.append(x / norms)
    if units[0].shape[1] != units[1].shape[1]:
        raise DataError(f"{' and '.join(sides)} have different dimensions")
    return units


def _cosines(a: Matrix, b: Matrix) -> Matrix:
    # Below the twelfth decimal the order would be decided by how the product is blocked.
    return np.asarray(np.round(a @ b.T, 12))


def _blocks(rows: int, width: int) -> Iterator[slice]:
    """Slices of so many rows that a block of this width stays near 32 MB."""
    step = max(1, (1 << 22) // width)
    return (slice(start, start + step) for start in range(0, rows, step))
