"""Small worlds for the attackers, and the game in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.data.samples import samples
from efface.judge.verification import Trials, Verification
from efface.results import Threat
from efface.types import Attack, Release, Samples

Array = NDArray[Any]


def blobs(people: int, images: int, dim: int, *, spread: float = 1.0, seed: int = 0) -> Samples:
    """Unit vectors: people on Gaussian centres, images around them, some axes noisier."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), images)
    loud = np.linspace(0.2, 2.0, dim)
    vectors = rng.standard_normal((people, dim))[who]
    vectors = vectors + spread * loud * rng.standard_normal((len(who), dim))
    order = rng.permutation(len(who))
    return samples(vectors[order].astype(np.float64), who[order] * 3 + 5)


def quiet(size: float, people: int = 150, images: int = 8, half: int = 16) -> Samples:
    """Who it is stands in directions ``size`` times as long as those that say nothing of it."""
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(people), images)
    loud = rng.standard_normal((len(who), half))
    own = 2 * rng.standard_normal((people, half))[who] + rng.standard_normal((len(who), half))
    return samples(np.hstack([loud, size * own]).astype(np.float32), who)


def thirds(made: Samples) -> tuple[Samples, Samples, Samples]:
    """Training, calibration and test people: 3/5, 1/5, 1/5."""
    people = made.people
    a, b = 3 * len(people) // 5, 4 * len(people) // 5
    parts = people[:a], people[a:b], people[b:]
    first, second, third = (
        made.take(np.flatnonzero(np.isin(made.identity, part))) for part in parts
    )
    return first, second, third


def indicators(identity: Array) -> Array:
    """One column per person, centred."""
    hot = (identity[:, None] == np.unique(identity)).astype(np.float64)
    return np.asarray(hot - hot.mean(axis=0))


def scores(vectors: Array) -> Array:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


def trained(attack: Attack, shadow: Samples, seed: int = 0) -> Attack:
    return attack.fit(shadow, Threat(knowledge="parrot"), np.random.default_rng(seed))


def played(
    attack: Attack, parts: tuple[Samples, Samples, Samples], far: float = 1e-2
) -> tuple[float, float]:
    """(TAR, upper end) on test people, with the option that calibration people prefer."""
    shadow, known, test = parts
    judge = Verification(far, bootstrap=200)

    def trials(option: Attack, part: Samples) -> Trials:
        person = np.unique(part.identity, return_inverse=True)[1].astype(np.int64)
        return Trials(option.run(Release(part.data)), person)

    options = trained(attack, shadow).options()
    best = max(options, key=lambda option: judge.merit(trials(option, known)))
    frozen = judge.calibrate(trials(best, known))
    found = judge.tar(frozen, judge.examine(trials(best, test), frozen))
    assert found.value is not None
    assert found.high is not None
    return found.value, found.high
