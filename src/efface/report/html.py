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
from efface.report.schema import from_json, to_json
from efface.report.words import clip
from efface.results import Report

Drawing = tuple[str, Callable[[str], str], str]
Figure = tuple[str, Markup, str]

_PER_CHART = 8
_MAPS = 6


def to_html(report: Report) -> str:
    """A pure function of the JSON: an old report renders again, to the same page."""
    data = to_json(report)
    report = from_json(data, "this report")
    template = environment().get_template("report.html.j2")
    return template.render(
        report=report,
        page=view.page(report),
        figures=_figures(report),
        plan=_pretty(report.provenance.plan),
        digest=hashlib.sha256(data).hexdigest(),
    )


@cache
def environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("efface.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("clean", "clip", "one_in", "percent", "rate", "interval", "times"):
        environment.filters[name] = getattr(words, name)
    environment.filters["setting"] = view.setting
    environment.filters["thousands"] = "{:,}".format
    environment.globals["count"] = words.count
    return environment


def _unbroken(value: Any) -> Any:
    """A number and its per cent sign stay on one line."""
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if isinstance(value, str) else value


def _figures(report: Report) -> dict[str, list[Figure]]:
    """Every chart the report has data for, with its caption, by the section it belongs to."""
    return {
        section: [
            (words, Markup(draw(f"{section}-{i}")), note)
            for i, (words, draw, note) in enumerate(draws)
        ]
        for section, draws in _drawings(report).items()
    }


def _drawings(report: Report) -> dict[str, list[Drawing]]:
    """Captions, charts that still want the id they will have on the page, and notes."""
    names = view.ordered(report)
    shipped = view.releases(report)
    transfers = [t for t in (report.transfer,) if t is not None and t.cosines]
    return {
        "before": _before_after(report),
        "tradeoff": _tradeoff(report),
        "rank": _sweeps(report, rank=True),
        "people": _sweeps(report, rank=False),
        "energy": [("Identity energy by direction", partial(charts.energy, shipped), "")]
        if any(r.energy for r in shipped)
        else [],
        "maps": [
            (clip(m.release, 48), partial(charts.scatter, m), "") for m in view.maps(report)[:_MAPS]
        ],
        "utility": [("Share kept", partial(charts.usefulness, report.utility, names), "")]
        if report.utility
        else [],
        "angles": [("Principal angles", partial(charts.angles, t), "") for t in transfers],
    }


def _before_after(report: Report) -> list[Drawing]:
    """One chart for each protected release, the one that decided first."""
    headline = [m for m in report.measurements if m.case.far == report.provenance.far]
    measured = {m.case.release for m in headline}
    raw = view.raw(report)
    names = [n for n in view.ordered(report) if n != raw] or [raw]
    return [
        (
            f"{clip(raw, 24)} and {clip(name, 48)}" if name != raw else clip(raw, 48),
            partial(charts.before_after, headline, raw, name, report.verdict.limit),
            "",
        )
        for name in names[:_PER_CHART]
        if name in measured
    ]


def _tradeoff(report: Report) -> list[Drawing]:
    curves, far = view.curves(report), report.provenance.far
    if not curves:
        return []
    return [
        ("ROC: how many are linked", partial(charts.roc, curves, far), ""),
        ("DET: how many are missed", partial(charts.det, curves, far), ""),
    ]


def _sweeps(report: Report, rank: bool) -> list[Drawing]:
    return [
        (view.sweep_title(sweep), partial(charts.sweep, sweep, report.provenance.far), sweep.note)
        for sweep in report.sweeps
        if (sweep.axis == "rank") == rank
    ]


def _pretty(plan: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(plan), indent=2).decode() if plan else ""
