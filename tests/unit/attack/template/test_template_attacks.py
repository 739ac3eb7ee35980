"""Attacks on templates: what falls, what does not, and that none knows the person."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from efface import registry
from efface.attack.template.population import Population, drawn
from efface.attack.template.stolen import directions, opened, shortening, unit
from efface.errors import EffaceWarning, PlanError
from efface.protect.template import mrp, projection
from efface.protect.template.bases import Shared
from efface.protect.template.biohash import orthonormal
from efface.protect.template.hardening import Hardening
from efface.results import Threat
from efface.testing.common import world
from efface.types import Release, Samples

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
SCHEMES: dict[str, dict[str, Any]] = {
    "mrp": {"n": 24},
    "biohash": {"n": 32},
    "facial-fe": {"scale": 1.2},
    "l2fe-hash": {"m": 24, "l": 8, "q": 10007, "scale": 0.005, "bases": Shared(2)},
}
ATTACKS = [c.name for c in registry.cards("attack") if c.accepts == "template"]


@pytest.fixture(scope="module")
def people() -> Samples:
    return world(60, 3, 48, np.float64)


@pytest.fixture(scope="module")
def halves(people: Samples) -> tuple[Samples, Samples]:
    known = np.isin(people.identity, people.people[:40])
    return people.take(np.flatnonzero(known)), people.take(np.flatnonzero(~known))


def stolen(name: str, halves: tuple[Samples, Samples], **more: Any) -> tuple[Any, Any, Any]:
    """A fitted scheme, the templates of everybody's first picture, and those pictures."""
    shadow, users = halves
    scheme = registry.make("scheme", name, **{**SCHEMES[name], **more}).fit(shadow)
    rows = [np.flatnonzero(users.identity == p)[0] for p in users.people]
    x = unit(users.data[rows])
    templates = [scheme.enrol(v, np.random.default_rng(i)) for i, v in enumerate(x)]
    return scheme, templates, x


def played(name: str, release: Release, shadow: Samples, **params: Any) -> Any:
    attack = registry.make("attack", name, **params)
    return attack.fit(shadow, Threat("naive"), np.random.default_rng(0)).run(release)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [n for n in ATTACKS if n != "lattice-reduction"])
def test_an_attack_claims_a_unit_embedding_for_each_template_and_is_deterministic(
    name: str, scheme: str, halves: tuple[Samples, Samples]
) -> None:
    made, templates, x = stolen(scheme, halves)
    for leaked in (templates, [t.partial() for t in templates], []):
        release = Release.stored(leaked, made)
        one, two = (played(name, release, halves[0]) for _ in range(2))
        assert one.kind == "embeddings"
        assert len(one.vectors) == len(leaked)
        assert np.array_equal(one.vectors, two.vectors)
        assert np.allclose(np.linalg.norm(one.vectors, axis=1), 1)
    assert x.shape == one.vectors.shape or not len(one.vectors)


@pytest.mark.parametrize("name", ATTACKS)
def test_without_the_helper_an_attack_runs_or_says_what_it_lacks(
    name: str, halves: tuple[Samples, Samples]
) -> None:
    """Who says that there is nothing to start from gets no more than the mean of people."""
    attack = registry.find("attack", name)
    lacks = getattr(attack, "without_helper", "")
    assert not lacks or lacks.endswith("without it there is nothing to start from")
    mean = Population.of(halves[0]).direction
    for scheme in attack.schemes or SCHEMES:
        made, templates, _ = stolen(scheme, halves)
        release = Release.stored([t.partial() for t in templates], made)
        claim = played(name, release, halves[0])
        assert claim.guesses is None or not claim.guesses.any(), "no guess can be tested"
        if lacks:
            assert np.allclose(claim.vectors, mean)
    assert bool(lacks) == (name in ("dictionary", "preimage", "lattice-reduction"))


