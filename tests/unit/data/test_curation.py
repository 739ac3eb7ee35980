"""How many images a person has, and keeping exactly n of everybody (P3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from efface.data.samples import curate, leave_out_small, require_pairs, samples
from efface.errors import DataError

EYE = np.eye(4)[[0, 1, 2, 3]]
WHO = ["ann", "bob", "ann", "bob"]


def test_pairs_are_there_or_people_without_are_listed() -> None:
    require_pairs(samples(EYE, WHO))
    who = [f"p{i}" for i in range(7)] + ["q", "q", "q"]
    made = samples(np.ones((10, 2)), who, dataset="faces")
    words = r"faces: 7 of 8 identities have fewer than 2 images: p0 \(1\), .*p4 \(1\) and 2 more\. "
    with pytest.raises(DataError, match=words + "Add images"):
        require_pairs(made)
    with pytest.raises(DataError, match=r"8 of 8.*fewer than 4"):
        require_pairs(made, 4)


def many(rng: np.random.Generator) -> Any:
    who = np.repeat(np.arange(40), rng.integers(1, 12, 40))
    return samples(rng.standard_normal((len(who), 4)), who)


def test_curation_keeps_exactly_n_of_everybody_with_as_many(rng: np.random.Generator) -> None:
    whole = many(rng)
    images = np.bincount(whole.identity)
    kept = curate(whole, 5, seed=3)
    assert (images < 5).any()
    assert set(kept.people) == set(np.flatnonzero(images >= 5))
    assert set(np.bincount(kept.identity)[kept.people]) == {5}
    again = {row.tobytes() for row in whole.data}
    assert {row.tobytes() for row in kept.data} <= again
    assert len({row.tobytes() for row in kept.data}) == len(kept)


def test_curation_is_seeded_and_draws_every_image_alike(rng: np.random.Generator) -> None:
    whole = samples(rng.standard_normal((20, 3)), np.repeat([0, 1], 10))
    assert curate(whole, 3, seed=1).digest() == curate(whole, 3, seed=1).digest()
    drawn = np.zeros(20)
    for seed in range(400):
        rows = curate(whole, 3, seed=seed).data[:, 0]
        drawn += np.isin(whole.data[:, 0], rows)
    # 400 draws at 0.3 each: mean 120, standard deviation 9.2
    assert drawn.min() > 120 - 5 * 9.2
    assert drawn.max() < 120 + 5 * 9.2


def test_small_people_are_left_out_and_the_others_keep_all(rng: np.random.Generator) -> None:
    whole = many(rng)
    images = np.bincount(whole.identity)
    kept = leave_out_small(whole, 5)
    assert set(kept.people) == set(np.flatnonzero(images >= 5))
    assert len(kept) == images[images >= 5].sum()
    assert leave_out_small(whole, 1).digest() == whole.digest()
    with pytest.raises(DataError, match="0 identities have 12 images or more"):
        leave_out_small(whole, 12)


def test_curation_refuses(rng: np.random.Generator) -> None:
    whole = many(rng)
    with pytest.raises(DataError, match="n must be >= 1"):
        curate(whole, 0)
    with pytest.raises(DataError, match="need at least two: ask for fewer"):
        curate(whole, 99)
    with pytest.raises(DataError, match="fewer than 5 images"):
        curate(whole, 5, skip_small=False)
