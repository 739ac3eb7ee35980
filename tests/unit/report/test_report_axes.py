"""Scales, ticks and legends: order kept, edges kept, no labels on top of one another."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.report.charts import axes, marks
from efface.report.words import width

FINITE = st.floats(-1e12, 1e12)


@settings(deadline=None)
@given(FINITE, FINITE, FINITE)
def test_a_scale_keeps_order_and_stays_inside(a: float, b: float, v: float) -> None:
    low, high = sorted((a, b))
    scale = axes.Scale(low, high, 10.0, 90.0)
    assert 10 <= scale(v) <= 90
    if low < high:
        assert (scale(low), scale(high)) == (10.0, 90.0)


@settings(deadline=None)
@given(st.floats(1e-7, 1), st.floats(1e-7, 1))
def test_a_logarithmic_scale_turns_ratios_into_distances(a: float, b: float) -> None:
    scale = axes.Scale(1e-8, 10.0, 0.0, 900.0, log=True)
    assert scale(a) - scale(b) == pytest.approx(100 * math.log10(a / b), abs=1e-6)


@settings(deadline=None)
@given(FINITE, st.floats(1e-9, 1e12))
def test_ticks_are_round_inside_and_evenly_spaced(low: float, span: float) -> None:
    high = low + span
    found = axes.steps(low, high)
    slack = max(abs(low), abs(high)) * 1e-9 + span * 1e-6
    assert 1 <= len(found) <= 12
    assert all(low - slack <= v <= high + slack for v in found)
    gaps = [b - a for a, b in pairwise(found)]
    assert all(g == pytest.approx(gaps[0], rel=1e-3, abs=slack) for g in gaps)


def test_decades() -> None:
    assert axes.decades(1e-3, 1) == [
        (1e-3, "10⁻³"), (1e-2, "10⁻²"), (1e-1, "10⁻¹"), (1.0, "1"),
    ]  # fmt: skip
    assert len(axes.decades(1e-20, 1)) <= 8
    assert axes.decades(1e-20, 1)[-1] == (1.0, "1")


@settings(deadline=None)
@given(st.lists(st.integers(0, 100_000), min_size=1, unique=True).map(sorted))
def test_tick_labels_never_collide(values: list[int]) -> None:
    scale = axes.Scale(0, 100_000, 0.0, 400.0)
    ticks = axes.counts(values, scale, values[-1:])
    spans = [(scale(v) - width(w, 12.5) / 2, scale(v) + width(w, 12.5) / 2) for v, w in ticks]
    assert all(a[1] < b[0] for a, b in pairwise(spans))
    assert ticks[-1][0] == values[-1]


@settings(deadline=None)
@given(st.lists(st.text(max_size=80), min_size=1, max_size=12))
def test_a_legend_stays_between_its_edges(names: list[str]) -> None:
    drawn, taken = marks.legend([marks.Key(n, "s") for n in names], 0.0, 8.0, 420.0)
    svg = ET.fromstring(f"<svg>{drawn}</svg>")
    for element in svg.iter("text"):
        right = float(element.get("x", "")) + width(element.text or "", 12.5)
        assert right <= 420 or float(element.get("x", "")) == 26
        assert float(element.get("y", "")) <= taken + 8