@pytest.mark.parametrize("pepper", [None, b"p" * 32])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_templates_that_are_bound_to_names_are_attacked_like_others(
    scheme: str, pepper: bytes | None, halves: tuple[Samples, Samples]
) -> None:
    """A thief reads the names beside them, and its own people get names of their own."""
    shadow, users = halves
    hardening = Hardening(owner=True, pepper=pepper)
    made = registry.make("scheme", scheme, **SCHEMES[scheme], hardening=hardening).fit(shadow)
    x = unit(users.data[:6])
    templates = [made.enrol(v, np.random.default_rng(i), b"ann") for i, v in enumerate(x)]
    plain = registry.make("scheme", scheme, **SCHEMES[scheme]).fit(shadow)
    others = [plain.enrol(v, np.random.default_rng(i)) for i, v in enumerate(x)]
    mean = Population.of(shadow).direction
    for name in ("pipe", "centre-query", "dictionary", "preimage"):
        for leak in (lambda t: t, lambda t: t.partial()):
            found = played(name, Release.stored([leak(t) for t in templates], made), shadow)
            bare = played(name, Release.stored([leak(t) for t in others], plain), shadow)
            wanted = bare.vectors if pepper is None else np.tile(mean, (6, 1))
            assert np.allclose(found.vectors, wanted), name


def test_the_thief_s_own_projections_are_the_schemes() -> None:
    x = np.eye(3, 48) @ np.linalg.qr(np.random.default_rng(0).normal(size=(48, 48)))[0]
    for name, theirs in (("mrp", mrp.directions), ("biohash", orthonormal)):
        made = registry.make("scheme", name, **SCHEMES[name]).fit(world(12, 3, 48, np.float64))
        template = made.enrol(x[0], np.random.default_rng(1))
        seed = template.helper["seed"].tobytes()
        assert np.allclose(directions(template, made.settings()), theirs(seed, made.n, 48))
    assert np.allclose(x @ shortening(24, 48), projection.shortened(x, 24))


def test_pipe_takes_the_sketch_and_the_pseudo_inverse(halves: tuple[Samples, Samples]) -> None:
    for name in ("facial-fe", "mrp"):
        made, templates, x = stolen(name, halves)
        claim = played("pipe", Release.stored(templates, made), halves[0])
        nearer = np.linalg.norm(claim.vectors - x, axis=1)
        others = np.linalg.norm(claim.vectors - np.roll(x, 1, axis=0), axis=1)
        assert (nearer < others).mean() > 0.8, name
    made, templates, x = stolen("facial-fe", halves, scale=0.5)  # decodes to zeros: -ss = s x
    claim = played("pipe", Release.stored(templates, made), halves[0])
    assert np.allclose(claim.vectors, x, atol=1e-5)


def test_pipe_reads_the_sketch_of_people_who_are_far_from_zero(people: Samples) -> None:
    """A common mean moves the lattice points away from zero: then -ss alone is nobody."""
    moved = people.data + 2.0 * np.eye(48)[:8].sum(axis=0) / np.sqrt(8)
    far = people.replace(moved / np.linalg.norm(moved, axis=1, keepdims=True))
    shadow, users = (far.take(np.flatnonzero((far.identity < 40) == k)) for k in (True, False))
    made, templates, x = stolen("facial-fe", (shadow, users), scale=3.0)
    claim = played("pipe", Release.stored(templates, made), shadow)
    plain = unit(np.array([-t.helper["sketch"][:48] for t in templates], np.float64))
    near = np.linalg.norm(claim.vectors - x, axis=1).mean()
    assert near < 0.7 * np.linalg.norm(plain - x, axis=1).mean()


def test_pipe_alone_learns_nothing_from_l2fe_hash(halves: tuple[Samples, Samples]) -> None:
    made, templates, x = stolen("l2fe-hash", halves)
    claim = played("pipe", Release.stored(templates, made), halves[0])
    own = (claim.vectors * x).sum(axis=1).mean()
    other = np.mean([(claim.vectors * np.roll(x, k, axis=0)).sum(axis=1).mean() for k in (1, 2, 3)])
    assert abs(own - other) < 0.15


@pytest.mark.parametrize("name", ["facial-fe", "l2fe-hash"])
def test_an_accepted_guess_gives_the_enrolled_vector(
    name: str, halves: tuple[Samples, Samples]
) -> None:
    made, templates, x = stolen(name, halves)
    people = Population.of(halves[0])
    guess = x[0] + 1e-4 * np.random.default_rng(3).normal(size=x.shape[1])
    assert made.guess(templates[0], guess[None])[0]
    found = opened(made, templates[0], guess, people)
    assert made.verify(templates[0], found)
    if name == "facial-fe":
        assert np.allclose(found, x[0], atol=1e-5)
    else:
        assert np.abs(made.quantised(found[None]) - made.quantised(x[:1])).max() <= 1


