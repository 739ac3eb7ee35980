"""What hardening adds, and what it does not: pepper, bound helper, slow hash, votes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from template_worlds import BASES, crowd, small, unit

from efface.errors import DataError, PlanError, TemplateError
from efface.hazmat.derive import Blake2b
from efface.hazmat.lattice import Lattice
from efface.hazmat.reduction import nearest_point
from efface.protect.template import MRP, Argon2id, BioHash, FacialFE, Hardening
from efface.types import Release

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")

PEPPER = b"0123456789abcdef-not-in-the-store"
QUICK = Argon2id(passes=1, memory_kib=64, lanes=1)


def schemes(**how: Any) -> list[Any]:
    hardening = Hardening(**how)
    return [
        MRP(n=32, hardening=hardening),
        BioHash(n=32, hardening=hardening),
        FacialFE(scale=2.0, hardening=hardening),
        small(hardening=hardening),
    ]


def rng_of(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("number", range(4))
def test_a_pepper_covers_the_part_that_tells_of_the_vector(number: int) -> None:
    samples = crowd(people=60, images=1)
    scheme = schemes(pepper=PEPPER)[number].fit(samples)
    made = [scheme.enrol(samples.data[0], rng_of(seed)) for seed in range(20)]
    name = next(iter(scheme.covered))
    parts = [{**t.record, **t.helper}[name] for t in made]
    assert (
        len({p.tobytes() for p in parts}) == len({t.helper["salt"].tobytes() for t in made}) == 20
    )
    bits = np.unpackbits(np.stack(parts), axis=1)
    share = bits.mean(axis=0)  # each bit is a fair coin over the salts, whatever it covers
    assert abs(share.mean() - 0.5) < 6 * 0.5 / np.sqrt(bits.size)
    assert share.std() == pytest.approx(0.5 / np.sqrt(20), rel=0.25)


def test_without_a_pepper_two_stores_hold_the_same_sketch_of_facial_fe() -> None:
    """Its decoder is deterministic: the sketch is a function of the vector, and links stores."""
    samples = crowd()
    for pepper, linked in ((None, True), (PEPPER, False)):
        scheme = FacialFE(scale=2.0, hardening=Hardening(pepper=pepper)).fit(samples)
        one, two = (scheme.enrol(samples.data[0], rng_of(s)).helper["sketch"] for s in (0, 1))
        assert (one.tobytes() == two.tobytes()) is linked


@pytest.mark.parametrize("number", range(4))
def test_another_pepper_is_a_plain_no_and_none_is_an_error(number: int) -> None:
    samples = crowd()
    scheme = schemes(pepper=PEPPER)[number].fit(samples)
    wrong = schemes(pepper=PEPPER[::-1])[number].fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    assert scheme.verify(template, samples.data[0])
    assert not wrong.verify_many(template, samples.data).any()
    plain = schemes()[number].fit(samples)
    with pytest.raises(TemplateError, match="pepper"):
        plain.verify(template, samples.data[0])
    with pytest.raises(TemplateError, match="pepper"):
        scheme.verify(plain.enrol(samples.data[0], rng_of()), samples.data[0])


@pytest.mark.parametrize("number", range(4))
def test_under_a_pepper_every_altered_part_is_noticed(number: int) -> None:
    samples = crowd()
    scheme = schemes(pepper=PEPPER)[number].fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    for side in ("record", "helper"):
        for name, value in getattr(template, side).items():
            if name == "configuration":
                continue  # not a secret, and refused by name: see test_template_inputs
            changed = value.copy().reshape(-1)
            changed[0] = changed[0] + 1 if changed.dtype.kind == "f" else changed[0] ^ 1
            parts = {**getattr(template, side), name: changed.reshape(value.shape)}
            altered = replace(template, **{side: parts})
            assert not scheme.verify(altered, samples.data[0]), (side, name)


def test_the_public_scheme_has_every_parameter_and_no_pepper() -> None:
    samples = crowd()
    for scheme in schemes(pepper=PEPPER):
        scheme.fit(samples)
        template = scheme.enrol(samples.data[0], rng_of())
        public = Release.stored([template], scheme).scheme
        assert public is not None
        assert public.settings() == scheme.settings()
        assert PEPPER.decode() not in repr(vars(public)) + repr(scheme)
        with pytest.raises(TemplateError, match="pepper, which is not known here"):
            public.verify(template, samples.data[0])
        with pytest.raises(TemplateError, match="pepper, which is not known here"):
            public.enrol(samples.data[0], rng_of())


def test_a_release_of_templates_is_what_is_stored() -> None:
    samples = crowd()
    scheme = MRP(n=32).fit(samples)
    templates = [scheme.enrol(x, rng_of(i)) for i, x in enumerate(samples.data[:3])]
    release = Release.stored(templates, scheme)
    assert release.kind == "template"
    assert release.data.shape == (3, 0)
    assert release.templates == tuple(templates)
    assert release.scheme is not None
    assert release.scheme.verify(release.templates[0], samples.data[0])


# --- the hash -----------------------------------------------------------------------------------


class Counting:
    """A key derivation that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def derive(self, key: bytes, message: bytes) -> bytes:
        self.calls += 1
        return Blake2b().derive(key, message)

    def settings(self) -> dict[str, Any]:
        return {"kdf": "counting"}


@pytest.mark.parametrize("make", [small, lambda **how: FacialFE(scale=2.0, **how)])
def test_a_try_costs_one_hash_whether_it_is_right_or_wrong(make: Any) -> None:
    samples = crowd()
    kdf = Counting()
    scheme = make(hardening=Hardening(kdf=kdf)).fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    for probe in (samples.data[0], -samples.data[0], samples.data[30]):
        kdf.calls = 0
        scheme.verify(template, probe)
        assert kdf.calls == 1


