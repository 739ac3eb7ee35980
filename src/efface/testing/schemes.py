"""The contract of :class:`efface.types.TemplateScheme` as checks."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, EffaceWarning, TemplateError
from efface.testing.common import (
    Maker,
    bytes_of,
    constructor_stores,
    content,
    fresh_rng,
    maker,
    require,
    world,
)
from efface.types import Parts, Samples, Template, TemplateScheme

_VERBATIM = 1 - 1e-6
"""Cosine above which a stored array is the embedding itself, whatever its scale and type."""


def check_scheme(scheme: Any, samples: Samples | None = None) -> None:
    """Hold a template scheme (an instance, a class or a factory) to its contract.

    Without ``samples`` it is tried on a small made-up set, in float32 and in float64. That other
    pictures of a person are accepted, and other people are not, is a matter of measurement: asked
    here is only that the enrolled vector itself verifies and its opposite does not.
    """
    make = maker(scheme)
    tries = [world(12, 4, 48, t) for t in (np.float32, np.float64)]
    for given in tries if samples is None else [samples]:
        constructor_stores(make, TemplateScheme)
        for rule in _SCHEME_RULES:
            before = content(given)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EffaceWarning)  # what is known to break it
                rule(make, given)
            require(content(given) == before, f"{_said(rule)}: the input was modified")


def _fit_returns_self(make: Maker, samples: Samples) -> None:
    scheme = make()
    require(scheme.fit(samples) is scheme, "fit must return self")


def _template_is_well_formed(make: Maker, samples: Samples) -> None:
    scheme, template = _enrolled(make, samples)
    require(isinstance(template, Template), "enrol must return an efface Template")
    card = getattr(scheme, "card", None)
    named = card is None or template.scheme == card.name
    require(named, f"the template says it is of {template.scheme!r}, the scheme's name is another")
    require(len(template.record) > 0, "the template has no record: nothing to compare with")


def _embedding_is_not_stored(make: Maker, samples: Samples) -> None:
    _, template = _enrolled(make, samples)
    for name, value in {**template.record, **template.helper}.items():
        near = _cosine(value, samples.data[0])
        require(near < _VERBATIM, f"the template holds the embedding itself in {name!r}")


def _own_vector_verifies_and_its_opposite_does_not(make: Maker, samples: Samples) -> None:
    scheme, template = _enrolled(make, samples)
    require(scheme.verify(template, samples.data[0]) is True, "the enrolled vector is refused")
    require(scheme.verify(template, -samples.data[0]) is False, "the opposite vector is accepted")


def _one_by_one_and_many_agree(make: Maker, samples: Samples) -> None:
    scheme, template = _enrolled(make, samples)
    probes = samples.data[:12]
    many = scheme.verify_many(template, probes)
    require(many.dtype == bool and many.shape == (len(probes),), "verify_many: one bool per probe")
    single = [scheme.verify(template, probe) for probe in probes]
    require(many.tolist() == single, "verify and verify_many disagree")
    none = scheme.verify_many(template, probes[:0])
    require(none.shape == (0,), "verify_many of no probes must give no answers")


def _reproduce_agrees_with_verify(make: Maker, samples: Samples) -> None:
    scheme, template = _enrolled(make, samples)
    noise = fresh_rng().standard_normal((3, samples.dim)) * 1e-4 / np.sqrt(samples.dim)
    probes = np.concatenate([samples.data[:12], samples.data[0] + noise])
    keys = [_reproduced(scheme, template, probe) for probe in probes]
    accepted = scheme.verify_many(template, probes)
    same = [key is not None for key in keys] == accepted.tolist()
    require(same, "reproduce and verify disagree")
    require(len({*keys} - {None}) == 1, "accepted probes reproduce different bytes")
    require(_reproduced(scheme, template, -samples.data[0]) is None, "reproduce accepts a stranger")


def _several_pictures_are_taken(make: Maker, samples: Samples) -> None:
    scheme = make().fit(samples)
    own = samples.data[samples.identity == samples.identity[0]]
    template = scheme.enrol(own, fresh_rng())
    require(isinstance(template, Template), "enrol of several pictures must return one Template")
    probes = np.stack([own, -own])
    many = scheme.verify_many(template, probes)
    require(many.tolist() == [scheme.verify(template, p) for p in probes],
            "verify and verify_many disagree on probes of several pictures")  # fmt: skip
    require(not many[1], "the opposite of several pictures is accepted")


def _templates_are_deterministic_and_fresh(make: Maker, samples: Samples) -> None:
    one, two = (_enrolled(make, samples)[1] for _ in range(2))
    require(_parts(one) == _parts(two), "fitted and enrolled alike, the templates of a seed differ")
    other = make().fit(samples).enrol(samples.data[0], fresh_rng(1))
    same = [name for name in one.record if bytes_of(one.record[name]) == _of(other, name)]
    require(not same, f"two enrolments of one vector share their record {same}: not renewable")


def _refit_forgets(make: Maker, samples: Samples) -> None:
    half = samples.take(np.flatnonzero(samples.identity >= len(samples.names) // 2))
    used = make().fit(half).fit(samples).enrol(samples.data[0], fresh_rng())
    fresh = _enrolled(make, samples)[1]
    require(_parts(used) == _parts(fresh), "a second fit remembers something of the first")


def _unusable_vectors_are_refused(make: Maker, samples: Samples) -> None:
    scheme, template = _enrolled(make, samples)
    for what, bad in _unusable(samples.data[0]).items():
        _raises(DataError, f"enrol takes {what}", scheme.enrol, bad, fresh_rng())
        _raises(DataError, f"verify takes {what}", scheme.verify, template, bad)
        _raises(TemplateError, f"reproduce takes {what}", scheme.reproduce, template, bad)


def _foreign_templates_are_refused(make: Maker, samples: Samples) -> None:
    scheme, template = _enrolled(make, samples)
    probe = samples.data[0]
    wrong = {
        "another scheme": replace(template, scheme="of-somebody-else"),
        "another version": replace(template, version=template.version + 1),
        "no helper": template.partial(),
    }
    if not template.helper:
        wrong.pop("no helper")
    for what, foreign in wrong.items():
        _raises(TemplateError, f"verify, {what}", scheme.verify, foreign, probe)
        _raises(TemplateError, f"reproduce, {what}", scheme.reproduce, foreign, probe)


def _altered_records_are_a_plain_no(make: Maker, samples: Samples) -> None:
    scheme, template = _enrolled(make, samples)
    for name, value in template.record.items():
        altered = replace(template, record={**template.record, name: _opposite(value)})
        require(scheme.verify(altered, samples.data[0]) is False, f"an altered {name!r} verifies")
        require(_reproduced(scheme, altered, samples.data[0]) is None, f"altered {name!r} serves")


def _public_scheme_and_settings_are_plain(make: Maker, samples: Samples) -> None:
    scheme = make().fit(samples)
    require(type(scheme.public()) is type(scheme), "public must return a scheme of the same type")
    for name, value in scheme.settings().items():
        plain = value is None or isinstance(value, str | int | float | bool)
        require(plain and isinstance(name, str), f"setting {name!r} is not a plain scalar")
    try:
        json.dumps(scheme.settings(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"settings cannot be written as JSON: {error}") from error


_SCHEME_RULES: tuple[Callable[[Maker, Samples], None], ...] = (
    _fit_returns_self,
    _template_is_well_formed,
    _embedding_is_not_stored,
    _own_vector_verifies_and_its_opposite_does_not,
    _one_by_one_and_many_agree,
    _reproduce_agrees_with_verify,
    _several_pictures_are_taken,
    _templates_are_deterministic_and_fresh,
    _refit_forgets,
    _unusable_vectors_are_refused,
    _foreign_templates_are_refused,
    _altered_records_are_a_plain_no,
    _public_scheme_and_settings_are_plain,
)


def _said(rule: Callable[..., None]) -> str:
    return rule.__name__.strip("_").replace("_", " ")


def _enrolled(make: Maker, samples: Samples) -> tuple[Any, Template]:
    scheme = make().fit(samples)
    return scheme, scheme.enrol(samples.data[0], fresh_rng())


def _reproduced(scheme: Any, template: Template, probe: NDArray[Any]) -> bytes | None:
    try:
        key: bytes = scheme.reproduce(template, probe)
    except TemplateError:
        return None
    return key


def _raises(expected: type[Exception], broken: str, call: Callable[..., Any], *given: Any) -> None:
    try:
        call(*given)
    except expected:
        return
    except Exception as error:
        raise AssertionError(
            f"{broken}: {type(error).__name__}, not {expected.__name__}"
        ) from error
    raise AssertionError(f"{broken}: no {expected.__name__}")


def _unusable(x: NDArray[Any]) -> dict[str, NDArray[Any]]:
    hole, infinite = x.copy(), x.copy()
    hole[1], infinite[2] = np.nan, np.inf
    return {
        "a vector of another length": x[:-1],
        "NaN": hole,
        "infinity": infinite,
        "a zero vector": np.zeros_like(x),
        "a vector whose elements are all equal": np.full_like(x, 0.25),
        "a vector without elements": x[:0],
        "text": np.array(["a"] * len(x)),
        "a number": np.asarray(x[0]),
    }


def _opposite(value: NDArray[Any]) -> NDArray[Any]:
    return -value if value.dtype.kind == "f" else ~value


def _cosine(value: NDArray[Any], x: NDArray[Any]) -> float:
    """How much a stored array of the embedding's length points along it."""
    if value.size != x.size:
        return 0.0
    one, two = value.reshape(-1).astype(np.float64), x.astype(np.float64)
    lengths = float(np.linalg.norm(one)) * float(np.linalg.norm(two))
    return abs(float(one @ two)) / lengths if lengths else 0.0


def _parts(template: Template) -> dict[str, bytes]:
    named: list[tuple[str, Parts]] = [("record", template.record), ("helper", template.helper)]
    return {f"{where}.{k}": bytes_of(v) for where, parts in named for k, v in parts.items()}


def _of(template: Template, name: str) -> bytes | None:
    records: Mapping[str, NDArray[Any]] = template.record
    return bytes_of(records[name]) if name in records else None
