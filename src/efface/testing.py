"""The contracts of ``Protection``, ``Attack`` and ``Encoder`` in :mod:`efface.types` as checks.
Call them from a plug-in's tests: AssertionError names, in a sentence, the first rule broken."""

from __future__ import annotations

import copy
import inspect
import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.encoders.contract import check_encoder as check_encoder
from efface.errors import EffaceWarning
from efface.results import Threat
from efface.types import Attack, Claim, Protection, Release, Samples

_THREAT = Threat(knowledge="naive")
_PAIR_TOLERANCE = 1e-4
"""Claims ship as float32 and pass through a solver: pair scores agree this far."""

Maker = Callable[[], Any]


def check_protection(protection: Any, samples: Samples | None = None) -> None:
    """Hold a protection (an instance, a class or a factory) to its contract.
    Without ``samples`` it is tried on a small made-up set, in float32 and in float64."""
    make = _maker(protection)
    tries = [_world(8, 12, 24, t) for t in (np.float32, np.float64)]
    for given in tries if samples is None else [samples]:
        _constructor_stores(make, Protection)
        for rule in _PROTECTION_RULES:
            before = _content(given)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EffaceWarning)  # that the set is small
                rule(make, given)
            _require(_content(given) == before, "fit or release modified its input")


def check_attack(attack: Any, samples: Samples | None = None) -> None:
    """Hold an attack (an instance, a class or a factory) to its contract.

    Without ``samples`` it is tried with more and with fewer rows than dimensions, in float32 and
    in float64. The first half of the people is shadow data, the rest is what was released.
    """
    make = _maker(attack)
    tries = [_world(12, 10, 16, np.float32), _world(10, 5, 40, np.float64)]
    for given in tries if samples is None else [samples]:
        _constructor_stores(make, Attack)
        shadow, release = _halves(given)
        for rule in _ATTACK_RULES:
            before = [*_content(shadow), _bytes(release.data)]
            rule(make, shadow, release)
            same = before == [*_content(shadow), _bytes(release.data)]
            _require(same, "fit or run modified its input")


def _fit_returns_self(make: Maker, samples: Samples) -> None:
    protection = make()
    _require(protection.fit(samples) is protection, "fit must return self")


def _release_is_well_formed(make: Maker, samples: Samples) -> None:
    release = _released(make, samples)
    _require(isinstance(release, Release), "release must return an efface Release")
    data = release.data
    _require(len(data) == len(samples), f"{len(samples)} rows went in, {len(data)} came out")
    _require(bool(np.isfinite(data).all()), "the release holds a value that is not finite")
    if release.kind == "embedding":
        _require(_unit_rows(data), "a released embedding must have rows of unit length")


def _release_tells_no_identity(make: Maker, samples: Samples) -> None:
    release = _released(make, samples)
    for name, value in vars(release).items():
        told = _holds_identity(value, samples)
        _require(not told, f"the release holds the identities in its attribute {name!r}")


def _protection_is_deterministic(make: Maker, samples: Samples) -> None:
    one, two = (_released(make, samples).data for _ in range(2))
    _require(_bytes(one) == _bytes(two), "fitted twice alike, the releases of one seed differ")


def _refit_forgets(make: Maker, samples: Samples) -> None:
    used = make().fit(_part(samples)).fit(samples)
    fresh = make().fit(samples)
    one, two = (p.release(samples, _rng()).data for p in (used, fresh))
    _require(_bytes(one) == _bytes(two), "a second fit remembers something of the first")


