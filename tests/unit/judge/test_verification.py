"""The judge: threshold from calibration people alone, honest counts, honest refusals."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from efface.judge.verification import Calibration, Evidence, Trials, Verification
from efface.measure import quotas, rates
from efface.measure.tails import allowed
from efface.types import Claim

JUDGE = Verification(far=1e-2, bootstrap=400)


def crowd(
    people: int, images: int, *, strength: float = 1.0, seed: int = 0, quota: int | None = None
) -> Trials:
    """A claim that leaks: people on Gaussian centres."""
    rng = np.random.default_rng(seed)
    who = rng.permutation(np.repeat(np.arange(people), images))
    vectors = strength * rng.standard_normal((people, 24))[who] + rng.standard_normal(
        (len(who), 24)
    )
    return Trials(claim(vectors), who, quota)


def claim(vectors: NDArray[np.float64]) -> Claim:
    return Claim((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32))


def scored(trials: Trials) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(mated, impostor) scores from the whole matrix."""
    v = trials.claim.vectors
    upper = np.triu_indices(len(v), 1)
    score, same = (v @ v.T)[upper], trials.person[upper[0]] == trials.person[upper[1]]
    return score[same], score[~same]


# --- calibration ----------------------------------------------------------------------------


def test_threshold_is_the_order_statistic_of_calibration_impostors() -> None:
    known = crowd(30, 4)
    _, impostor = scored(known)
    frozen = JUDGE.calibrate(known)
    k = allowed(0.01, len(impostor))
    assert frozen.impostors == len(impostor) == known.impostor_count()
    assert (frozen.allowed, frozen.people) == (k, 30)
    assert frozen.threshold == pytest.approx(np.sort(impostor)[::-1][k], abs=1e-6)
    assert 0 < frozen.accepted <= k
    assert frozen.ladder.shape == (400,)
    assert frozen.ladder.min() < frozen.threshold < frozen.ladder.max()


def test_test_people_never_touch_the_threshold() -> None:
    known = crowd(30, 4)
    frozen = JUDGE.calibrate(known)
    before = [np.copy(getattr(frozen, f.name)) for f in fields(frozen)]
    found = [JUDGE.examine(crowd(20, 3, strength=s, seed=9), frozen) for s in (0.1, 1.0, 5.0)]
    after = JUDGE.calibrate(known)
    for f, old in zip(fields(frozen), before, strict=True):
        assert np.array_equal(getattr(frozen, f.name), old)
        assert np.array_equal(getattr(after, f.name), old)
    tars = [float(JUDGE.tar(frozen, e).value or 0) for e in found]
    assert tars[0] < 0.2 < tars[1] < tars[2]  # the data were not the same


def test_all_scores_equal_accepts_nobody() -> None:
    known = Trials(claim(np.ones((40, 300))), np.repeat(np.arange(8), 5))
    for trials in (known, replace(known, quota=3)):
        frozen = JUDGE.calibrate(trials)
        found = JUDGE.examine(trials, frozen)
        assert (frozen.accepted, int(found.accepted.sum())) == (0, 0)
        assert not found.accepted_ladder.any()
        assert found.confusions.count.sum() == 0
        curve, eer, pauc = JUDGE.curve(found)
        assert eer == pytest.approx(0.5)
        assert pauc == pytest.approx(5e-4)
        assert curve.tar[-2] == 0


