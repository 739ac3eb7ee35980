"""The largest scores of a stream, exactly, in bounded memory, mergeable in any order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError

_SLAB = 1 << 16


def allowed(far: float, n: int) -> int:
    """floor(FAR x N): how many of n impostors a threshold at this FAR may accept (P12).

    Taken on the decimal that was written, so that 0.001 of 1,000,000 is 1,000 and not 999.
    """
    if not 0 < far < 1:
        raise DataError(f"a FAR target lies between 0 and 1, not at {far}")
    return int(Fraction(repr(float(far))) * n)


def allowed_each(far: float, totals: NDArray[Any]) -> NDArray[np.int64]:
    """``allowed`` for many totals, each a whole number."""
    allowed(far, 0)  # refuses what is no rate
    counts, back = np.unique(totals, return_inverse=True)
    ratio = Fraction(repr(float(far)))
    if ratio.numerator * float(counts.max(initial=0)) < 2**62 and ratio.denominator < 2**62:
        each = counts.astype(np.int64) * ratio.numerator // ratio.denominator
    else:
        each = np.array([allowed(far, int(n)) for n in counts], np.int64)
    return np.asarray(each[back])


class Tail:
    """Keeps the ``keep`` largest scores seen, in ``dtype``, with two integer labels each if given.

    Among equal scores at the cut the smallest labels stay, so the content does not depend on
    the order of arrival. ``floor`` is for who knows already that scores below it cannot stay.
    """

    def __init__(
        self,
        keep: int,
        labelled: bool = False,
        dtype: type = np.float32,
        floor: float = -np.inf,
    ) -> None:
        if keep < 1:
            raise DataError(f"a tail keeps at least one score, not {keep}")
        self.keep = keep
        self.labelled = labelled
        self.seen = 0
        self.dtype = np.dtype(dtype)
        self._floor = self.dtype.type(floor)
        self._scores: list[NDArray[Any]] = []
        self._labels: list[NDArray[np.int32]] = []
        self._held = 0

    def update(self, scores: NDArray[Any], labels: NDArray[np.int32] | None = None) -> None:
        """Take in scores; ``labels`` is (n, 2), needed if the tail is labelled."""
        self.seen += len(scores)
        for start in range(0, len(scores), _SLAB):
            slab = scores[start : start + _SLAB]
            best = slab.max()  # NaN if there is one
            if best < self._floor:
                continue
            if np.isnan(best):
                row = start + int(np.flatnonzero(np.isnan(slab))[0])
                raise DataError(f"score {row} is not a number: remove it or mend the vectors")
            # An equal score matters only for which labels stay, never for the threshold.
            hits = np.flatnonzero(slab >= self._floor if self.labelled else slab > self._floor)
            if hits.size:
                chosen = None if labels is None else labels[start + hits]
                self.add(slab[hits], chosen)

    @property
    def floor(self) -> float:
        """Scores below this cannot enter any more."""
        return float(self._floor)

    def merge(self, other: Tail) -> Tail:
        """Take in what another tail kept of its own part of the stream."""
        kinds = [(t.keep, t.labelled, t.dtype) for t in (self, other)]
        if kinds[0] != kinds[1]:
            raise DataError("tails of different size or kind cannot be merged")
        self.seen += other.seen
        for scores, labels in zip(other._scores, other._labels, strict=True):
            self.add(scores, labels if self.labelled else None)
        return self

    def settle(self) -> Self:
        """Let go of all that cannot stay: before it travels, and for the best ``floor``."""
        self._shrink()
        return self

    def result(self) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Kept scores, descending, and their labels (empty if unlabelled)."""
        self._shrink()
        scores, labels = self._joined()
        if not self.labelled:
            return np.sort(scores)[::-1], labels
        order = np.lexsort((labels[:, 1], labels[:, 0], -scores))
        return scores[order], labels[order]

    def add(self, scores: NDArray[Any], labels: NDArray[np.int32] | None) -> None:
        """Take scores at or above ``floor``; whoever calls this counts ``seen`` itself."""
        if self.labelled and labels is None:
            raise DataError("a labelled tail needs a pair of labels for every score")
        self._scores.append(np.asarray(scores, dtype=self.dtype))
        self._labels.append(
            np.empty((0, 2), np.int32) if labels is None else np.asarray(labels, np.int32)
        )
        self._held += len(scores)
        if self._held > 2 * self.keep + _SLAB:
            self._shrink()

    def _shrink(self) -> None:
        if self._held <= self.keep:
            return
        scores, labels = self._joined()
        cut = np.partition(scores, len(scores) - self.keep)[len(scores) - self.keep]
        above = scores > cut
        ties = np.flatnonzero(scores == cut)
        if self.labelled:
            ties = ties[np.lexsort((labels[ties, 1], labels[ties, 0]))]
        kept = np.concatenate([np.flatnonzero(above), ties[: self.keep - int(above.sum())]])
        self._scores = [scores[kept]]
        self._labels = [labels[kept] if self.labelled else labels]
        self._held = len(kept)
        self._floor = cut

    def _joined(self) -> tuple[NDArray[Any], NDArray[np.int32]]:
        if not self._scores:
            return np.empty(0, self.dtype), np.empty((0, 2), np.int32)
        return np.concatenate(self._scores), np.concatenate(self._labels)


def threshold(impostors: NDArray[Any], far: float) -> tuple[float | None, int]:
    """The smallest tau for which at most floor(FAR x N) impostors score > tau, and that count.

    None if FAR x N < 1: these data cannot measure that operating point (P13).
    """
    k = allowed(far, len(impostors))
    if k < 1:
        return None, k
    # Rounded to float32, a float64 threshold could sink below scores it has to refuse.
    single = np.result_type(impostors, np.float32) == np.float32
    tail = Tail(k + 1, dtype=np.float32 if single else np.float64)
    tail.update(np.ravel(impostors))
    scores, _ = tail.result()
    # Scores of minus infinity never enter a tail: if it is short, they begin where it ends.
    return (float(scores[k]) if k < len(scores) else -np.inf), k
