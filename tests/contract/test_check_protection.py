"""check_protection itself: each rule catches the plug-in that breaks it, and names it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray

from efface.testing import check_protection
from efface.types import Release, Samples


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


def test_one_row_per_person_is_no_leak_of_labels() -> None:
    x = unit(np.random.default_rng(0).standard_normal((12, 7)))
    check_protection(Centre, Samples(x, np.arange(12), np.array(list("abcdefghijkl"))))


def test_own_samples_are_used_for_protections() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(4), 5)
    own = Samples(unit(rng.standard_normal((20, 7))), who, np.array(list("abcd")))
    with pytest.raises(AssertionError, match="20 rows went in, 19 came out"):
        check_protection(Shorter, own)
