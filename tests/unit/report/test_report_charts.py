"""Charts: well formed, described, inside their frame, and true to the numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import report_world

from efface.report import charts
from efface.report.charts import marks
from efface.results import Curve, Estimate, Map, Report, Sweep, SweepPoint, UtilityScore

FAR = report_world.FAR
SVG = {
    "before_after": lambda r: charts.before_after(
        [m for m in r.measurements if m.case.far == FAR], "raw", "isp-128", 0.05, "u"
    ),
    "roc": lambda r: charts.roc([(0, "raw", r.measurements[0].curve)], FAR, "u"),
    "det": lambda r: charts.det([(0, "raw", r.measurements[0].curve)], FAR, "u"),
    "rank": lambda r: charts.sweep(r.sweeps[0], FAR, "u"),
    "people": lambda r: charts.sweep(r.sweeps[1], FAR, "u"),
    "energy": lambda r: charts.energy(r.releases, "u"),
    "scatter": lambda r: charts.scatter(r.maps[0], "u"),
    "usefulness": lambda r: charts.usefulness(r.utility, [x.name for x in r.releases], "u"),
    "angles": lambda r: charts.angles(r.transfer, "u"),
}  # fmt: skip


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in parse(svg).iter("text")]


def numbers(svg: ET.Element) -> list[tuple[float, float]]:
    """Every point of every line, polyline and polygon."""
    found = []
    for element in svg.iter():
        if element.tag == "line":
            found += [(float(element.get(f"x{i}", "")), float(element.get(f"y{i}", "")))
                      for i in (1, 2)]  # fmt: skip
        for pair in (element.get("points") or "").split():
            x, y = pair.split(",")
            found.append((float(x), float(y)))
    return found


@pytest.mark.parametrize("draw", SVG.values(), ids=SVG.keys())
def test_every_chart_is_named_and_described(
    full_report: Report, draw: Callable[[Report], str]
) -> None:
    svg = parse(draw(full_report))
    assert svg.get("role") == "img"
    ids = {e.get("id") for e in svg.iter() if e.get("id")}
    assert set((svg.get("aria-labelledby") or "").split()) == ids == {"u-title", "u-desc"}
    assert len(svg.findtext("title") or "") > 10
    assert len(svg.findtext("desc") or "") > 15
    assert [t for t in svg.iter("text") if t.get("class") == "axis-title"]
    assert len([t for t in svg.iter("text") if t.get("class") == "tick"]) >= 2


@pytest.mark.parametrize("draw", SVG.values(), ids=SVG.keys())
def test_nothing_lies_outside_the_drawing(
    full_report: Report, draw: Callable[[Report], str]
) -> None:
    svg = parse(draw(full_report))
    _, _, wide, high = (float(v) for v in (svg.get("viewBox") or "").split())
    points = numbers(svg)
    assert points
    assert all(0 <= x <= wide and 0 <= y <= high for x, y in points)


@pytest.mark.parametrize("draw", SVG.values(), ids=SVG.keys())
def test_colours_and_type_come_from_the_page(
    full_report: Report, draw: Callable[[Report], str]
) -> None:
    svg = draw(full_report)
    assert not re.search(r"#[0-9a-f]{3,6}\b|rgb\(|style=|font|fill=|stroke=", svg)


def test_dots_stand_where_the_numbers_are() -> None:
    found = [report_world.measurement("raw", "ridge", "naive", v) for v in (0.0, 0.5, 1.0)]
    places = []
    for one in found:
        svg = parse(charts.before_after([one], "raw", "raw", None, "u"))
        (dot,) = [p for p in svg.iter("path") if "m-before" in (p.get("class") or "")]
        left, _ = re.findall(r"[\d.]+", dot.get("d") or "")[:2]
        places.append(float(left))
    assert places[1] - places[0] == pytest.approx(places[2] - places[1])
    assert places[1] > places[0]


def test_before_and_after_groups_attackers_and_says_what_is_missing() -> None:
    rows = [
        report_world.measurement("raw", "ridge", "naive", 0.9),
        report_world.measurement("isp-128", "ridge", "naive", 0.2),
        report_world.measurement("isp-128", "ridge", "parrot", None),
        report_world.measurement("isp-128", "ridge", "parrot", 0.4, images=4),
        report_world.measurement("leace", "lda", "parrot", 0.4),
    ]
    said = texts(charts.before_after(rows, "raw", "isp-128", 0.05, "u"))
    assert [w for w in said if w in ("before", "naive", "parrot")] == [
        "before", "naive", "parrot", "parrot",
    ]  # fmt: skip
    assert "too little data" in said
    assert "ridge, k=4" in said
    assert "lda" not in said
    assert "limit 5 %" in said


def test_of_two_settings_under_one_name_the_worse_is_shown() -> None:
    rows = [report_world.measurement("isp-128", "ridge", "parrot", v) for v in (0.2, 0.7, 0.4)]
    said = " ".join(texts(charts.before_after(rows, "raw", "isp-128", None, "u")))
    assert "70 %" in said
    assert "20 % [" not in said


def test_chance_is_straight_on_the_roc_and_a_chance_attacker_lies_on_it() -> None:
    grid = report_world.grid()
    svg = parse(charts.roc([(1, "x", Curve(grid, list(grid)))], FAR, "u"))
    lines = {p.get("class"): p for p in svg.iter("polyline")}
    chance = [tuple(map(float, p.split(","))) for p in lines["reference"].get("points", "").split()]
    (x0, y0), (x1, y1) = chance
    (curve,) = [p for c, p in lines.items() if c != "reference"]
    for pair in curve.get("points", "").split():
        x, y = map(float, pair.split(","))
        assert y == pytest.approx(y0 + (y1 - y0) * (x - x0) / (x1 - x0), abs=0.3)


def test_a_curve_leaves_out_what_could_not_be_measured() -> None:
    curve = Curve([1e-6, 1e-3, 1e-1, 1.0], [None, 0.0, 0.5, 1.0])
    svg = parse(charts.roc([(1, "x", curve)], FAR, "u"))
    (line,) = [p for p in svg.iter("polyline") if p.get("class") != "reference"]
    assert len(line.get("points", "").split()) == 2
    assert len([p for p in svg.iter("path") if "hollow" in p.get("class", "")]) == 1


@pytest.mark.parametrize("draw", [charts.roc, charts.det])
def test_a_rate_of_zero_is_marked_as_none_observed(draw: Any) -> None:
    some = Curve([1e-4, 1e-3, 1e-2, 1e-1], [0.2, 0.3, 0.5, 0.9])
    tars = [0.0, 0.0, 0.5, 0.9] if draw is charts.roc else [0.5, 0.97, 1.0, 1.0]
    none = Curve(some.far, list(tars))
    for curve, zeros in ((some, 0), (none, 1)):
        text = draw([(1, "x", curve)], FAR, "u")
        svg = parse(text)
        hollow = [p for p in svg.iter("path") if "hollow" in p.get("class", "")]
        assert len(hollow) == zeros  # of two zeros side by side one is marked
        assert ("none observed, drawn at the foot" in text) == bool(zeros)
        (line,) = [
            p for p in svg.iter("polyline")
            if p.get("class") != "reference"
        ]  # fmt: skip
        heights = [float(place.split(",")[1]) for place in line.get("points", "").split()]
        assert len(heights) == 4 - 2 * zeros
        foot = max(
            float(one.get("y1", 0)) for one in svg.iter("line") if one.get("class") == "axis"
        )
        assert all(height < foot for height in heights) or not zeros


def sweep(values: list[tuple[int, float | None]], **more: object) -> Sweep:
    points = [SweepPoint(x=x, tar=report_world.estimate(v)) for x, v in values]
    fields = {"axis": "rank", "release": "isp", "measured_on": "test", "points": points, **more}
    return Sweep(**fields)  # type: ignore[arg-type]


def test_a_sweep_breaks_where_nothing_was_measured() -> None:
    whole = parse(charts.sweep(sweep([(1, 0.5), (2, 0.4), (3, 0.3), (4, 0.2)]), FAR, "u"))
    broken = parse(charts.sweep(sweep([(1, 0.5), (2, None), (3, 0.3), (4, 0.2)]), FAR, "u"))
    lengths = [
        [len(p.get("points", "").split()) for p in svg.iter("polyline")] for svg in (whole, broken)
    ]
    assert lengths == [[4], [2]]


def test_the_chosen_rank_is_ringed_at_its_point() -> None:
    svg = parse(charts.sweep(sweep([(8, 0.5), (16, 0.1)], chosen=16, target=0.2), FAR, "u"))
    paths = {p.get("class"): p.get("d") or "" for p in svg.iter("path")}
    ring = [p for p in svg.iter("path") if p.get("class") == "m-chosen"][-1].get("d") or ""
    dots = [p.get("d") or "" for p in svg.iter("path") if p.get("class") == "m-after"]
    height = re.findall(r"M[\d.]+ ([\d.]+)", ring)
    assert height == re.findall(r"M[\d.]+ ([\d.]+)", dots[-1])
    assert "m-chosen" in paths
    assert "16" in texts(charts.sweep(sweep([(8, 0.5), (16, 0.1)], chosen=16), FAR, "u"))


@pytest.mark.parametrize(
    "values", [[], [(5, None)], [(0, 0.0)], [(7, 1.0)], [(10**30, 0.2), (0, 0.1)]]
)
def test_a_sweep_with_little_in_it_is_drawn(values: list[tuple[int, float | None]]) -> None:
    assert parse(charts.sweep(sweep(values), FAR, "u")) is not None


def test_each_person_has_a_look_of_their_own_up_to_56() -> None:
    looks = {(marks.series(i).mark, marks.series(i).shape) for i in range(56)}
    assert len(looks) == 56


def test_a_map_keeps_distances_in_both_directions() -> None:
    """Right angles stay right: the two axes have one scale."""
    view = Map(release="r", method="m", x=[0.0, 10.0, 0.0], y=[0.0, 0.0, 2.0], person=[0, 1, 2])
    svg = parse(charts.scatter(view, "u"))
    starts = [tuple(map(float, re.findall(r"-?[\d.]+", p.get("d") or "")[:2]))
              for p in svg.iter("path")]  # fmt: skip
    centres = [_centre(p.get("d") or "") for p in svg.iter("path")]
    assert len(starts) == 3
    across = math.dist(centres[0], centres[1])
    upward = math.dist(centres[0], centres[2])
    assert across / upward == pytest.approx(5, rel=0.05)


def _centre(steps: str) -> tuple[float, float]:
    """Middle of a mark: of its corners, or half way along a circle's two arcs."""
    if "a" in steps:
        x, y, r = (float(v) for v in re.findall(r"[\d.]+", steps)[:3])
        return x + r, y
    corners = [tuple(map(float, c.split())) for c in re.findall(r"[\d.]+ [\d.]+", steps)]
    return (
        sum(c[0] for c in corners) / len(corners),
        sum(c[1] for c in corners) / len(corners),
    )


