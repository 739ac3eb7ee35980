"""Bad input: refused with the place and the way out, and never with anything secret."""

from __future__ import annotations

import traceback
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from template_worlds import crowd, small

from efface.errors import DataError, EffaceError, EffaceWarning, TemplateError
from efface.protect.template import MRP, BioHash, FacialFE, Hardening, pack
from efface.types import Samples, Template

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")

PEPPER = b"never in a message, or a repr"


def all_schemes() -> list[Any]:
    hardening = Hardening(pepper=PEPPER)
    return [
        MRP(n=32), BioHash(n=32), FacialFE(scale=2.0), small(),
        MRP(n=32, hardening=hardening), small(hardening=hardening),
    ]  # fmt: skip


def rng_of(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def bad_vectors(x: Any) -> dict[str, Any]:
    hole, infinite = x.copy(), x.copy()
    hole[7], infinite[7] = np.nan, -np.inf
    return {
        "62 elements, the scheme was fitted on 64": x[:62],
        "NaN": hole,
        "an infinite value": infinite,
        "nothing but zeros": np.zeros(64),
        "equal elements throughout": np.full(64, -3.0),
        "not numeric": np.array(["x"] * 64),
        "got shape ()": 3.0,
        "do not form an array": [[1.0, 2.0], [3.0]],
        "got shape (1, 1, 1, 64)": x[None, None, None],
    }


@pytest.mark.parametrize("words", list(bad_vectors(np.arange(64.0))))
@pytest.mark.parametrize("number", range(6))
def test_a_vector_that_cannot_be_used_says_why(number: int, words: str) -> None:
    samples = crowd()
    scheme = all_schemes()[number].fit(samples)
    bad = bad_vectors(samples.data[0])[words]
    template = scheme.enrol(samples.data[0], rng_of())
    for call in (lambda: scheme.enrol(bad, rng_of()), lambda: scheme.verify(template, bad)):
        with pytest.raises(DataError) as caught:
            call()
        assert words in str(caught.value)
    with pytest.raises(TemplateError):
        scheme.reproduce(template, bad)


def test_a_bad_row_among_many_is_named() -> None:
    samples = crowd()
    scheme = MRP(n=32).fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    probes = samples.data[:5].copy()
    probes[3, 0] = np.nan
    with pytest.raises(DataError, match=r"row 3 .* NaN"):
        scheme.verify_many(template, probes)
    with pytest.raises(DataError, match="needs rows of 64 elements"):
        scheme.verify_many(template, samples.data[0])


def test_guesses_need_not_be_unit_vectors_but_numbers() -> None:
    samples = crowd()
    scheme = MRP(n=32).fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    assert scheme.guess(template, np.zeros((2, 64))).shape == (2,)
    for bad in (np.full((1, 64), np.nan), np.zeros((1, 63)), np.zeros(64)):
        with pytest.raises(DataError, match="finite rows of 64"):
            scheme.guess(template, bad)


def test_an_unfitted_scheme_asks_for_a_population() -> None:
    samples = crowd(people=2)
    template = MRP(n=32).fit(samples).enrol(samples.data[0], rng_of())
    for scheme in all_schemes():
        for call in (
            lambda s=scheme: s.enrol(samples.data[0], rng_of()),
            lambda s=scheme: s.verify(template, samples.data[0]),
            lambda s=scheme: s.settings(),
        ):
            with pytest.raises(DataError, match="call fit with samples of other people"):
                call()


def test_a_population_without_range_is_refused() -> None:
    flat = Samples(np.full((4, 64), 0.125), np.arange(4), np.array(list("abcd")))
    with pytest.raises(DataError, match="no range in the population"):
        small(m=64, l=21).fit(flat)


@pytest.mark.parametrize("number", range(6))
def test_templates_of_another_scheme_version_or_fit_are_named(number: int) -> None:
    samples = crowd()
    scheme = all_schemes()[number].fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    other = Template("of-old", 3, template.record, template.helper)
    with pytest.raises(
        TemplateError, match=f"'of-old', version 3, was given to '{scheme.card.name}'"
    ):
        scheme.verify(other, samples.data[0])
    config = template.helper["configuration"] ^ 1
    refit = replace(template, helper={**template.helper, "configuration": config})
    with pytest.raises(TemplateError, match="under other parameters or another fit"):
        scheme.verify(refit, samples.data[0])


@pytest.mark.parametrize("number", range(6))
def test_templates_with_parts_missing_added_or_misshapen_are_damaged(number: int) -> None:
    samples = crowd()
    scheme = all_schemes()[number].fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    for side in ("record", "helper"):
        parts = dict(getattr(template, side))
        name = sorted(parts)[-1]
        for wrong in (
            {k: v for k, v in parts.items() if k != name},
            parts | {"extra": np.zeros(3)},
            parts | {name: parts[name][:-1]},
            parts | {name: parts[name].astype("f8")},
            parts | {name: parts[name][None]},
        ):
            with pytest.raises(TemplateError, match="damaged"):
                scheme.verify(replace(template, **{side: wrong}), samples.data[0])


def test_every_failure_to_reproduce_says_the_same() -> None:
    samples = crowd()
    for scheme in all_schemes():
        scheme.fit(samples)
        template = scheme.enrol(samples.data[0], rng_of())
        said = set()
        for probe in (-samples.data[0], samples.data[20], samples.data[-1]):
            if not scheme.verify(template, probe):
                with pytest.raises(TemplateError) as caught:
                    scheme.reproduce(template, probe)
                said.add(str(caught.value))
        assert said == {"the probe does not reproduce the template"}


@pytest.mark.parametrize("number", range(6))
def test_using_a_scheme_says_what_breaks_it(number: int) -> None:
    samples = crowd()
    scheme = all_schemes()[number].fit(samples)
    with pytest.warns(EffaceWarning) as said:
        scheme.enrol(samples.data[0], rng_of())
    assert str(said[0].message) == f"{scheme.card.name}: {scheme.card.verdict}"
    assert said[0].filename == __file__  # the line that used it


def secrets_of(scheme: Any, template: Template, x: Any) -> list[str]:
    """What no message may hold, as texts: numbers of the vector, parts of the template, pepper."""
    found = [PEPPER.decode(), PEPPER.hex(), repr(PEPPER)]
    found += [f"{abs(v):.6f}" for v in x] + [repr(abs(float(v))) for v in x]
    for part in (*template.record.values(), *template.helper.values()):
        found += [part.tobytes().hex()[:16], str(part.reshape(-1)[:4])[1:-1]]
    return found


@pytest.mark.parametrize("number", range(6))
def test_no_message_warning_or_repr_holds_a_secret(number: int) -> None:
    samples = crowd()
    scheme = all_schemes()[number].fit(samples)
    x = samples.data[0]
    template = scheme.enrol(x, rng_of())
    texts = [repr(scheme), repr(template), str(scheme.settings()), repr(scheme.public())]
    hole = x.copy()
    hole[0] = np.nan
    altered = replace(template, record={k: ~v if v.dtype.kind == "u" else -v
                                        for k, v in template.record.items()})  # fmt: skip
    calls = [
        lambda: scheme.reproduce(template, -x),
        lambda: scheme.reproduce(altered, x),
        lambda: scheme.verify(template, hole),
        lambda: scheme.verify(template.partial(), x),
        lambda: scheme.enrol(x[:-1], rng_of()),
        lambda: scheme.public().verify(replace(template, version=9), x),
    ]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        scheme.enrol(x, rng_of())
        for call in calls:
            with pytest.raises(EffaceError) as caught:
                call()
            texts += traceback.format_exception_only(caught.value)
            texts += [str(caught.value.__cause__), str(caught.value.__context__)]
    texts += [str(w.message) for w in said]
    for secret in secrets_of(scheme, template, x):
        assert not [text for text in texts if secret in text], secret
    assert PEPPER not in pack(template)
