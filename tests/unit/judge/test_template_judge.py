"""The judge of template attacks, on tables that a person can compute."""

from __future__ import annotations

import numpy as np
import pytest

from efface.errors import DataError
from efface.judge.template import TemplateJudge, divide, random_guess, share, threshold
from efface.protect.template.mrp import MRP
from efface.testing.common import world
from efface.types import Claim

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")


def test_random_guess_by_hand() -> None:
    # Distances: 0-1 1, 0-2 sqrt 2, 1-2 1. Within 1.1: person 0 has 1 of 2, 1 has 2, 2 has 1.
    x = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    mean, deviation = random_guess(x, 1.1)
    assert mean == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert deviation == pytest.approx(np.std([0.5, 1, 0.5]))
    with pytest.raises(DataError, match="two people"):
        random_guess(x[:1], 1.0)


def test_the_best_division_by_hand() -> None:
    # Up to 0.8: 3 of 4 genuine, 0 of 3 impostors. Further on every genuine costs an impostor.
    t = divide(np.array([0.5, 0.7, 0.8, 1.4]), np.array([1.2, 1.3, 1.5]))
    assert t == pytest.approx(1.0)


def test_a_threshold_needs_two_pictures_of_somebody() -> None:
    x = np.eye(4)
    assert threshold(x, np.arange(4), np.random.default_rng(0)) is None
    pairs = threshold(x, np.array([0, 0, 1, 1]), np.random.default_rng(0))
    assert pairs is not None


def test_share_counts_people_and_bounds_zero() -> None:
    rng = np.random.default_rng(0)
    found = share(np.array([1, 0, 3]), np.array([2, 0, 4]), rng)
    assert (found.value, found.n, found.clusters) == (pytest.approx(4 / 6), 6, 2)
    none = share(np.zeros(50), np.ones(50), rng)
    assert none.value == 0
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 50), abs=1e-9)  # Clopper and Pearson


def test_the_judge_asks_the_scheme_and_believes_no_attack() -> None:
    samples = world(20, 2, 32, np.float64)
    scheme = MRP(n=16, threshold=0.9).fit(samples)
    truth = samples.data[:3].astype(np.float64)
    templates = [scheme.enrol(x, np.random.default_rng(i)) for i, x in enumerate(truth)]
    claim = Claim(np.stack([truth[0], -truth[1], truth[2]]), "embeddings", np.array([1, 1, 0]))
    found = TemplateJudge(1.0).judge(claim, truth, templates, scheme)
    assert found.distance == pytest.approx([0, 2, 0], abs=1e-6)
    assert found.near.tolist() == [True, False, True]
    assert found.accepted.tolist() == [True, False, True]
    assert found.exact.tolist() == [True, False, True]
    assert found.opened.tolist() == [True, False, False]  # the second only says so


def test_a_claim_of_another_size_is_refused() -> None:
    with pytest.raises(DataError, match="one embedding for each"):
        TemplateJudge().judge(Claim(np.ones((2, 3)), "embeddings"), np.ones((1, 3)), [], MRP())
