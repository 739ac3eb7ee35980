"""Open-set verification: is this a pair of one person? Threshold from calibration people (P12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.judge import area
from efface.judge.trials import Calibration, Evidence, Trials
from efface.measure import intervals, pairs, rates, score_grid
from efface.measure.tails import allowed
from efface.registry import register
from efface.results import Card, Counts, Curve, Estimate

__all__ = ["Calibration", "Evidence", "Trials", "Verification"]

_METHOD = "bootstrap over people, {:,} resamples; calibration people and threshold resampled too"


@register(
    Card(
        role="judge",
        name="verification",
        summary="Exact open-set verification at a low false-accept rate: all pairs, by person.",
        accepts="comparison vectors",
        yields="TAR, FAR, EER, partial AUC, curve",
        paper="From Measurement to Mitigation (CVPR 2026), section 3.1 and appendix A",
    )
)
@dataclass(frozen=True)
class Verification:
    """Sets the threshold on calibration people, then counts on test people."""

    far: float = 1e-3
    bootstrap: int = 2000
    level: float = 0.95
    seed: int = 0

    def calibrate(self, trials: Trials, *, draws: bool = True) -> Calibration:
        """The smallest threshold with at most floor(FAR x N) calibration impostors above it."""
        total, people = trials.impostor_count(), len(trials.sizes)
        k = allowed(self.far, total)
        if k < 1:
            return Calibration(self.far, None, k, 0, total, people, np.empty(0, np.float32))
        # A heavy resample reaches further down the tail than the threshold itself.
        keep = min(total, 4 * k + 256 if draws else k + 1)
        tail = trials.impostors(keep, None, self._rng("calibration quota")).tail
        scores, labels = tail.result() if tail is not None else _nothing()
        ladder = self._ladder(scores, labels, k, trials) if draws else np.empty(0, np.float32)
        threshold = scores[k] + trials.slack
        accepted = int(np.count_nonzero(scores > threshold))
        return Calibration(self.far, float(threshold), k, accepted, total, people, ladder)

    def examine(
        self, trials: Trials, calibration: Calibration, repeat: int = 0, *, fallback: bool = True
    ) -> Evidence:
        """Count mated accepts per person and impostor accepts per two people; with ``fallback``
        keep what the partial AUC needs."""
        tau = np.float32(np.inf if calibration.threshold is None else calibration.threshold)
        keep = area.tail_length(trials.impostor_count()) if fallback else 0
        impostor = trials.impostors(keep, float(tau), self._rng(f"test quota {repeat}"))
        strip = area.strip_of(impostor, trials.slack)
        taus = np.concatenate([strip.above, calibration.ladder, [tau]]).astype(np.float32)
        steps, place = np.unique(taus, return_inverse=True)
        mated = pairs.mated_scores(trials.claim.vectors, trials.person, steps)
        below, ladder, at = np.split(mated.accepted[:, place], [len(strip.above), -1], axis=1)
        return Evidence(
            mated.pairs,
            at[:, 0],
            ladder,
            impostor.total,
            impostor.confusions,
            mated.histogram,
            impostor.histogram,
            (area.Area(trials.crowd, strip, below, mated.pairs),) if fallback else (),
        )

    def merit(self, trials: Trials) -> tuple[float, float]:
        """How good an attack is on calibration people: TAR at the target FAR, then partial AUC.

        Where FAR x N < 1 the partial AUC decides alone (A.4), however few impostors it has.
        """
        found = self.examine(trials, self.calibrate(trials, draws=False), fallback=False)
        _, _, under = self.curve(found)
        return float(found.accepted.sum() / max(found.mated.sum(), 1)), under or 0.0

    def tar(self, calibration: Calibration, evidence: Evidence, tails: int = 1) -> Estimate:
        """TAR at the calibrated threshold; test and calibration people resampled (P14)."""
        mated, people = int(evidence.mated.sum()), int(np.count_nonzero(evidence.mated))
        if calibration.threshold is None:
            return intervals.unknown(_too_few(calibration), mated, people, self.level)
        if mated == 0:
            return intervals.unknown("no mated test pair", mated, people, self.level)
        count = calibration.ladder.size
        weights = intervals.draw(len(evidence.mated), count, self._rng("test"))
        draws = intervals.rate_draws(evidence.accepted_ladder, evidence.mated, weights)
        value = float(evidence.accepted.sum() / mated)
        reach = intervals.reach(evidence.accepted, evidence.mated)
        return intervals.interval(
            value, draws, reach=reach, n=mated, clusters=people, method=_METHOD.format(count),
            level=self.level, tails=tails,
        )  # fmt: skip

    def far_achieved(
        self, calibration: Calibration, evidence: Evidence, trials: Trials
    ) -> Estimate:
        """FAR that the frozen threshold reaches on test impostors."""
        people = len(evidence.mated)
        if calibration.threshold is None or not evidence.impostors:
            why = "no impostor test pair" if not evidence.impostors else _too_few(calibration)
            return intervals.unknown(why, evidence.impostors, people, self.level)
        found = evidence.confusions
        value = float(found.count.sum() / evidence.impostors)
        count = calibration.ladder.size
        weights = intervals.draw(people, count, self._rng("test"))
        repeats = evidence.impostors / trials.impostor_count()
        totals = trials.impostor_totals(weights) * repeats
        draws = intervals.confusion_draws(found.left, found.right, found.count, weights, totals)
        accepted = int(found.count.sum())
        shrink = _shrink(trials, found.left, found.right, found.count, accepted)
        # Where a resample may well hold no accept at all, shrinking must not deny it.
        draws = np.where(draws > 0, value + shrink * (draws - value), draws)
        reach = trials.crowd.reach(found.left, found.right, found.count, repeats)
        return intervals.interval(
            value, draws, reach=reach, n=evidence.impostors, clusters=people,
            method=f"bootstrap over people, {count:,} resamples", level=self.level,
        )  # fmt: skip

    def control(self, calibration: Trials, test: Trials) -> Estimate:
        """The same game with shuffled labels: the scores stay, the truth is gone, so TAR must
        come out near the target FAR."""
        known = _shuffled(calibration, self._rng("shuffle calibration"))
        frozen = self.calibrate(known, draws=False)
        unknown = _shuffled(test, self._rng("shuffle test"))
        if frozen.threshold is None:
            return intervals.unknown(_too_few(frozen), 0, len(unknown.sizes), self.level)
        mated = pairs.mated_scores(
            unknown.claim.vectors, unknown.person, np.array([frozen.threshold])
        )
        n, people = int(mated.pairs.sum()), int(np.count_nonzero(mated.pairs))
        if n == 0:
            return intervals.unknown("no mated test pair", n, people, self.level)
        count = intervals.resamples(self.bootstrap, 1, len(mated.pairs))
        weights = intervals.draw(len(mated.pairs), count, self._rng("test"))
        draws = intervals.rate_draws(mated.accepted[:, 0], mated.pairs, weights)
        value = float(mated.accepted.sum() / n)
        return intervals.interval(
            value, draws, reach=intervals.reach(mated.accepted[:, 0], mated.pairs),
            n=n, clusters=people, level=self.level,
            method=f"labels shuffled; bootstrap over people, {count:,} resamples",
        )  # fmt: skip

    def curve(self, evidence: Evidence) -> tuple[Curve, float | None, float | None]:
        """TAR on the fixed FAR grid, EER and partial AUC, all from test pairs; None without.

        The area is read from the grid and serves to choose; ``pauc`` is the one to report.
        """
        targets = [float(f) for f in rates.FAR_GRID]
        if not evidence.mated.sum() or not evidence.impostors:
            return Curve(targets, [None] * len(targets)), None, None
        far, tar = rates.operating_curve(
            score_grid.at_least(evidence.mated_histogram),
            score_grid.at_least(evidence.impostor_histogram),
        )
        measurable = rates.FAR_GRID * evidence.impostors >= 1 - 1e-9
        at = rates.tar_at(far, tar, rates.FAR_GRID)
        values = [float(t) if ok else None for t, ok in zip(at, measurable, strict=True)]
        return (
            Curve(targets, values),
            rates.equal_error_rate(far, tar),
            rates.partial_auc(far, tar, area.LIMIT),
        )

    def pauc(self, found: Evidence | Trials, _grid: float | None = None) -> Estimate:
        """Partial AUC over FAR in [0, 1e-3]: the fallback where FAR x N < 1.

        Trials are examined here; evidence may be pooled over resamples of the query images.
        """
        if isinstance(found, Trials):
            nowhere = Calibration(self.far, None, 0, 0, 0, 0, np.empty(0, np.float32))
            found = self.examine(found, nowhere)
        return area.estimate(found.areas, self._rng("test"), self.bootstrap, self.level)

    def counts(self, calibration: Calibration, evidence: Evidence) -> Counts:
        return Counts(
            mated=int(evidence.mated.sum()),
            mated_accepted=int(evidence.accepted.sum()),
            impostor=evidence.impostors,
            impostor_accepted=int(evidence.confusions.count.sum()),
            calibration_impostor=calibration.impostors,
            calibration_allowed=calibration.allowed,
            calibration_accepted=calibration.accepted,
        )

    def _ladder(
        self, scores: NDArray[Any], labels: NDArray[Any], k: int, trials: Trials
    ) -> NDArray[np.float32]:
        people = len(trials.sizes)
        count = intervals.resamples(self.bootstrap, len(scores), people)
        weights = intervals.draw(people, count, self._rng("calibration"))
        totals = trials.impostor_totals(weights)
        shrink = _shrink(trials, labels[:k, 0], labels[:k, 1], np.ones(k), k)
        found = intervals.resampled_thresholds(
            scores, labels, weights, totals, self.far, k=k, shrink=shrink
        )
        return found + trials.slack

    def _rng(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose.encode()])


def _shrink(
    trials: Trials, left: NDArray[Any], right: NDArray[Any], count: NDArray[Any], accepted: int
) -> float:
    """How far the resampled accepts of these trials exaggerate: see intervals.pair_shrink."""
    pairs_of = trials.impostors_of_each()
    return intervals.pair_shrink(left, right, count, accepted * pairs_of / (pairs_of.sum() / 2))


def _shuffled(trials: Trials, rng: np.random.Generator) -> Trials:
    return Trials(trials.claim, rng.permutation(trials.person), trials.quota)


def _nothing() -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    raise DataError("no impostor pair was scored")


def _too_few(calibration: Calibration) -> str:
    need = int(np.ceil(1 / calibration.far))
    return (
        f"FAR {calibration.far:g} needs at least {need:,} impostor pairs among calibration "
        f"people, there are {calibration.impostors:,}"
    )
