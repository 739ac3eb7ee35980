"""check_scheme itself: each rule catches the plug-in that breaks it, and names it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray

from efface.errors import DataError, TemplateError
from efface.results import Scalar
from efface.testing import check_scheme
from efface.types import Samples, Template


@dataclass
class Signs:
    """An honest scheme: some signs of a random rotation, enough of which have to agree."""

    share: float = 0.8
    dim_: int = field(default=0, init=False, repr=False)

    def fit(self, samples: Samples, /) -> Self:
        self.dim_ = samples.dim
        return self

    def enrol(self, x: Any, rng: np.random.Generator) -> Template:
        seed = int(rng.integers(1 << 31))
        record = {"bits": self._bits(self._mean(x), seed)}
        return Template("signs", 1, record, {"seed": np.array([seed])})

    def verify(self, template: Template, probe: Any) -> bool:
        return bool(self.verify_many(template, self._mean(probe)[None])[0])

    def verify_many(self, template: Template, probes: Any) -> NDArray[np.bool_]:
        if (template.scheme, template.version, len(template.helper)) != ("signs", 1, 1):
            raise TemplateError("of another scheme")
        seed = int(template.helper["seed"][0])
        bits = [self._bits(self._mean(p), seed) for p in probes]
        close = [(b == template.record["bits"]).mean() >= self.share for b in bits]
        return np.array(close, dtype=bool)

    def reproduce(self, template: Template, probe: Any) -> bytes:
        try:
            accepted = self.verify(template, probe)
        except DataError as error:
            raise TemplateError("no") from error
        if not accepted:
            raise TemplateError("no")
        return template.record["bits"].tobytes()

    def public(self) -> Self:
        return self

    def settings(self) -> dict[str, Scalar]:
        return {"share": self.share}

    def _bits(self, x: NDArray[Any], seed: int) -> NDArray[np.uint8]:
        rows = np.random.default_rng(seed).standard_normal((64, self.dim_))
        return (255 * (rows @ x > 0)).astype(np.uint8)

    def _mean(self, x: Any) -> NDArray[Any]:
        rows = np.atleast_2d(x)
        usable = rows.dtype.kind == "f" and rows.shape[1] == self.dim_ and np.isfinite(rows).all()
        if not usable or (rows == rows[:, :1]).all():
            raise DataError("cannot be used")
        return rows.mean(axis=0)


class Elsewhere(Signs):
    def fit(self, samples: Samples, /) -> Self:
        made = replace(self)
        made.dim_ = samples.dim
        return made


class StoresTheVector(Signs):
    def enrol(self, x: Any, rng: np.random.Generator) -> Template:
        made = super().enrol(x, rng)
        return replace(made, helper={"seed": np.append(made.helper["seed"], 0)} | {"x": 3 * x})


class RefusesEverybody(Signs):
    def verify_many(self, template: Template, probes: Any) -> NDArray[np.bool_]:
        return np.zeros(len(probes), dtype=bool)


class AcceptsEverybody(Signs):
    def verify_many(self, template: Template, probes: Any) -> NDArray[np.bool_]:
        return np.ones(len(super().verify_many(template, probes)), dtype=bool)


class AnswersNumbers(Signs):
    def verify_many(self, template: Template, probes: Any) -> Any:
        return super().verify_many(template, probes).astype(int)


class Disagrees(Signs):
    def verify_many(self, template: Template, probes: Any) -> NDArray[np.bool_]:
        found = super().verify_many(template, probes)
        return found if len(probes) == 1 else np.ones_like(found)


class ProbeDecidesTheBytes(Signs):
    def reproduce(self, template: Template, probe: Any) -> bytes:
        super().reproduce(template, probe)
        return np.asarray(probe).tobytes()


class ReproducesAlways(Signs):
    def reproduce(self, template: Template, probe: Any) -> bytes:
        return template.record["bits"].tobytes()


class OneMatrixForAll(Signs):
    def enrol(self, x: Any, rng: np.random.Generator) -> Template:
        return super().enrol(x, np.random.default_rng(0))


class Dice(Signs):
    def enrol(self, x: Any, rng: np.random.Generator) -> Template:
        return super().enrol(x, np.random.default_rng())


class Remembers(Signs):
    count: int = 0

    def fit(self, samples: Samples, /) -> Self:
        self.count += 1
        return super().fit(samples)

    def enrol(self, x: Any, rng: np.random.Generator) -> Template:
        rng.integers(9, size=self.count)
        return super().enrol(x, rng)


class TakesNan(Signs):
    def _mean(self, x: Any) -> NDArray[Any]:
        return super()._mean(np.nan_to_num(x) if np.asarray(x).dtype.kind == "f" else x)


class WrongError(Signs):
    def reproduce(self, template: Template, probe: Any) -> bytes:
        if not self.verify(template, probe):
            raise TemplateError("no")
        return template.record["bits"].tobytes()


class ReadsOthers(Signs):
    def verify_many(self, template: Template, probes: Any) -> NDArray[np.bool_]:
        return super().verify_many(replace(template, scheme="signs"), probes)


class IgnoresAlteredBits(Signs):
    def enrol(self, x: Any, rng: np.random.Generator) -> Template:
        made = super().enrol(x, rng)
        return replace(made, helper={"seed": np.append(made.helper["seed"], made.record["bits"])})

    def verify_many(self, template: Template, probes: Any) -> NDArray[np.bool_]:
        if template.helper:
            copy = {"bits": template.helper["seed"][1:]}
            template = replace(template, record=copy)
        return super().verify_many(template, probes)


class WritesBack(Signs):
    def enrol(self, x: Any, rng: np.random.Generator) -> Template:
        made = super().enrol(x, rng)
        x *= 2
        return made


class TellsArrays(Signs):
    def settings(self) -> dict[str, Scalar]:
        return {"dim": np.int64(self.dim_)}  # type: ignore[dict-item]


class HalfAScheme:
    def fit(self, samples: Samples, /) -> Self:
        return self


@pytest.mark.parametrize("form", [Signs, lambda: Signs(0.7), Signs(0.9)])
def test_an_honest_scheme_passes_in_every_form(form: Any) -> None:
    check_scheme(form)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (HalfAScheme, "lacks a method of its contract"),
        (Elsewhere, "fit must return self"),
        (StoresTheVector, "holds the embedding itself in 'x'"),
        (RefusesEverybody, "the enrolled vector is refused"),
        (AcceptsEverybody, "the opposite vector is accepted"),
        (AnswersNumbers, "one bool per probe"),
        (Disagrees, "verify and verify_many disagree"),
        (ProbeDecidesTheBytes, "reproduce different bytes"),
        (ReproducesAlways, "reproduce and verify disagree"),
        (OneMatrixForAll, "not renewable"),
        (Dice, "the templates of a seed differ"),
        (Remembers, "remembers something of the first"),
        (TakesNan, "enrol takes NaN: no DataError"),
        (WrongError, "reproduce takes a vector of another length: DataError, not TemplateError"),
        (ReadsOthers, "verify, another scheme: no TemplateError"),
        (IgnoresAlteredBits, "an altered 'bits' verifies"),
        (WritesBack, "the input was modified"),
        (TellsArrays, "setting 'dim' is not a plain scalar"),
    ],
)
def test_a_broken_scheme_is_named(broken: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(sentence)):
        check_scheme(broken)


def test_parts_that_could_hold_objects_are_no_template() -> None:
    with pytest.raises(DataError, match="plain numbers"):
        Template("signs", 1, {"x": np.array([object()])}, {})


def test_a_template_is_frozen_and_does_not_print_what_it_stores() -> None:
    given = np.arange(3)
    template = Template("signs", 1, {"x": given}, {"seed": np.array([7])})
    given[0] = 9
    assert template.record["x"][0] == 0
    with pytest.raises(ValueError, match="read-only"):
        template.record["x"][0] = 1
    with pytest.raises(TypeError):
        template.record["y"] = given  # type: ignore[index]
    assert repr(template) == "Template(scheme='signs', version=1)"
    assert dict(template.partial().helper) == {}
    assert set(template.partial().record) == {"x"}
