"""The contracts of :class:`efface.types.Protection` and :class:`efface.types.Attack` as checks."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import EffaceWarning
from efface.results import Threat
from efface.testing.common import (
    Maker,
    bytes_of,
    constructor_stores,
    content,
    fresh_rng,
    maker,
    part,
    require,
    world,
)
from efface.types import Attack, Claim, Protection, Release, Samples

_THREAT = Threat(knowledge="naive")
_PAIR_TOLERANCE = 1e-4
"""Claims ship as float32 and pass through a solver: pair scores agree this far."""


def check_protection(protection: Any, samples: Samples | None = None) -> None:
    """Hold a protection (an instance, a class or a factory) to its contract.
    Without ``samples`` it is tried on a small made-up set, in float32 and in float64."""
    make = maker(protection)
    tries = [world(8, 12, 24, t) for t in (np.float32, np.float64)]
    for given in tries if samples is None else [samples]:
        constructor_stores(make, Protection)
        for rule in _PROTECTION_RULES:
            before = content(given)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EffaceWarning)  # that the set is small
                rule(make, given)
            require(content(given) == before, "fit or release modified its input")


def check_attack(attack: Any, samples: Samples | None = None) -> None:
    """Hold an attack (an instance, a class or a factory) to its contract.

    Without ``samples`` it is tried with more and with fewer rows than dimensions, in float32 and
    in float64. The first half of the people is shadow data, the rest is what was released.
    """
    make = maker(attack)
    tries = [world(12, 10, 16, np.float32), world(10, 5, 40, np.float64)]
    for given in tries if samples is None else [samples]:
        constructor_stores(make, Attack)
        shadow, release = _halves(given)
        for rule in _ATTACK_RULES:
            before = [*content(shadow), bytes_of(release.data)]
            rule(make, shadow, release)
            same = before == [*content(shadow), bytes_of(release.data)]
            require(same, "fit or run modified its input")


def _fit_returns_self(make: Maker, samples: Samples) -> None:
    protection = make()
    require(protection.fit(samples) is protection, "fit must return self")


def _release_is_well_formed(make: Maker, samples: Samples) -> None:
    release = _released(make, samples)
    require(isinstance(release, Release), "release must return an efface Release")
    data = release.data
    require(len(data) == len(samples), f"{len(samples)} rows went in, {len(data)} came out")
    require(bool(np.isfinite(data).all()), "the release holds a value that is not finite")
    if release.kind == "embedding":
        require(_unit_rows(data), "a released embedding must have rows of unit length")


def _release_tells_no_identity(make: Maker, samples: Samples) -> None:
    release = _released(make, samples)
    for name, value in vars(release).items():
        told = _holds_identity(value, samples)
        require(not told, f"the release holds the identities in its attribute {name!r}")


def _protection_is_deterministic(make: Maker, samples: Samples) -> None:
    one, two = (_released(make, samples).data for _ in range(2))
    require(bytes_of(one) == bytes_of(two), "fitted twice alike, the releases of one seed differ")


def _refit_forgets(make: Maker, samples: Samples) -> None:
    used = make().fit(part(samples)).fit(samples)
    fresh = make().fit(samples)
    one, two = (p.release(samples, fresh_rng()).data for p in (used, fresh))
    require(bytes_of(one) == bytes_of(two), "a second fit remembers something of the first")


def _rows_keep_their_places(make: Maker, samples: Samples) -> None:
    """Where release draws noise, rows cannot be compared one by one: then nothing is asked."""
    protection = make().fit(samples)
    order = fresh_rng().permutation(len(samples))
    plain, other = (protection.release(samples, fresh_rng(seed)).data for seed in (0, 1))
    if bytes_of(plain) != bytes_of(other):
        return
    moved = protection.release(samples.take(order), fresh_rng()).data
    slack = 1e3 * float(np.finfo(plain.dtype).eps)
    require(
        moved.shape == plain.shape and np.allclose(moved, plain[order], rtol=0, atol=slack),
        "reordering the rows does more than reorder the release",
    )


_PROTECTION_RULES: tuple[Callable[[Maker, Samples], None], ...] = (
    _fit_returns_self,
    _release_is_well_formed,
    _release_tells_no_identity,
    _protection_is_deterministic,
    _refit_forgets,
    _rows_keep_their_places,
)


def _every_option_runs(make: Maker, shadow: Samples, release: Release) -> None:
    options = _fitted(make, shadow).options()
    require(len(options) > 0, "options must name at least one fitted variant")
    for option in options:
        for dtype in (np.float16, np.float32, np.float64):
            claim = option.run(Release(release.data.astype(dtype, copy=False), release.kind))
            require(isinstance(claim, Claim), "run must return an efface Claim")
            vectors = claim.vectors
            require(
                vectors.ndim == 2 and len(vectors) == len(release.data),
                f"{len(release.data)} released rows, comparison vectors of {vectors.shape}",
            )
            require(_unit_rows(vectors), "comparison vectors must be finite and of unit length")


def _settings_are_plain(make: Maker, shadow: Samples, release: Release) -> None:
    for option in _fitted(make, shadow).options():
        settings = option.settings()
        for name, value in settings.items():
            plain = value is None or isinstance(value, str | int | float | bool)
            require(plain and isinstance(name, str), f"setting {name!r} is not a plain scalar")
        try:
            json.dumps(settings, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise AssertionError(f"settings cannot be written as JSON: {error}") from error


def _attack_is_deterministic(make: Maker, shadow: Samples, release: Release) -> None:
    one, two = (_vectors(_fitted(make, shadow), release) for _ in range(2))
    same = all(bytes_of(a) == bytes_of(b) for a, b in zip(one, two, strict=True))
    require(same, "fitted twice with one seed, the claims differ")


def _refitted_attack_forgets(make: Maker, shadow: Samples, release: Release) -> None:
    used = make().fit(part(shadow), _THREAT, fresh_rng()).fit(shadow, _THREAT, fresh_rng())
    one, two = (_vectors(a, release) for a in (used, _fitted(make, shadow)))
    same = len(one) == len(two) and all(map(np.array_equal, one, two))
    require(same, "a second fit remembers something of the first")


def _labels_are_only_names(make: Maker, shadow: Samples, release: Release) -> None:
    code = fresh_rng().permutation(len(shadow.names) + 5)
    names = np.array([f"p{i}" for i in range(len(code))])
    other = Samples(shadow.data, code[shadow.identity], names, kind=shadow.kind)
    _indifferent(make, shadow, other, release, "the integer values of labels change the scores")


def _row_order_is_irrelevant(make: Maker, shadow: Samples, release: Release) -> None:
    other = shadow.take(fresh_rng().permutation(len(shadow)))
    _indifferent(make, shadow, other, release, "the order of the shadow rows changes the scores")


def _indifferent(
    make: Maker, shadow: Samples, other: Samples, release: Release, broken: str
) -> None:
    """Pair scores agree up to rounding; of an attack that trains by lot, within what another
    seed would have changed."""
    plain = _scores(_fitted(make, shadow), release)
    seeded = _scores(_fitted(make, shadow, seed=1), release)
    changed = _scores(_fitted(make, other), release)
    for one, lot, two in zip(plain, seeded, changed, strict=True):
        by_lot = float(np.abs(one - lot).mean())
        slack = 2 * by_lot if by_lot > _PAIR_TOLERANCE else _PAIR_TOLERANCE
        require(float(np.abs(one - two).mean()) <= slack, broken)


_ATTACK_RULES: tuple[Callable[[Maker, Samples, Release], None], ...] = (
    _every_option_runs,
    _settings_are_plain,
    _attack_is_deterministic,
    _refitted_attack_forgets,
    _labels_are_only_names,
    _row_order_is_irrelevant,
)


def _halves(samples: Samples) -> tuple[Samples, Release]:
    shadow = np.isin(samples.identity, samples.people[: len(samples.people) // 2])
    rest = samples.take(np.flatnonzero(~shadow))
    return samples.take(np.flatnonzero(shadow)), Release(rest.data, samples.kind)


def _released(make: Maker, samples: Samples) -> Release:
    release: Release = make().fit(samples).release(samples, fresh_rng())
    return release


def _fitted(make: Maker, shadow: Samples, seed: int = 0) -> Any:
    return make().fit(shadow, _THREAT, fresh_rng(seed))


def _vectors(attack: Any, release: Release) -> list[NDArray[Any]]:
    return [option.run(release).vectors for option in attack.options()]


def _scores(attack: Any, release: Release) -> list[NDArray[np.float64]]:
    return [(v @ v.T).astype(np.float64) for v in _vectors(attack, release)]


def _unit_rows(x: NDArray[Any]) -> bool:
    slack = 8 * float(np.finfo(x.dtype).eps) * np.sqrt(x.shape[1])
    norms = np.linalg.norm(x.astype(np.float64), axis=1)
    return bool(np.abs(norms - 1).max() <= slack)  # false for NaN as well


def _holds_identity(value: Any, samples: Samples) -> bool:
    """Whether a value, or a column of it, divides the rows just as identity does."""
    if isinstance(value, Samples):
        return True
    if isinstance(value, Mapping):
        return any(_holds_identity(v, samples) for v in value.values())
    if not isinstance(value, np.ndarray | list | tuple) or len(value) != len(samples):
        return False
    people = len(samples.people)
    return people < len(samples) and any(
        len(np.unique(column)) == people
        and len({*zip(column.tolist(), samples.identity.tolist(), strict=True)}) == people
        for column in np.asarray(value).reshape(len(value), -1).T
    )
