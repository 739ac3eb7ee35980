"""Pages of reports that nobody should make: hostile strings, numbers at their ends, too much."""

from __future__ import annotations

import re
from typing import Any

import hostile
import msgspec
import pytest
import report_world
from report_edit import edited
from report_page import Page

from efface.report.html import to_html
from efface.report.junit import to_junit
from efface.report.schema import from_json
from efface.report.words import clean


def test_hostile_strings_stay_text() -> None:
    report = hostile.report()
    html = to_html(report)
    page = Page(html)
    assert hostile.SCRIPT in page.text
    tags = {tag for tag, _ in page.found}
    assert not tags & {"script", "iframe", "img"}
    assert all(a.get("class") == "chart" for a in page.all("svg"))
    assert not [name for _, a in page.found for name in a if name.startswith("on")]
    assert clean(html) == html
    assert "{{7*7}}" in html
    assert len(html) < 2_000_000


EXTREMES: list[tuple[str, Any]] = [
    ("provenance.far", 5e-324), ("provenance.far", 1 - 1e-16), ("verdict.limit", 0),
    ("verdict.limit", 5e-324), ("measurements.0.case.far", 5e-324),
    ("measurements.0.curve", {"far": [5e-324, 1.0], "tar": [5e-324, 1.0]}),
    ("measurements.0.curve", {"far": [0.0, 0.0], "tar": [0.0, None]}),
    ("measurements.0.curve", {"far": [], "tar": []}),
    ("measurements.0.threshold", -1e99), ("measurements.0.setting", {"a": 1e99, "b": None}),
    ("measurements.0.counts", {"mated": 2**127, "mated_accepted": 2**127, "impostor": 0,
     "impostor_accepted": 0, "calibration_impostor": 0, "calibration_allowed": 0,
     "calibration_accepted": 0}),
    ("releases.1.rank", 512), ("releases.1.energy", [1.0]), ("releases.1.energy", [0.0] * 5_000),
    ("sweeps.0.points.0.x", 2**127), ("sweeps.0.chosen", 2**127), ("sweeps.0.target", 0),
    ("sweeps.0.points", []), ("transfer.cells", []), ("utility.0.share.value", 1e99),
    ("maps.0", {"release": "raw", "method": "", "x": [1e99, -1e99], "y": [0, 1e-99],
     "person": [0, 2**100]}),
    ("subject.parts", {}), ("provenance.seed", 2**127), ("provenance.versions", {}),
    ("worst_cases.0.far", {"value": 5e-324}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), EXTREMES)
def test_the_ends_of_what_is_allowed_are_drawn(path: str, value: Any) -> None:
    if path.startswith("utility"):
        value = {"value": value}
        path = path.removesuffix(".value")
    report = from_json(edited(path, value))
    drawn = "".join(re.findall(r"<svg.*?</svg>", to_html(report), re.S))
    coordinates = re.findall(r'(?:x\d?|y\d?|points|d|width)="([^"]*)"', drawn)
    assert coordinates
    assert not [c for c in coordinates if "nan" in c or "inf" in c or "e+" in c]
    assert to_junit(report)


def test_a_report_with_many_releases_stays_a_page() -> None:
    full = report_world.build()
    names = [f"isp-{rank}" for rank in range(1, 61)]
    releases = [full.releases[0]] + [
        msgspec.structs.replace(full.releases[1], name=name) for name in names
    ]
    worst = [full.worst_cases[0]] + [
        msgspec.structs.replace(full.worst_cases[1], release=name) for name in names
    ]
    points = [
        report_world.measurement(name, attack, "parrot", 0.3)
        for name in names
        for attack in report_world.ATTACKS
    ]
    report = report_world.build(
        releases=releases, worst_cases=worst, measurements=points, sweeps=[], utility=[], maps=[],
        verdict=msgspec.structs.replace(full.verdict, release="isp-7"),
    )  # fmt: skip
    html = to_html(report)
    assert html.count("<svg") <= 20
    assert len(html) < 3_000_000
    assert all(name in html for name in names)
