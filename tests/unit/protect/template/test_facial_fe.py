"""Facial-FE: when it accepts, what its scale search finds, and what its sketch gives away."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from template_worlds import crowd, unit

from efface.errors import DataError, PlanError
from efface.hazmat import e8
from efface.protect.template import FacialFE
from efface.protect.template.facial_fe import search_scale
from efface.types import Samples

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")


def test_it_accepts_exactly_what_differs_by_less_than_the_cell() -> None:
    samples = crowd()
    scheme = FacialFE(scale=2.5).fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    differences = (samples.data - samples.data[0]) * 2.5
    wanted = ~e8.decode(differences).any(axis=1)
    assert 1 < wanted.sum() < len(wanted)
    np.testing.assert_array_equal(scheme.verify_many(template, samples.data), wanted)


def test_the_search_finds_the_largest_scale_that_refuses_few_enough() -> None:
    samples = crowd(people=12, images=4)
    pairs = [
        (a, b)
        for person in range(12)
        for a, b in itertools.combinations(np.flatnonzero(samples.identity == person), 2)
    ]
    for fnr in (0.0, 0.3, 0.7):
        scale = search_scale(samples, fnr)
        refused = {}
        for s in (scale, scale * (1 + 1e-6)):
            off = np.array([samples.data[b] - samples.data[a] for a, b in pairs]) * s
            refused[s] = e8.decode(off).any(axis=1).mean()
        assert refused[scale] <= fnr < refused[scale * (1 + 1e-6)]


def test_fit_searches_and_the_scale_found_is_in_the_settings() -> None:
    samples = crowd()
    scheme = FacialFE(fnr=0.5).fit(samples)
    assert scheme.settings()["scale"] == search_scale(samples, 0.5)
    assert FacialFE(scale=3.0).fit(samples).settings()["scale"] == 3.0


def test_nobody_with_two_pictures_means_no_search() -> None:
    samples = crowd(people=9, images=1)
    with pytest.raises(DataError, match="nobody has two pictures"):
        FacialFE().fit(samples)
    FacialFE(scale=2.0).fit(samples)


def test_pictures_that_are_equal_give_a_scale_too() -> None:
    samples = crowd(people=3, images=1)
    twice = Samples(
        np.repeat(samples.data, 2, axis=0), np.repeat(samples.identity, 2), samples.names
    )
    assert np.isfinite(FacialFE().fit(twice).radius_)


def test_an_altered_sketch_is_a_no() -> None:
    """The hash covers the sketch: also a change too small to move the decoder is noticed."""
    samples = crowd()
    scheme = FacialFE(scale=2.0).fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    sketch = template.helper["sketch"].copy()
    sketch[5] = np.nextafter(sketch[5], np.float32(9))
    altered = replace(template, helper={**template.helper, "sketch": sketch})
    assert scheme.verify(template, samples.data[0])
    assert not scheme.verify(altered, samples.data[0])


def test_not_a_number_in_a_sketch_is_a_no() -> None:
    samples = crowd()
    scheme = FacialFE(scale=2.0).fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    sketch = np.full_like(template.helper["sketch"], np.nan)
    altered = replace(template, helper={**template.helper, "sketch": sketch})
    assert not scheme.verify_many(altered, samples.data[:3]).any()


def test_dimensions_that_are_no_multiple_of_eight_are_padded() -> None:
    samples = crowd(dim=61)
    scheme = FacialFE(scale=2.0).fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    assert template.helper["sketch"].shape == (64,)
    assert not template.helper["sketch"][61:].any()
    answers = scheme.verify_many(template, samples.data)
    assert answers[:6].any()
    assert not answers.all()


def test_the_sketch_gives_the_person_away() -> None:
    """PIPE, step 1: where the scheme accepts its people, -ss is near them."""
    samples = crowd(dim=512, noise=0.8)
    scheme = FacialFE().fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    surrogate = unit(-template.helper["sketch"].astype(float))
    assert surrogate @ samples.data[0] > 0.5
    assert np.abs(samples.data[6:] @ surrogate).max() < 0.3


@pytest.mark.parametrize("params", [{"scale": 0.0}, {"scale": float("nan")}, {"fnr": 1.0}])
def test_impossible_parameters_are_refused(params: dict[str, float]) -> None:
    with pytest.raises(PlanError, match="facial-fe"):
        FacialFE(**params).fit(crowd(people=2))
