"""The radius for a target rate: what calibration promises is what enrolments do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from template_worlds import crowd, small, unit

from efface.errors import DataError, PlanError
from efface.protect.template import MRP, BioHash, FacialFE, Hardening
from efface.protect.template.radius import (
    accepted_at,
    genuine_borders,
    impostor_borders,
    radius_at,
)

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")

SCHEMES = [MRP(n=48), BioHash(n=64), FacialFE(scale=2.0), small()]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.card.name)
def test_strangers_are_accepted_at_the_rate_asked_for(scheme: Any) -> None:
    samples = crowd(people=60, images=2, noise=0.6)
    found = scheme.fit(samples).calibrate(samples, 0.05)
    others = crowd(people=60, images=2, noise=0.6)
    rates = []
    for person in range(30):
        template = found.enrol(samples.data[2 * person], np.random.default_rng(person))
        strangers = others.data[1::2][np.arange(60) != person]
        rates.append(found.verify_many(template, strangers).mean())
    assert 0.01 < np.mean(rates) < 0.12


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.card.name)
def test_no_looser_radius_keeps_the_rate(scheme: Any) -> None:
    samples = crowd(people=25, images=2)
    scheme.fit(samples)
    borders = impostor_borders(scheme, samples)
    assert borders.shape == (25 * 24,)
    radius = radius_at(scheme, borders, 0.02)
    step = 1 + 1e-9
    looser = borders[borders > radius].min() if scheme.looser else radius / step
    assert accepted_at(scheme, borders, radius).sum() <= 12
    assert accepted_at(scheme, borders, looser).sum() > 12


def test_order_statistics_by_hand() -> None:
    near, far = MRP(n=8), FacialFE(scale=1.0)
    borders = np.array([0.5, 0.1, 0.3, 0.2, 0.4])
    # One of five may pass: the distance 0.1 may, 0.2 may not; the scale 0.5 may, 0.4 may not.
    assert 0.1 <= radius_at(near, borders, 0.2) < 0.2
    assert radius_at(far, borders, 0.2) == 0.4
    assert accepted_at(near, borders, radius_at(near, borders, 0.2)).sum() == 1
    assert accepted_at(far, borders, radius_at(far, borders, 0.2)).sum() == 1


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.card.name)
def test_calibration_leaves_the_scheme_as_it_was(scheme: Any) -> None:
    samples = crowd(people=20, images=2)
    scheme.fit(samples)
    before = scheme.settings()
    found = scheme.calibrate(samples, 0.05)
    assert scheme.settings() == before
    assert found.settings() != before
    assert found.settings()[scheme.radius] == getattr(found, scheme.radius) == found.radius_


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.card.name)
def test_several_pictures_separate_better(scheme: Any) -> None:
    samples = crowd(people=30, images=8, noise=1.1)
    scheme.fit(samples)
    rates = []
    for images in (1, 4):
        radius = radius_at(scheme, impostor_borders(scheme, samples, images), 0.01)
        genuine = genuine_borders(scheme, samples, images)
        assert len(genuine) == 30 * (8 // images - 1)
        rates.append(accepted_at(scheme, genuine, radius).mean())
    assert rates[1] > rates[0] + 0.1


def test_the_border_under_votes_is_that_of_the_deciding_picture() -> None:
    samples = crowd(people=12, images=3, noise=0.9)
    plain = MRP(n=48).fit(samples)
    for votes in (1, 2, 3):
        voting = MRP(n=48, hardening=Hardening(probes="vote", votes=votes)).fit(samples)
        found = impostor_borders(voting, samples, 3)
        enrolled = unit(samples.data.reshape(12, 3, 64).mean(axis=1))
        tries = samples.data.reshape(12, 3, 64)
        wanted = [
            np.sort([plain.critical(enrolled[i], tries[j, k]) for k in range(3)])[votes - 1]
            for i in range(12)
            for j in range(12)
            if i != j
        ]
        np.testing.assert_allclose(found, wanted)


def test_more_bases_are_more_tries() -> None:
    samples = crowd(people=10, images=2)
    scheme = small().fit(samples)
    one, two = (impostor_borders(scheme, samples, bases=n) for n in (1, 2))
    np.testing.assert_array_equal(two[: len(one)], one)
    assert len(two) == 2 * len(one)
    assert (two[len(one) :] != one).all()


@pytest.mark.parametrize("fmr", [0.0, 1.0, -0.1, float("nan")])
def test_impossible_rates_are_refused(fmr: float) -> None:
    samples = crowd(people=10)
    with pytest.raises(PlanError, match="give a rate between 0 and 1"):
        MRP(n=48).fit(samples).calibrate(samples, fmr)


def test_too_few_people_for_a_rate_or_for_pictures() -> None:
    samples = crowd(people=10, images=2)
    scheme = MRP(n=48).fit(samples)
    with pytest.raises(DataError, match=r"90 impostor tries cannot show a rate of 0\.001"):
        scheme.calibrate(samples, 0.001)
    with pytest.raises(DataError, match="0 people have 5 pictures or more"):
        scheme.calibrate(samples, 0.1, images=5)
    with pytest.raises(PlanError, match="0 images"):
        scheme.calibrate(samples, 0.1, images=0)