def _rows_keep_their_places(make: Maker, samples: Samples) -> None:
    """Where release draws noise, rows cannot be compared one by one: then nothing is asked."""
    protection = make().fit(samples)
    order = _rng().permutation(len(samples))
    plain, other = (protection.release(samples, _rng(seed)).data for seed in (0, 1))
    if _bytes(plain) != _bytes(other):
        return
    moved = protection.release(samples.take(order), _rng()).data
    slack = 1e3 * float(np.finfo(plain.dtype).eps)
    _require(
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
    _require(len(options) > 0, "options must name at least one fitted variant")
    for option in options:
        for dtype in (np.float16, np.float32, np.float64):
            claim = option.run(Release(release.data.astype(dtype, copy=False), release.kind))
            _require(isinstance(claim, Claim), "run must return an efface Claim")
            vectors = claim.vectors
            _require(
                vectors.ndim == 2 and len(vectors) == len(release.data),
                f"{len(release.data)} released rows, comparison vectors of {vectors.shape}",
            )
            _require(_unit_rows(vectors), "comparison vectors must be finite and of unit length")


def _settings_are_plain(make: Maker, shadow: Samples, release: Release) -> None:
    for option in _fitted(make, shadow).options():
        settings = option.settings()
        for name, value in settings.items():
            plain = value is None or isinstance(value, str | int | float | bool)
            _require(plain and isinstance(name, str), f"setting {name!r} is not a plain scalar")
        try:
            json.dumps(settings, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise AssertionError(f"settings cannot be written as JSON: {error}") from error


def _attack_is_deterministic(make: Maker, shadow: Samples, release: Release) -> None:
    one, two = (_vectors(_fitted(make, shadow), release) for _ in range(2))
    same = all(_bytes(a) == _bytes(b) for a, b in zip(one, two, strict=True))
    _require(same, "fitted twice with one seed, the claims differ")


def _refitted_attack_forgets(make: Maker, shadow: Samples, release: Release) -> None:
    used = make().fit(_part(shadow), _THREAT, _rng()).fit(shadow, _THREAT, _rng())
    one, two = (_vectors(a, release) for a in (used, _fitted(make, shadow)))
    same = len(one) == len(two) and all(map(np.array_equal, one, two))
    _require(same, "a second fit remembers something of the first")


def _labels_are_only_names(make: Maker, shadow: Samples, release: Release) -> None:
    code = _rng().permutation(len(shadow.names) + 5)
    names = np.array([f"p{i}" for i in range(len(code))])
    other = Samples(shadow.data, code[shadow.identity], names, kind=shadow.kind)
    _indifferent(make, shadow, other, release, "the integer values of labels change the scores")


def _row_order_is_irrelevant(make: Maker, shadow: Samples, release: Release) -> None:
    other = shadow.take(_rng().permutation(len(shadow)))
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
        _require(float(np.abs(one - two).mean()) <= slack, broken)


_ATTACK_RULES: tuple[Callable[[Maker, Samples, Release], None], ...] = (
    _every_option_runs,
    _settings_are_plain,
    _attack_is_deterministic,
    _refitted_attack_forgets,
    _labels_are_only_names,
    _row_order_is_irrelevant,
)


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def _maker(thing: Any) -> Maker:
    """A way to make a fresh one: the class, the factory, or the instance's own parameters."""
    if isinstance(thing, type) or not hasattr(thing, "fit"):
        _require(callable(thing), f"{thing!r} is neither an instance, a class nor a factory")
        return thing  # type: ignore[no-any-return]
    return lambda: type(thing)(**copy.deepcopy(_params(thing)))


def _params(made: Any) -> dict[str, Any]:
    """Constructor parameters read back; names that end in ``_`` are learnt state, not given."""
    names = [n for n in inspect.signature(type(made)).parameters if not n.endswith("_")]
    for name in names:
        _require(hasattr(made, name), f"constructor parameter {name!r} cannot be read back")
    return {name: getattr(made, name) for name in names}


def _constructor_stores(make: Maker, contract: type) -> None:
    made = make()
    _require(isinstance(made, contract), f"{type(made).__name__} lacks a method of its contract")
    given = _params(made)
    for name, value in _params(type(made)(**given)).items():
        same = value is given[name] or np.array_equal(value, given[name])
        _require(same, f"the constructor changes its parameter {name!r}: it must only store")


def _world(people: int, images: int, dim: int, dtype: type[np.floating[Any]]) -> Samples:
    """Unit vectors with a clear identity in a few directions and plenty of everything else."""
    rng = _rng()
    who = np.repeat(np.arange(people), images)
    where = rng.standard_normal((people, 5)) @ rng.standard_normal((5, dim)) / 2
    x = where[who] + rng.standard_normal((len(who), dim))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    order = rng.permutation(len(who))
    names = np.array([f"person {i}" for i in range(people)])
    return Samples(x[order].astype(dtype), who[order].astype(np.int64), names)


def _halves(samples: Samples) -> tuple[Samples, Release]:
    shadow = np.isin(samples.identity, samples.people[: len(samples.people) // 2])
    rest = samples.take(np.flatnonzero(~shadow))
    return samples.take(np.flatnonzero(shadow)), Release(rest.data, samples.kind)


def _part(samples: Samples) -> Samples:
    """Some of the people, so that a fit on them differs from a fit on all."""
    people = samples.people[: max(2, 2 * len(samples.people) // 3)]
    return samples.take(np.flatnonzero(np.isin(samples.identity, people)))


def _released(make: Maker, samples: Samples) -> Release:
    release: Release = make().fit(samples).release(samples, _rng())
    return release


def _fitted(make: Maker, shadow: Samples, seed: int = 0) -> Any:
    return make().fit(shadow, _THREAT, _rng(seed))


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


def _content(samples: Samples) -> list[bytes]:
    return [_bytes(a) for a in (samples.data, samples.identity, *samples.attributes.values())]


def _bytes(x: NDArray[Any]) -> bytes:
    return str((x.dtype, x.shape)).encode() + np.ascontiguousarray(x).tobytes()


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)
