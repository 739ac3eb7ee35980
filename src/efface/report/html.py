"""The report as one HTML file that opens offline: no script, no request, nothing beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from efface.report import charts, view, words
from efface.report.schema import to_json
from efface.results import Report

Drawing = Callable[[str], str]

_PER_CHART = 8
_MAPS = 6


def to_html(report: Report) -> str:
    """A pure function of the report: an old one renders again without its data."""
    template = _environment().get_template("report.html.j2")
    return template.render(
        report=report,
        page=view.page(report),
        figures=_figures(report),
        plan=_pretty(report.provenance.plan),
        digest=hashlib.sha256(to_json(report)).hexdigest(),
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("efface.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("clean", "clip", "one_in", "percent", "rate", "interval", "times"):
        environment.filters[name] = getattr(words, name)
    environment.filters["setting"] = view.setting
    environment.filters["thousands"] = "{:,}".format
    environment.globals["count"] = words.count
    return environment


def _figures(report: Report) -> dict[str, list[Markup]]:
    """Every chart the report has data for, by the section it belongs to."""
    return {
        section: [Markup(draw(f"{section}-{i}")) for i, draw in enumerate(draws)]
        for section, draws in _drawings(report).items()
    }


def _drawings(report: Report) -> dict[str, list[Drawing]]:
    """Charts that still want the id they will have on the page."""
    far = report.provenance.far
    curves = view.curves(report)
    transfers = [t for t in (report.transfer,) if t is not None and t.cosines]
    return {
        "before": _before_after(report),
        "tradeoff": [partial(draw, curves, far) for draw in (charts.roc, charts.det) if curves],
        "rank": _sweeps(report, rank=True),
        "people": _sweeps(report, rank=False),
        "energy": [partial(charts.energy, report.releases)]
        if any(r.energy for r in report.releases)
        else [],
        "maps": [partial(charts.scatter, shown) for shown in view.maps(report)[:_MAPS]],
        "utility": [partial(charts.usefulness, report.utility)] if report.utility else [],
        "angles": [partial(charts.angles, transfer) for transfer in transfers],
    }


def _before_after(report: Report) -> list[Drawing]:
    """One chart for each protected release, the one that decided first."""
    headline = [m for m in report.measurements if m.case.far == report.provenance.far]
    measured = {m.case.release for m in headline}
    raw = view.raw(report)
    names = [n for n in view.ordered(report) if n != raw] or [raw]
    return [
        partial(charts.before_after, headline, raw, name, report.verdict.limit)
        for name in names[:_PER_CHART]
        if name in measured
    ]


def _sweeps(report: Report, rank: bool) -> list[Drawing]:
    return [
        partial(charts.sweep, sweep, report.provenance.far)
        for sweep in report.sweeps
        if (sweep.axis == "rank") == rank
    ]


def _pretty(plan: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(plan), indent=2).decode() if plan else ""
