"""Rates, EER and partial AUC against slow definitions and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_pairs as slow
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from efface.measure import rates, score_grid
from efface.measure.tails import threshold

Array = NDArray[Any]


@pytest.fixture(params=[0, 1, 2])
def overlapping(request: pytest.FixtureRequest) -> tuple[Array, Array]:
    rng = np.random.default_rng(request.param)
    mated, impostor = rng.normal(0.4, 0.2, 300), rng.normal(0, 0.2, 2000)
    return tuple(  # type: ignore[return-value]
        np.clip(np.round(s * 64) / 64, -1, 1).astype(np.float32) for s in (mated, impostor)
    )


def curve_of(mated: Array, impostor: Array) -> tuple[Array, Array]:
    histograms = [np.zeros(len(score_grid.grid()), np.int64) for _ in range(2)]
    score_grid.count_on_grid(mated, histograms[0])
    score_grid.count_on_grid(impostor, histograms[1])
    return rates.operating_curve(*(score_grid.at_least(h) for h in histograms))


@pytest.mark.parametrize("far", [1e-3, 5e-3, 0.01, 0.1, 0.4])
def test_the_accepted_set_is_that_of_scikit_learn(
    far: float, overlapping: tuple[Array, Array]
) -> None:
    mated, impostor = overlapping
    tau, _ = threshold(impostor, far)
    assert tau is not None
    scores = np.concatenate([mated, impostor])
    truth = np.repeat([1, 0], [len(mated), len(impostor)])
    fpr, _, steps = roc_curve(truth, scores, drop_intermediate=False)
    theirs = scores >= steps[np.flatnonzero(fpr <= far)[-1]]
    # Between the last impostor accepted and tau there may be mated scores that both accept.
    assert np.array_equal(theirs[truth == 0], impostor > np.float32(tau))
    assert np.array_equal(theirs[truth == 1], mated > np.float32(tau))
    assert rates.rate(mated, tau) == theirs[truth == 1].mean()


def test_equal_error_rate_and_partial_area(overlapping: tuple[Array, Array]) -> None:
    mated, impostor = overlapping
    points = slow.roc(mated, impostor)
    far, tar = curve_of(mated, impostor)
    assert rates.equal_error_rate(far, tar) == pytest.approx(slow.crossing(points), abs=1e-12)
    truth = np.repeat([1, 0], [len(mated), len(impostor)])
    for limit in (1e-3, 0.01, 0.05, 0.0105, 0.5):
        area = rates.partial_auc(far, tar, limit) * limit
        assert area == pytest.approx(slow.area_up_to(points, limit), abs=1e-12)
        standard = roc_auc_score(truth, np.concatenate([mated, impostor]), max_fpr=limit)
        least, most = limit**2 / 2, limit
        plain = (2 * standard - 1) * (most - least) + least
        assert area == pytest.approx(plain, abs=1e-12)


def test_tar_is_never_read_above_the_target(overlapping: tuple[Array, Array]) -> None:
    mated, impostor = overlapping
    far, tar = curve_of(mated, impostor)
    points = slow.roc(mated, impostor)
    for target in [*rates.FAR_GRID[30:], 0.0123]:
        expected = max(y for x, y in points if x <= target * (1 + 1e-12))
        assert rates.tar_at(far, tar, np.array([target]))[0] == expected


def test_the_area_stops_at_a_step_that_stands_on_the_limit() -> None:
    # FAR 0, 0.5, 0.5, 1 and TAR 0, 0.2, 0.8, 1: the step at 0.5 has no width.
    far, tar = np.array([0, 0.5, 0.5, 1.0]), np.array([0, 0.2, 0.8, 1.0])
    assert rates.partial_auc(far, tar, 0.5) == pytest.approx(0.1)


@pytest.mark.parametrize("crowding", [1, 30, 300])
def test_curves_of_scores_that_crowd_near_one(crowding: float, rng: np.random.Generator) -> None:
    """An encoder whose vectors share a large mean: all cosines lie within 1e-3 of 1, or 1e-4."""
    mated, impostor = rng.normal(0.6, 0.06, 20_000), rng.normal(1, 0.07, 200_000)
    mated, impostor = (
        (1 - np.clip(away, 0.1, 1.4) ** 2 / crowding).astype(np.float32)
        for away in (mated, impostor)
    )
    far, tar = curve_of(mated, impostor)
    descending = np.sort(impostor)[::-1]
    for target in (1e-4, 1e-3, 1e-2):
        exact = (mated > descending[int(target * len(impostor))]).mean()
        assert rates.tar_at(far, tar, np.array([target]))[0] == pytest.approx(exact, abs=0.01)
    area = rates.partial_auc(far, tar, 1e-3)
    steps = [(mated > s).mean() for s in descending[:200]]
    assert area == pytest.approx(np.mean(steps), abs=0.005)
    at = min(np.unique(impostor), key=lambda t: abs((impostor > t).mean() - (mated <= t).mean()))
    assert rates.equal_error_rate(far, tar) == pytest.approx((impostor > at).mean(), rel=0.01)


def test_perfect_and_hopeless_scores() -> None:
    one, zero = np.ones(5, np.float32), np.zeros(50, np.float32)
    far, tar = curve_of(one, zero)
    assert rates.equal_error_rate(far, tar) == 0
    assert rates.partial_auc(far, tar, 1e-3) == 1
    far, tar = curve_of(zero, zero)
    assert rates.equal_error_rate(far, tar) == pytest.approx(0.5)
    assert rates.partial_auc(far, tar, 0.1) == pytest.approx(0.05)


def test_far_grid_has_ten_targets_per_decade() -> None:
    assert len(rates.FAR_GRID) == 61
    for decade in range(7):
        assert rates.FAR_GRID[10 * decade] == 10.0 ** (decade - 6)
