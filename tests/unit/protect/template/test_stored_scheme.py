"""A fitted scheme as text: read again it reads the same templates."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from template_worlds import BASES, crowd, small

from efface.errors import TemplateError
from efface.protect.template import (
    MRP,
    Argon2id,
    BioHash,
    FacialFE,
    Hardening,
    L2FEHash,
    describe,
    restore,
)

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")

PEPPER = b"0123456789abcdef"
HARD = Hardening(kdf=Argon2id(1, 64, 1), pepper=PEPPER, bind=True, probes="vote", votes=2)
SCHEMES = [
    MRP(n=32, threshold=1.0),
    BioHash(n=32, hardening=Hardening(pepper=PEPPER)),
    FacialFE(),
    FacialFE(scale=2.0, hardening=HARD),
    small(),
    small(hardening=HARD),
]


@pytest.mark.parametrize("number", range(len(SCHEMES)))
def test_restored_it_reads_the_same_templates(number: int) -> None:
    samples = crowd()
    scheme: Any = SCHEMES[number].fit(samples).calibrate(samples, 0.05, images=2)
    template = scheme.enrol(samples.data[:2], np.random.default_rng(0))
    text = describe(scheme)
    runtime = {"bases": BASES} if isinstance(scheme, L2FEHash) else {}
    again = restore(text, pepper=scheme.hardening.pepper, **runtime)
    assert describe(again) == text
    tries = samples.data.reshape(-1, 2, 64)
    answers = again.verify_many(template, tries)
    np.testing.assert_array_equal(answers, scheme.verify_many(template, tries))
    assert answers[0]


def test_the_text_holds_no_pepper_and_without_it_nothing_is_read() -> None:
    samples = crowd()
    scheme = small(hardening=HARD).fit(samples)
    text = describe(scheme)
    assert PEPPER not in text
    assert PEPPER.hex().encode() not in text
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    with pytest.raises(TemplateError, match="pepper, which is not known here"):
        restore(text, bases=BASES).verify(template, samples.data[:2])
    with pytest.raises(TemplateError, match="set up without one"):
        restore(describe(small().fit(samples)), pepper=PEPPER)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "efface.scheme/2"},
        {"scheme": "l3fe-hash"},
        {"scheme": "mrp"},
        {"version": 2},
        {"extra": 1},
        {"settings": {}},
        {"settings.m": "40"},
        {"settings.m": 41.5},
        {"settings.scale": None},
        {"settings.minimum": None},
        {"settings.maximum": -9.0},
        {"settings.kdf": "md5"},
        {"settings.votes": 0},
        {"settings.unknown": 3},
        {"settings.dim": 0},
        {"settings.q": 130004},
    ],
    ids=str,
)
def test_a_text_that_was_changed_is_refused(change: dict[str, Any]) -> None:
    found = json.loads(describe(small().fit(crowd(people=3))))
    for name, value in change.items():
        where = found["settings"] if "." in name else found
        where[name.split(".")[-1]] = value
    with pytest.raises(TemplateError):
        restore(json.dumps(found).encode())


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b'{"format": 1}'])
def test_what_is_no_configuration_is_refused(text: bytes) -> None:
    with pytest.raises(TemplateError):
        restore(text)
