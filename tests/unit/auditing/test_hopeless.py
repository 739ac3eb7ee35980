"""A limit that few people can never meet is named before anything is attacked."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import efface
from efface.api import fit_projector
from efface.auditing import table
from efface.auditing.hopeless import needed, warn_if_hopeless
from efface.data import synthetic
from efface.errors import EffaceWarning
from efface.types import Samples


@pytest.fixture(scope="module")
def samples() -> Samples:
    return synthetic.embedding_world(people=60, images=5, dim=24, rank=6, context_rank=6).samples


@given(st.floats(1e-4, 0.99), st.floats(0.5, 0.999))
def test_the_number_named_is_the_smallest(limit: float, level: float) -> None:
    """By the definition: with p = limit, (1 - p)^n must not exceed half of 1 - level."""
    least = next(
        n for n in range(max(1, needed(limit, level) - 2), 10**6)
        if n * math.log1p(-limit) <= math.log((1 - level) / 2) + 1e-9
    )  # fmt: skip
    assert needed(limit, level) == least


def test_the_page_names_the_same_numbers() -> None:
    assert (needed(0.05, 0.95), needed(0.01, 0.95)) == (72, 368)


def test_enough_people_are_no_matter() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_hopeless("the gate", None, 1, 0.95, "test")
        warn_if_hopeless("the gate", 0.05, 72, 0.95, "test")
        warn_if_hopeless("the gate", 1.0, 1, 0.95, "test")
    with pytest.warns(EffaceWarning, match="with 71 test people .* it takes 72 of them"):
        warn_if_hopeless("the gate", 0.05, 71, 0.95, "test")
    with pytest.warns(EffaceWarning, match="give a limit above zero"):
        warn_if_hopeless("the gate", 0.0, 10**6, 0.95, "test")


class Attacked(Exception):
    pass


def stop(*_: Any) -> None:
    raise Attacked


def test_an_audit_says_so_first(samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "run", stop)
    says = "the gate is 0.05, but with 12 test people no upper end can be below 0.265"
    with pytest.warns(EffaceWarning, match=says), pytest.raises(Attacked):
        efface.audit(samples, attacks=["cosine"], far=1e-2, fail_above=0.05)


def test_so_does_a_fit(samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "run", stop)
    says = "the target of rank auto is 0.05, but with .* calibration people"
    with pytest.warns(EffaceWarning, match=says), pytest.raises(Attacked):
        fit_projector(samples, target=0.05, far=1e-2)