@pytest.mark.parametrize("make", [small, lambda **how: FacialFE(scale=2.0, **how)])
def test_each_picture_of_a_vote_costs_one_hash_whether_it_is_right_or_wrong(make: Any) -> None:
    """Right ones decode to one message. Hashed once, they would tell how many votes were won."""
    samples = crowd()
    kdf = Counting()
    scheme = make(hardening=Hardening(kdf=kdf, probes="vote", votes=2, of=3)).fit(samples)
    right, wrong = samples.data[0], samples.data[30]
    template = scheme.enrol(right, rng_of())
    for probe, said in (([right] * 3, True), ([right, right, wrong], True),
                        ([right, wrong, -wrong], False), ([wrong] * 3, False)):  # fmt: skip
        kdf.calls = 0
        assert scheme.verify(template, np.stack(probe)) == said
        assert kdf.calls == 3


def test_the_derivation_decides_the_record() -> None:
    samples = crowd()
    made = [
        small(hardening=Hardening(kdf=kdf)).fit(samples).enrol(samples.data[0], rng_of())
        for kdf in (Blake2b(), QUICK, Argon2id(passes=2, memory_kib=64, lanes=1))
    ]
    assert len({t.record["digest"].tobytes() for t in made}) == 3
    assert len({t.helper["sketch"].tobytes() for t in made}) == 1


def test_the_hardened_preset_verifies_and_costs_what_rfc_9106_says() -> None:
    samples = crowd()
    how = Hardening.hardened(PEPPER)
    assert (how.kdf, how.pepper, how.bind, how.probes) == (Argon2id(), PEPPER, True, "mean")
    assert Hardening.hardened().pepper is None
    scheme = small(hardening=how).fit(samples)
    template = scheme.enrol(samples.data[:3], rng_of())
    assert scheme.verify(template, samples.data[3:6])
    assert not scheme.verify(template, samples.data[30:33])


def test_a_slow_hash_does_not_slow_who_reads_the_sketch() -> None:
    """Under Argon2id the thief sorts right guesses from wrong ones without hashing once."""
    samples = crowd()
    scheme = small(hardening=Hardening(kdf=QUICK)).fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    basis = BASES.known(Lattice(scheme.shape, template.helper["seed"].tobytes()), b"")
    targets = template.helper["sketch"] - scheme.quantised(samples.data)
    left = np.linalg.norm(targets - nearest_point(basis, targets.astype(np.int64)), axis=1)
    accepted = scheme.verify_many(template, samples.data)
    assert accepted.any()
    assert not accepted.all()
    assert left[accepted].max() < left[~accepted].min()


@pytest.mark.parametrize("how", [{"kdf": QUICK}, {"bind": True}])
@pytest.mark.parametrize("cls", [MRP, BioHash])
def test_schemes_that_hash_nothing_refuse_to_look_harder(cls: Any, how: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="hashes nothing"):
        cls(n=32, hardening=Hardening(**how)).fit(crowd(people=2))


@pytest.mark.parametrize("how", [{"kdf": "argon2id"}, {"probes": "median"}, {"votes": 0},
                                 {"votes": 1.5}, {"pepper": b"short"}])  # fmt: skip
def test_impossible_hardening_is_refused(how: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        small(hardening=Hardening(**how)).fit(crowd(people=2))


# --- several pictures ---------------------------------------------------------------------------


def test_several_pictures_are_enrolled_as_their_mean_direction() -> None:
    samples = crowd()
    scheme = MRP(n=48).fit(samples)
    mean = unit(samples.data[:4].mean(axis=0))
    several = scheme.enrol(samples.data[:4], rng_of())
    one = scheme.enrol(mean, rng_of())
    np.testing.assert_array_equal(several.record["projection"], one.record["projection"])


def test_the_mean_of_a_try_is_nearer_than_its_pictures() -> None:
    samples = crowd(noise=0.9)
    scheme = MRP(n=64, threshold=0.75).fit(samples)
    singles, means = [], []
    for person in range(30):
        own = samples.data[6 * person : 6 * person + 6]
        template = scheme.enrol(own[:3], rng_of(person))
        singles.append(scheme.verify_many(template, own[3:]).mean())
        means.append(scheme.verify(template, own[3:]))
    assert np.mean(means) > np.mean(singles) + 0.2


@pytest.mark.parametrize("votes", [1, 2, 3])
def test_votes_are_counted(votes: int) -> None:
    samples = crowd(noise=0.9)
    plain = MRP(n=64, threshold=0.95).fit(samples)
    voting = replace(plain, hardening=Hardening(probes="vote", votes=votes)).fit(samples)
    template = plain.enrol(samples.data[0], rng_of())
    tries = np.concatenate(
        [samples.data[:6].reshape(2, 3, 64), samples.data[6:12].reshape(2, 3, 64)]
    )
    single = plain.verify_many(template, tries.reshape(-1, 64)).reshape(-1, 3)
    answers = voting.verify_many(template, tries)
    np.testing.assert_array_equal(answers, single.sum(axis=1) >= votes)
    assert 0 < single.mean() < 1


def test_fewer_pictures_than_votes_are_refused() -> None:
    samples = crowd()
    scheme = MRP(n=64, hardening=Hardening(probes="vote", votes=3)).fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    with pytest.raises(DataError, match="2 pictures cannot give 3 votes"):
        scheme.verify(template, samples.data[:2])


def test_pictures_that_cancel_out_are_refused() -> None:
    samples = crowd()
    scheme = MRP(n=64).fit(samples)
    with pytest.raises(DataError, match="cancel out"):
        scheme.enrol(np.stack([samples.data[0], -samples.data[0]]), rng_of())
