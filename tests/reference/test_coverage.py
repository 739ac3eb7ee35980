"""95 % intervals of whole audits, on a world whose true TAR is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from efface.judge.verification import Trials, Verification
from efface.types import Claim

DIM = 32


def gaussian(rng: np.random.Generator, people: int, images: int, strength: float) -> Trials:
    who = np.repeat(np.arange(people), images)
    own = strength * rng.standard_normal((people, DIM))
    vectors = own[who] + rng.standard_normal((len(who), DIM))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Trials(Claim(vectors.astype(np.float32)), who)


def true_tar(far: float, strength: float) -> float:
    """The cosine t of two strangers has (t + 1) / 2 ~ Beta((d - 1) / 2, (d - 1) / 2)."""
    half = (DIM - 1) / 2
    tau = 2 * stats.beta.isf(far, half, half) - 1
    rng = np.random.default_rng(1)
    own = strength * rng.standard_normal((200_000, DIM))
    one, two = (own + rng.standard_normal(own.shape) for _ in range(2))
    cosine = np.einsum("ij,ij->i", one, two)
    cosine /= np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    return float((cosine > tau).mean())


@pytest.mark.slow
@pytest.mark.parametrize(("far", "strength"), [(1e-2, 1.0), (1e-3, 0.8)])
def test_intervals_cover_the_truth(far: float, strength: float) -> None:
    truth, audits = true_tar(far, strength), 250
    ours, naive = 0, 0
    for seed in range(audits):
        rng = np.random.default_rng([seed, 7])
        known, test = (gaussian(rng, 70, 5, strength) for _ in range(2))
        judge = Verification(far, bootstrap=300, seed=seed)
        calibration = judge.calibrate(known)
        evidence = judge.examine(test, calibration)
        found = judge.tar(calibration, evidence)
        assert found.low is not None
        assert found.high is not None
        ours += found.low <= truth <= found.high
        hits, trials = int(evidence.accepted.sum()), int(evidence.mated.sum())
        wilson = stats.binomtest(hits, trials).proportion_ci(method="wilson")
        naive += wilson.low <= truth <= wilson.high
    assert naive < 0.85 * audits  # pairs are not independent trials
    assert 0.925 * audits <= ours <= 0.98 * audits