@pytest.mark.parametrize("dim", [3, 33, 128, 300, 500])
def test_people_who_share_vectors_are_not_told_apart_by_rounding(dim: int) -> None:
    """Groups of ten people on one vector, as k-same protections make them."""
    rng = np.random.default_rng(dim)
    who = np.repeat(np.arange(60), 3)
    trials = Trials(claim(rng.standard_normal((6, dim))[who // 10]), who)
    for known in (trials, replace(trials, quota=2)):
        frozen = JUDGE.calibrate(known)
        assert JUDGE.tar(frozen, JUDGE.examine(known, frozen)).value == 0


# --- counts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [1e-3, 1e-2, 0.1])
def test_counts_are_those_of_the_score_matrix(far: float) -> None:
    judge = Verification(far, bootstrap=50)
    known, test = crowd(40, 5), crowd(25, 4, seed=5)
    frozen = judge.calibrate(known)
    found = judge.examine(test, frozen)
    mated, impostor = scored(test)
    counts = judge.counts(frozen, found)
    tau = (frozen.threshold or 0) + float(test.slack)
    assert (counts.mated, counts.impostor) == (len(mated), len(impostor))
    assert counts.mated_accepted == np.count_nonzero(mated > tau)
    assert counts.impostor_accepted == np.count_nonzero(impostor > tau)
    assert counts.calibration_accepted <= counts.calibration_allowed
    assert counts.calibration_allowed == allowed(far, counts.calibration_impostor)
    achieved = judge.far_achieved(frozen, found, test)
    assert achieved.value == counts.impostor_accepted / counts.impostor
    assert far / 3 < achieved.value < 3 * far  # the same world: the target is within reach
    assert achieved.low is not None
    assert achieved.high is not None
    assert achieved.low < achieved.value < achieved.high
    assert judge.tar(frozen, found).value == counts.mated_accepted / counts.mated


def test_the_ladder_is_counted_threshold_by_threshold() -> None:
    known, test = crowd(30, 4), crowd(12, 3, seed=4)
    frozen = JUDGE.calibrate(known)
    found = JUDGE.examine(test, frozen)
    v = test.claim.vectors
    for person in (0, 5, 11):
        own = v[test.person == person]
        score = (own @ own.T)[np.triu_indices(len(own), 1)]
        expected = (score[:, None] > frozen.ladder + test.slack).sum(axis=0)
        assert np.array_equal(found.accepted_ladder[person], expected)


def test_no_false_accept_is_no_proof_of_none() -> None:
    known = crowd(30, 4, strength=3)
    test = crowd(20, 4, strength=3, seed=3)
    for tau in (1.5, None):
        frozen = replace(JUDGE.calibrate(known), threshold=tau or np.sort(scored(test)[1])[-2])
        found = JUDGE.far_achieved(frozen, JUDGE.examine(test, frozen), test)
        assert found.value == (0 if tau else 1 / found.n)
        assert found.low == 0
        # One accept must not look safer than none: both carry the bound by pairs of people.
        assert found.high == pytest.approx(1 - 0.025 ** (1 / 190))


def test_resampled_queries_add_up() -> None:
    known, one, two = crowd(30, 4), crowd(20, 3, seed=1), crowd(20, 3, seed=2)
    frozen = JUDGE.calibrate(known)
    first, second = JUDGE.examine(one, frozen), JUDGE.examine(two, frozen, 1)
    both = first + second
    for name in ("mated", "accepted", "accepted_ladder", "mated_histogram", "impostor_histogram"):
        total = getattr(first, name) + getattr(second, name)
        assert np.array_equal(getattr(both, name), total)
    parts = [JUDGE.tar(frozen, e).value for e in (first, second)]
    assert JUDGE.tar(frozen, both).value == pytest.approx(
        np.mean([p for p in parts if p is not None])
    )
    far = JUDGE.far_achieved(frozen, both, one)
    halves = [JUDGE.far_achieved(frozen, e, one).value or 0 for e in (first, second)]
    assert far.value == pytest.approx(np.mean(halves))
    assert far.n == 2 * one.impostor_count()
    # Twice the same images: nothing was learnt about other people.
    twice = JUDGE.far_achieved(frozen, first + first, one)
    once = JUDGE.far_achieved(frozen, first, one)
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high))


def test_one_seed_one_answer() -> None:
    known, test = crowd(30, 4), crowd(20, 4, seed=1)
    answers = []
    for seed in (0, 0, 1):
        judge = Verification(1e-2, bootstrap=100, seed=seed)
        frozen = judge.calibrate(known)
        answers.append(judge.tar(frozen, judge.examine(test, frozen)))
    assert answers[0] == answers[1]
    assert answers[0].value == answers[2].value
    assert answers[0].low != answers[2].low


# --- control --------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [1e-2, 0.1])
def test_shuffled_labels_leave_chance(far: float) -> None:
    judge = Verification(far, bootstrap=400)
    known, test = crowd(60, 6, strength=3), crowd(60, 6, strength=3, seed=1)
    frozen = judge.calibrate(known)
    assert (judge.tar(frozen, judge.examine(test, frozen)).value or 0) > 0.9
    control = judge.control(known, test)
    assert control.value is not None
    assert control.low is not None
    assert control.high is not None
    assert control.low <= far <= control.high
    assert control.value < 3 * far


def test_the_control_arm_keeps_to_the_work_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 resamples of 100,000 people would be 3 GB of weights."""
    monkeypatch.setattr("efface.measure.intervals._WORK", 250 * 10 * 60)
    control = Verification(0.1, bootstrap=2000).control(crowd(60, 4), crowd(60, 4, seed=1))
    assert control.method == "labels shuffled; bootstrap over people, 250 resamples"


# --- where data are too few -----------------------------------------------------------------


def test_too_few_impostors_is_said_and_not_guessed() -> None:
    judge = Verification(1e-4, bootstrap=100)
    known, test = crowd(10, 4), crowd(12, 4, seed=1)
    assert known.impostor_count() == 720
    frozen = judge.calibrate(known)
    assert (frozen.threshold, frozen.allowed, len(frozen.ladder)) == (None, 0, 0)
    found = judge.examine(test, frozen)
    assert found.accepted.sum() == found.confusions.count.sum() == 0
    for estimate in (
        judge.tar(frozen, found),
        judge.far_achieved(frozen, found, test),
        judge.control(known, test),
    ):
        assert (estimate.value, estimate.low, estimate.high) == (None, None, None)
        assert "needs at least 10,000 impostor pairs" in estimate.method
        assert "there are 720" in estimate.method
    # One in N is the last point that can be measured.
    assert Verification(1 / 720, bootstrap=10).calibrate(known).threshold is not None
    assert Verification(1 / 721, bootstrap=10).calibrate(known).threshold is None


def test_partial_area_stands_in_where_the_point_cannot_be_measured() -> None:
    judge = Verification(1e-5, bootstrap=300)
    test = crowd(40, 4, seed=1)
    found = judge.examine(test, judge.calibrate(crowd(10, 4)))
    _, _, area = judge.curve(found)
    pauc = judge.pauc(test, area)
    mated, impostor = scored(test)
    best = np.sort(impostor)[::-1]
    budget = 1e-3 * len(impostor)
    steps = [(mated > s).mean() for s in best[: int(np.ceil(budget))]]
    by_hand = np.minimum(budget - np.arange(len(steps)), 1) @ steps / budget
    assert pauc.value == area == pytest.approx(by_hand, abs=0.02)
    assert pauc.low is not None
    assert pauc.high is not None
    assert pauc.low < by_hand < pauc.high
    weak = judge.examine(crowd(40, 4, strength=0.3, seed=1), judge.calibrate(crowd(10, 4)))
    assert (judge.curve(weak)[2] or 0) < by_hand / 2


def test_partial_area_of_many_pairs_needs_no_table_of_all() -> None:
    judge = Verification(1e-2, bootstrap=20)
    test = crowd(150, 8)
    area = judge.curve(judge.examine(test, judge.calibrate(test, draws=False)))[2]
    found = judge.pauc(test, area)
    assert found.n == 150 * 28
    assert found.low is not None
    assert found.high is not None
    assert found.low < (area or 0) < found.high
    assert found.high - found.low < 0.2


def test_without_a_mated_pair_there_is_no_tar() -> None:
    rng = np.random.default_rng(0)
    alone = Trials(claim(rng.standard_normal((30, 8))), np.arange(30))
    frozen = JUDGE.calibrate(crowd(30, 4))
    found = JUDGE.examine(alone, frozen)
    assert JUDGE.tar(frozen, found).method == "no mated test pair"
    assert JUDGE.control(crowd(30, 4), alone).method == "no mated test pair"
    assert JUDGE.far_achieved(frozen, found, alone).value is not None
    curve, eer, pauc = JUDGE.curve(found)
    assert (eer, pauc) == (None, None)
    assert set(curve.tar) == {None}
    assert JUDGE.pauc(alone, pauc).value is None
    assert JUDGE.merit(alone) == (0.0, 0.0)


def test_without_an_impostor_there_is_no_far() -> None:
    rng = np.random.default_rng(0)
    single = Trials(claim(rng.standard_normal((5, 8))), np.zeros(5, np.int64))
    frozen = JUDGE.calibrate(crowd(30, 4))
    found = JUDGE.examine(single, frozen)
    assert JUDGE.far_achieved(frozen, found, single).method == "no impostor test pair"
    assert JUDGE.curve(found)[1:] == (None, None)
    assert JUDGE.calibrate(single).threshold is None


def test_points_of_the_curve_below_one_in_n_stay_empty() -> None:
    test = crowd(20, 4)
    found = JUDGE.examine(test, JUDGE.calibrate(test))
    curve, eer, _ = JUDGE.curve(found)
    for far, tar in zip(curve.far, curve.tar, strict=True):
        assert (tar is None) == (far * test.impostor_count() < 1 - 1e-9)
    known = [t for t in curve.tar if t is not None]
    assert known == sorted(known)
    assert known[-1] == 1
    assert eer is not None
    assert 0 < eer < 0.5
    assert curve.far == rates.FAR_GRID.tolist()


# --- quota ----------------------------------------------------------------------------------


def test_by_quota_every_two_people_count_alike() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    vectors = rng.standard_normal((12, 24))[who] + rng.standard_normal((len(who), 24))
    trials = Trials(claim(vectors), who, quota=3)
    expected = quotas.quota_counts(trials.sizes, 3)
    assert trials.impostor_count() == expected.sum() // 2
    assert np.array_equal(trials.impostors_of_each(), expected.sum(axis=1))
    judge = Verification(0.05, bootstrap=30)
    frozen = judge.calibrate(trials)
    found = judge.examine(trials, frozen)
    assert frozen.impostors == found.impostors == found.impostor_histogram.sum()
    assert frozen.allowed == allowed(0.05, trials.impostor_count())
    again = judge.examine(trials, frozen)
    other = judge.examine(trials, frozen, repeat=1)
    assert np.array_equal(found.impostor_histogram, again.impostor_histogram)
    assert not np.array_equal(found.impostor_histogram, other.impostor_histogram)
    assert np.array_equal(found.mated_histogram, other.mated_histogram)


@pytest.mark.parametrize("quota", [None, 2, 50])
def test_totals_of_resamples_by_loops(quota: int | None) -> None:
    trials = crowd(7, 3, quota=quota)
    rng = np.random.default_rng(0)
    weights = rng.multinomial(7, np.full(7, 1 / 7), size=5).astype(float)
    per_pair = 9 if quota is None else min(9, quota)
    for w, total in zip(weights, trials.impostor_totals(weights), strict=True):
        assert total == sum(w[i] * w[j] * per_pair for i in range(7) for j in range(i))
    assert trials.impostor_totals(np.ones((1, 7)))[0] == trials.impostor_count()
    assert trials.impostors_of_each().sum() == 2 * trials.impostor_count()


# --- choosing -------------------------------------------------------------------------------


def test_merit_ranks_a_stronger_claim_higher() -> None:
    merits = [JUDGE.merit(crowd(30, 4, strength=s)) for s in (0.2, 0.7, 2.0)]
    assert merits == sorted(merits)
    assert merits[0] < merits[2]


def test_without_draws_a_calibration_has_no_ladder() -> None:
    known = crowd(30, 4)
    quick, full = JUDGE.calibrate(known, draws=False), JUDGE.calibrate(known)
    assert quick.threshold == full.threshold
    assert quick.ladder.size == 0
    found: Evidence = JUDGE.examine(known, quick)
    assert found.accepted_ladder.shape == (30, 0)
    assert isinstance(quick, Calibration)
