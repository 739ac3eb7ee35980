"""The checks themselves: each rule catches the plug-in that breaks it, and names it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray

from efface.results import Scalar, Threat
from efface.testing import check_attack, check_protection
from efface.types import Claim, Release, Samples


def unit(x: NDArray[Any]) -> NDArray[Any]:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@dataclass
class Centre:
    """An honest protection: take the mean away."""

    strength: float = 1.0
    mean_: NDArray[Any] | None = field(default=None, repr=False)

    def fit(self, samples: Samples, /) -> Self:
        self.mean_ = samples.data.mean(axis=0)
        return self

    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        return Release(unit(samples.data - self.strength * self.mean_))


class Noisy(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        return Release(unit(samples.data + rng.standard_normal(samples.data.shape)))


class Elsewhere(Centre):
    def fit(self, samples: Samples, /) -> Self:
        return replace(self, mean_=samples.data.mean(axis=0))


class Shorter(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        return Release(super().release(samples, rng).data[1:])


class Long(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        return Release(2 * super().release(samples, rng).data)


class Broken(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        data = super().release(samples, rng).data.copy()
        data[3, 0] = np.nan
        return Release(data)


@dataclass(frozen=True, eq=False)
class LabelledRelease(Release):
    group: Any = None


class TellsNames(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        data = super().release(samples, rng).data
        return LabelledRelease(data, group=[f"x{9 - i}" for i in samples.identity])


class TellsInAColumn(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        return Release(unit(np.c_[samples.identity, 20.0 - samples.identity]))


class KeepsTheSamples(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        data = super().release(samples, rng).data
        return LabelledRelease(data, group={"source": samples})


class Unseeded(Centre):
    def fit(self, samples: Samples, /) -> Self:
        self.mean_ = 0.1 * np.random.default_rng().standard_normal(samples.dim)
        return self


class Remembers(Centre):
    def fit(self, samples: Samples, /) -> Self:
        fresh = samples.data.mean(axis=0)
        self.mean_ = fresh if self.mean_ is None else (self.mean_ + fresh) / 2
        return self


class Sorts(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        data = super().release(samples, rng).data
        return Release(data[np.argsort(data[:, 0])])


class WritesBack(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        samples.data[:] = super().release(samples, rng).data
        return Release(samples.data.copy())


class WrongType(Centre):
    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        return super().release(samples, rng).data  # type: ignore[return-value]


class Rounds(Centre):
    def __init__(self, strength: float = 0.7) -> None:
        super().__init__(round(strength) if strength < 1 else strength + 1)


class Forgets(Centre):
    def __init__(self, power: float = 0.7) -> None:
        super().__init__(power)


@pytest.mark.parametrize("form", [Centre, lambda: Centre(0.5), Centre(0.5), Noisy])
def test_an_honest_protection_passes_in_every_form(form: Any) -> None:
    check_protection(form)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Elsewhere, "fit must return self"),
        (Shorter, "96 rows went in, 95 came out"),
        (Long, "unit length"),
        (Broken, "not finite"),
        (TellsNames, "identities in its attribute 'group'"),
        (TellsInAColumn, "identities in its attribute 'data'"),
        (KeepsTheSamples, "identities in its attribute 'group'"),
        (Unseeded, "the releases of one seed differ"),
        (Remembers, "remembers something of the first"),
        (Sorts, "reordering the rows"),
        (WritesBack, "modified its input"),
        (WrongType, "must return an efface Release"),
        (Rounds, "changes its parameter 'strength'"),
        (Forgets, "'power' cannot be read back"),
        (object, "lacks a method of its contract"),
        (3, "neither an instance, a class nor a factory"),
    ],
)
def test_a_broken_protection_is_named(broken: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(sentence)):
        check_protection(broken)


@dataclass
class Whiten:
    """An honest attack: within-person whitening, two strengths to choose from."""

    shrinkages: tuple[float, ...] = (0.1, 1.0)
    shrinkage: float | None = None
    map_: NDArray[Any] | None = field(default=None, repr=False)

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        x = shadow.data.astype(np.float64)
        means = np.stack([x[shadow.identity == i].mean(axis=0) for i in shadow.people])
        x = x - means[np.searchsorted(shadow.people, shadow.identity)]
        self.map_ = x.T @ x / len(x)
        return self

    def options(self) -> Sequence[Self]:
        return [replace(self, shrinkage=s) for s in self.shrinkages]

    def settings(self) -> dict[str, Scalar]:
        return {"shrinkage": self.shrinkage}

    def run(self, release: Release) -> Claim:
        assert self.map_ is not None
        metric = self.map_ + (self.shrinkage or 1.0) * np.eye(len(self.map_))
        return Claim(unit(release.data.astype(np.float64) @ np.linalg.inv(metric)))


class ByLot(Whiten):
    """Honest too: a random map, the same for the same generator."""

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        half = rng.standard_normal((shadow.dim, shadow.dim))
        self.map_ = half @ half.T
        return self


class NoOptions(Whiten):
    def options(self) -> Sequence[Self]:
        return []


class RawVectors(Whiten):
    def run(self, release: Release) -> Claim:
        return Claim(3 * super().run(release).vectors)


class FewVectors(Whiten):
    def run(self, release: Release) -> Claim:
        return Claim(super().run(release).vectors[:-1])


class Numbers(Whiten):
    def settings(self) -> dict[str, Scalar]:
        return {"rank": np.int64(3)}  # type: ignore[dict-item]


class NotANumber(Whiten):
    def settings(self) -> dict[str, Scalar]:
        return {"rate": float("nan")}


class Dice(Whiten):
    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        return super().fit(shadow, threat, rng)._shake()

    def _shake(self) -> Self:
        self.map_ = self.map_ + 0.1 * np.diag(np.random.default_rng().random(len(self.map_)))
        return self


class Accumulates(Whiten):
    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        old = self.map_
        super().fit(shadow, threat, rng)
        self.map_ = self.map_ if old is None else self.map_ + old
        return self


class ReadsCodes(Whiten):
    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        weight = shadow.data * shadow.identity[:, None]
        self.map_ = weight.T @ weight
        return self


class ReadsOrder(Whiten):
    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        first = shadow.data[: len(shadow) // 2]
        self.map_ = 10 * first.T @ first
        return self


class Overwrites(Whiten):
    def run(self, release: Release) -> Claim:
        claim = super().run(release)
        release.data[0] = 1.0
        return claim


class OnlyManyRows(Whiten):
    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        if len(shadow) < shadow.dim:
            raise AssertionError("cannot train on fewer rows than dimensions")
        return super().fit(shadow, threat, rng)


@pytest.mark.parametrize("form", [Whiten, lambda: Whiten((0.5,)), Whiten((0.5,)), ByLot])
def test_an_honest_attack_passes_in_every_form(form: Any) -> None:
    check_attack(form)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (NoOptions, "at least one fitted variant"),
        (RawVectors, "finite and of unit length"),
        (FewVectors, "60 released rows, comparison vectors of (59, 16)"),
        (Numbers, "setting 'rank' is not a plain scalar"),
        (NotANumber, "cannot be written as JSON"),
        (Dice, "the claims differ"),
        (Accumulates, "remembers something of the first"),
        (ReadsCodes, "integer values of labels"),
        (ReadsOrder, "order of the shadow rows"),
        (Overwrites, "fit or run modified its input"),
        (OnlyManyRows, "fewer rows than dimensions"),
        (Centre, "lacks a method of its contract"),
    ],
)
def test_a_broken_attack_is_named(broken: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(sentence)):
        check_attack(broken)


def test_own_samples_are_used() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(4), 5)
    own = Samples(unit(rng.standard_normal((20, 7))), who, np.array(list("abcd")))
    with pytest.raises(AssertionError, match="20 rows went in, 19 came out"):
        check_protection(Shorter, own)
    with pytest.raises(
        AssertionError, match=re.escape("10 released rows, comparison vectors of (9, 7)")
    ):
        check_attack(FewVectors, own)
