"""What all contract checks need: a fresh subject, a made-up world, one sentence for a failure."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.types import Samples

Maker = Callable[[], Any]


def require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def maker(thing: Any) -> Maker:
    """A way to make a fresh one: the class, the factory, or the instance's own parameters."""
    if isinstance(thing, type) or not hasattr(thing, "fit"):
        require(callable(thing), f"{thing!r} is neither an instance, a class nor a factory")
        return thing  # type: ignore[no-any-return]
    return lambda: type(thing)(**copy.deepcopy(params(thing)))


def params(made: Any) -> dict[str, Any]:
    """Constructor parameters read back; names that end in ``_`` are learnt state, not given."""
    names = [n for n in inspect.signature(type(made)).parameters if not n.endswith("_")]
    for name in names:
        require(hasattr(made, name), f"constructor parameter {name!r} cannot be read back")
    return {name: getattr(made, name) for name in names}


def constructor_stores(make: Maker, contract: type) -> None:
    made = make()
    require(isinstance(made, contract), f"{type(made).__name__} lacks a method of its contract")
    given = params(made)
    for name, value in params(type(made)(**given)).items():
        same = value is given[name] or np.array_equal(value, given[name])
        require(same, f"the constructor changes its parameter {name!r}: it must only store")


def world(people: int, images: int, dim: int, dtype: type[np.floating[Any]]) -> Samples:
    """Unit vectors with a clear identity in a few directions and plenty of everything else."""
    rng = fresh_rng()
    who = np.repeat(np.arange(people), images)
    where = rng.standard_normal((people, 5)) @ rng.standard_normal((5, dim)) / 2
    x = where[who] + rng.standard_normal((len(who), dim))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    order = rng.permutation(len(who))
    names = np.array([f"person {i}" for i in range(people)])
    return Samples(x[order].astype(dtype), who[order].astype(np.int64), names)


def part(samples: Samples) -> Samples:
    """Some of the people, so that a fit on them differs from a fit on all."""
    people = samples.people[: max(2, 2 * len(samples.people) // 3)]
    return samples.take(np.flatnonzero(np.isin(samples.identity, people)))


def content(samples: Samples) -> list[bytes]:
    return [bytes_of(a) for a in (samples.data, samples.identity, *samples.attributes.values())]


def bytes_of(x: NDArray[Any]) -> bytes:
    return str((x.dtype, x.shape)).encode() + np.ascontiguousarray(x).tobytes()


def fresh_rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)
