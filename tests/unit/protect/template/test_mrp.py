"""MRP: distances are kept, and so is what the pseudo-inverse takes back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from template_worlds import crowd, unit

from efface.errors import PlanError
from efface.protect.template import MRP
from efface.protect.template.mrp import directions, size_for, spread_for

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")


def test_size_by_hand() -> None:
    # 4 ln 100 / (0.125 - 0.041666...) = 18.4207 / 0.083333 = 221.05
    assert size_for(100, 0.5) == 222
    # 4 ln 2 / (0.02 - 0.0026666...) = 2.7726 / 0.0173333 = 159.96
    assert size_for(2, 0.2) == 160


def test_size_keeps_every_distance_among_that_many_points() -> None:
    rng = np.random.default_rng(3)
    x = unit(rng.standard_normal((50, 600)))
    rows = directions(bytes(32), size_for(50, 0.5), 600)
    one, two = np.triu_indices(50, 1)
    factor = ((x[one] - x[two]) @ rows.T) ** 2
    factor = factor.sum(axis=1) / ((x[one] - x[two]) ** 2).sum(axis=1)
    assert 0.5 < factor.min() < factor.max() < 1.5
    assert factor.mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("people", "n"), [(2, 160), (100, 222), (10_000, 900)])
def test_spread_is_the_way_back(people: int, n: int) -> None:
    epsilon = spread_for(people, n)
    assert size_for(people, epsilon) <= n
    assert size_for(people, epsilon - 1e-6) > n or epsilon < 1e-5


def test_too_few_directions_promise_nothing() -> None:
    assert spread_for(10_000, 20) == 1.0


@pytest.mark.parametrize(("people", "epsilon"), [(1, 0.5), (100, 0), (100, 1), (100, math.nan)])
def test_impossible_sizes_are_refused(people: int, epsilon: float) -> None:
    with pytest.raises(PlanError, match="epsilon between 0 and 1"):
        size_for(people, epsilon)


def test_it_accepts_by_the_projected_distance() -> None:
    samples = crowd()
    scheme = MRP(n=48, threshold=0.8).fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    rows = directions(template.helper["seed"].tobytes(), 48, 64)
    y = rows @ samples.data[0]
    np.testing.assert_allclose(template.record["projection"], y, rtol=1e-6)
    wanted = np.linalg.norm(samples.data @ rows.T - y, axis=1) <= 0.8
    np.testing.assert_array_equal(scheme.verify_many(template, samples.data), wanted)
    assert wanted[:6].all()
    assert not wanted[6:].all()


def test_the_pseudo_inverse_of_what_is_stored_passes_for_the_person() -> None:
    """PIPE, step 1: the scheme's own verdict, true of this code."""
    samples = crowd(dim=128)
    scheme = MRP(n=64, threshold=0.6).fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    rows = directions(template.helper["seed"].tobytes(), 64, 128)
    surrogate = np.linalg.pinv(rows) @ template.record["projection"]
    assert unit(surrogate) @ samples.data[0] > 0.6
    assert scheme.guess(template, surrogate[None])[0]


@pytest.mark.parametrize("params", [{"n": 0}, {"n": 2.5}, {"n": True}, {"threshold": 0},
                                    {"threshold": math.nan}, {"threshold": math.inf}])  # fmt: skip
def test_impossible_parameters_are_refused(params: dict[str, float]) -> None:
    with pytest.raises(PlanError, match="takes a"):
        MRP(**params).fit(crowd(people=2))  # type: ignore[arg-type]


def test_more_directions_than_dimensions_are_refused() -> None:
    with pytest.raises(PlanError, match="at most that many"):
        MRP(n=65).fit(crowd(people=2))