def test_the_mean_opens_what_accepts_far(halves: tuple[Samples, Samples]) -> None:
    """At a small scale everybody is accepted; at a large one the mean opens nobody."""
    for scale, share in ((0.0005, 1.0), (0.5, 0.0)):
        made, templates, _ = stolen("l2fe-hash", halves, scale=scale)
        claim = played("centre-query", Release.stored(templates, made), halves[0])
        assert (claim.guesses > 0).mean() == share
        for template, vector, tried in zip(templates, claim.vectors, claim.guesses, strict=True):
            assert not tried or made.verify(template, vector)


def test_more_guesses_open_no_fewer(halves: tuple[Samples, Samples]) -> None:
    made, templates, _ = stolen("biohash", halves)
    release = Release.stored(templates, made)
    few, many = (
        played("dictionary", release, halves[0], guesses=n, source="public").guesses
        for n in (5, 100)
    )
    assert (many > 0).sum() >= (few > 0).sum()
    assert (few[few > 0] == many[few > 0]).all()
    assert (many > 0).any()
    assert many.max() <= 100


def test_a_preimage_has_the_stored_projection(halves: tuple[Samples, Samples]) -> None:
    for name in ("mrp", "biohash"):
        made, templates, x = stolen(name, halves)
        claim = played("preimage", Release.stored(templates, made), halves[0])
        assert all(made.verify(t, v) for t, v in zip(templates, claim.vectors, strict=True))
        rows = [directions(t, made.settings()) for t in templates]
        one = [r @ v for r, v in zip(rows, claim.vectors, strict=True)]
        two = [r @ v for r, v in zip(rows, x, strict=True)]
        if name == "mrp":
            assert np.allclose(one, two, atol=1e-5)
        else:
            assert np.array_equal(np.sign(one), np.sign(two))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_pepper_kept_elsewhere_leaves_every_attack_with_the_mean(
    scheme: str, halves: tuple[Samples, Samples]
) -> None:
    made, templates, _ = stolen(scheme, halves, hardening=Hardening(pepper=b"p" * 32))
    release = Release.stored(templates, made)
    mean = Population.of(halves[0]).direction
    for name in ("pipe", "centre-query", "dictionary", "preimage"):
        claim = played(name, release, halves[0])
        assert np.allclose(claim.vectors, mean), name
        assert claim.guesses is None or not claim.guesses.any()


def test_drawn_people_look_like_the_population_and_are_nobody(people: Samples) -> None:
    rows = unit(people.data)
    made = drawn(rows, 3, 4000, np.random.default_rng(0))
    assert made.shape == (4000, rows.shape[1])
    assert np.linalg.norm(made.mean(axis=0) - rows.mean(axis=0)) < 0.1
    assert (made @ rows.T).max() < 0.999


def test_bad_parameters_are_refused() -> None:
    for name, params in (
        ("dictionary", {"source": "private"}),
        ("dictionary", {"guesses": 0}),
        ("dictionary", {"pull": 1.5}),
        ("lattice-reduction", {"block": 1}),
    ):
        with pytest.raises(PlanError, match=name):
            registry.make("attack", name, **params)


def test_an_attack_on_vectors_is_told_what_it_needs(people: Samples) -> None:
    with pytest.raises(PlanError, match="stored templates"):
        played("centre-query", Release(people.data), people)


def test_without_fpylll_the_lattice_attack_says_so(halves: tuple[Samples, Samples]) -> None:
    attack = registry.make("attack", "lattice-reduction")
    if attack.absent():
        assert "audit-gpl" in attack.absent()
        return
    made, templates, _ = stolen("l2fe-hash", halves, scale=0.005)
    release = Release.stored(templates, made)
    plain = played("centre-query", release, halves[0]).guesses
    better = played("lattice-reduction", release, halves[0]).guesses
    assert better.sum() >= plain.sum()


def test_the_scheme_itself_warns_when_used(halves: tuple[Samples, Samples]) -> None:
    with pytest.warns(EffaceWarning, match="broken"):
        stolen("mrp", halves)
