"""Who may train on whom: the walls between the parts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import efface
from efface.auditing.scene import Scene, lend_shadow, some_images, some_people
from efface.data import synthetic
from efface.errors import SplitError
from efface.results import Threat
from efface.types import Split


@pytest.fixture(scope="module")
def scene() -> Scene:
    samples = synthetic.embedding_world(people=60, images=5, dim=48, rank=8, context_rank=4).samples
    return Scene.of(samples, efface.split(samples, seed=4))


@pytest.mark.parametrize("pool", ["both", "fit", "shadow"])
@pytest.mark.parametrize("people", [None, 6])
@pytest.mark.parametrize("images", [None, 2])
def test_an_attacker_never_trains_on_calibration_or_test_people(
    scene: Scene, pool: str, people: int | None, images: int | None
) -> None:
    rows = scene.pool(Threat(pool=pool, people=people, images=images), seed=0)  # type: ignore[arg-type]
    codes = np.unique(scene.samples.identity[rows])
    for part in ("calibration", "test"):
        assert not np.intersect1d(codes, scene.split.people(part)).size
    if people is not None:
        assert len(codes) == people
    if images is not None:
        assert set(np.bincount(scene.samples.identity[rows])[codes]) == {images}
    wanted = {"both": ["fit", "shadow"]}.get(pool, [pool])
    assert np.isin(codes, np.concatenate([scene.split.people(p) for p in wanted])).all()


def test_smaller_pools_are_contained_in_larger_ones(scene: Scene) -> None:
    rows = np.arange(len(scene.samples))
    draws = [
        some_people(rows, scene.samples.identity, n, np.random.default_rng(1)) for n in (5, 10, 20)
    ]
    assert set(draws[0]) < set(draws[1]) < set(draws[2])


def test_some_images_leaves_out_people_with_fewer() -> None:
    identity = np.array([0, 0, 0, 1, 2, 2])
    rows = some_images(np.arange(6), identity, 2, np.random.default_rng(0))
    assert sorted(identity[rows]) == [0, 0, 2, 2]


def test_a_split_without_shadow_lends_half_of_the_calibration_people(scene: Scene) -> None:
    given = efface.split(scene.samples, fit=0.6, calibration=0.2, test=0.2, seed=0)
    lent, note = lend_shadow(given)
    assert "calibration people became the attackers' own" in note
    assert len(lent.people("shadow")) == len(given.people("calibration")) // 2
    for part in ("fit", "test"):
        assert np.array_equal(lent.part(part), given.part(part))
    both = np.union1d(lent.people("shadow"), lent.people("calibration"))
    assert np.array_equal(both, given.people("calibration"))


def test_a_split_with_shadow_stays_as_it_is(scene: Scene) -> None:
    lent, note = lend_shadow(scene.split)
    assert lent is scene.split
    assert note == ""


def test_two_parts_cannot_share_a_person(scene: Scene) -> None:
    split = scene.split
    with pytest.raises(SplitError, match="is in both"):
        dataclasses.replace(split, test=np.append(split.test, split.fit[0]))


def test_erasers_are_fitted_on_the_fit_part_only(scene: Scene) -> None:
    from efface.auditing import protections

    protection = efface.ISP(rank=4)
    shipped = scene.ship(protection, "isp", protections.spec_of(protection), 0)
    alone = efface.ISP(rank=4).fit(scene.samples.take(scene.split.fit))
    assert shipped.eraser is not None
    assert shipped.eraser.digest() == alone.eraser_.digest()
    assert shipped.name == "isp-4"


def test_splits_made_for_other_samples_are_refused(scene: Scene) -> None:
    other = synthetic.embedding_world(people=60, images=5, dim=48, rank=8, context_rank=4, seed=9)
    shuffled = other.samples.take(np.random.default_rng(0).permutation(len(other.samples)))
    with pytest.raises(efface.errors.DataError, match="other samples"):
        efface.audit(shuffled, split=scene.split, attacks=["cosine"])


def test_digest_follows_samples_and_split(scene: Scene) -> None:
    again = Scene.of(scene.samples, efface.split(scene.samples, seed=4))
    assert again.digest == scene.digest
    assert Scene.of(scene.samples, efface.split(scene.samples, seed=5)).digest != scene.digest
    assert isinstance(scene.split, Split)