@pytest.mark.parametrize(
    "view", [([], []), ([1.0], [1.0]), ([1e99, -1e99], [0.0, 0.0]), ([0.0, 1e-300], [0.0, 0.0])]
)
def test_odd_maps_are_drawn_inside_the_frame(view: tuple[list[float], list[float]]) -> None:
    x, y = view
    svg = charts.scatter(Map(release="r", method="m", x=x, y=y, person=[0] * len(x)), "u")
    assert "nan" not in svg.split("<desc")[0] + svg.split("</desc>")[1]
    assert parse(svg) is not None


def test_a_bar_ends_at_its_share() -> None:
    def bar(value: float) -> float:
        score = UtilityScore(
            release="r", task="t", raw=Estimate(0.5), protected=Estimate(0.5),
            share=Estimate(value),
        )  # fmt: skip
        svg = parse(charts.usefulness([score], ["r"], "u"))
        return float(next(svg.iter("rect")).get("width", ""))

    assert bar(0.5) == pytest.approx(bar(1.0) / 2, abs=0.1)


def test_names_are_escaped_and_cut() -> None:
    curve = Curve([1e-3, 1.0], [0.1, 1.0])
    svg = charts.roc([(0, "<script>&\"'\u202e" + "W" * 10_000, curve)], FAR, "u")
    assert "<script" not in svg
    assert "\u202e" not in svg
    assert len(svg) < 20_000
    parse(svg)
