"""check_attack itself: each rule catches the plug-in that breaks it, and names it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray

from efface.results import Scalar, Threat
from efface.testing import check_attack
from efface.types import Claim, Release, Samples


def unit(x: NDArray[Any]) -> NDArray[Any]:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


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
    """Honest too: rows weigh by lot, the same for the same generator, so order matters a little."""

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        weighed = shadow.data * rng.exponential(size=(len(shadow), 1))
        self.map_ = 10 * weighed.T @ weighed / len(shadow)
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
        (object, "lacks a method of its contract"),
    ],
)
def test_a_broken_attack_is_named(broken: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(sentence)):
        check_attack(broken)


def test_own_samples_are_used_for_attacks() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(4), 5)
    own = Samples(unit(rng.standard_normal((20, 7))), who, np.array(list("abcd")))
    with pytest.raises(AssertionError, match=r"10 released rows, comparison vectors of .9, 7"):
        check_attack(FewVectors, own)
