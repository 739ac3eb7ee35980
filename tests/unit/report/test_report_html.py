"""The page: self-contained, accessible, complete, and deaf to hostile strings."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import resources
from itertools import pairwise

import pytest
import report_world
from report_page import Page

from efface.report.html import to_html
from efface.report.schema import from_json, to_json
from efface.results import Estimate, Report


@pytest.fixture(scope="module")
def page(full_report: Report) -> Page:
    return Page(to_html(full_report))


@pytest.fixture(scope="module")
def css() -> str:
    return resources.files("efface.report").joinpath("templates/style.css").read_text("utf-8")


# --- self-contained -------------------------------------------------------------------------


def test_no_script_no_request(full_report: Report, page: Page) -> None:
    html = to_html(full_report)
    assert not {tag for tag, _ in page.found} & {"script", "iframe", "img", "object", "form"}
    for _, attributes in page.found:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("href", "src", "action", "data"):
            assert attributes.get(name, "#").startswith(("#", "data:"))
    assert not re.findall(r"url\(|@import|https?://", html)


def test_the_policy_forbids_what_is_not_there(page: Page) -> None:
    (policy,) = [m for m in page.all("meta") if "http-equiv" in m]
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_equal_reports_give_equal_pages(full_report: Report) -> None:
    assert to_html(full_report) == to_html(report_world.build())


def test_an_old_report_renders_again_from_its_json(full_report: Report) -> None:
    assert to_html(from_json(to_json(full_report))) == to_html(full_report)


# --- accessible -----------------------------------------------------------------------------


def test_language_landmarks_and_headings(page: Page) -> None:
    assert page.all("html") == [{"lang": "en"}]
    assert [len(page.all(tag)) for tag in ("header", "main", "footer", "nav", "h1")] == [1] * 5
    levels = [int(tag[1]) for tag, _ in page.found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_ids_are_unique_and_every_reference_is_met(page: Page) -> None:
    ids = Counter(a["id"] for _, a in page.found if "id" in a)
    assert max(ids.values()) == 1
    for _, attributes in page.found:
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(attributes.get(name, "").split()) <= set(ids)
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids


def test_tables_have_captions_and_scopes(page: Page) -> None:
    assert len(page.all("table")) == len(page.all("caption")) >= 6
    assert all(th.get("scope") in ("col", "row", "rowgroup") for th in page.all("th"))
    boxes = [a for a in page.all("div") if a.get("class", "").startswith("scroll")]
    assert len(boxes) == len(page.all("table"))
    assert all(a["role"] == "region" and a["aria-label"] and a["tabindex"] == "0" for a in boxes)


def test_charts_are_images_with_names(page: Page) -> None:
    charts = page.all("svg")
    assert len(charts) == len(page.all("figure")) == 14
    assert all(c["role"] == "img" and c["aria-labelledby"] for c in charts)


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def palettes(css: str) -> dict[str, dict[str, str]]:
    blocks = re.findall(r":root \{(.*?)\}", css, re.S)
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,8});", block)) for block in blocks]
    long = {
        k: "#" + "".join(2 * c for c in v[1:]) for p in found for k, v in p.items() if len(v) == 4
    }
    return {
        name: {k: (long[k] if len(v) == 4 else v) for k, v in palette.items()}
        for name, palette in zip(("light", "dark", "print"), found, strict=True)
    }


def test_the_contrast_formula_itself() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_every_text_has_the_contrast_of_wcag_aa(css: str, scheme: str) -> None:
    colours = palettes(css)[scheme]
    outcomes = ("pass", "fail", "inconclusive", "not-applicable")
    pairs = [(t, g) for t in ("ink", "quiet", "accent") for g in ("paper", "panel")]
    pairs += [(t, f"{o}-tint") for o in outcomes for t in ("ink", "quiet", o)]
    pairs += [(o, "paper") for o in outcomes] + [("paper", o) for o in outcomes]
    low = {p: contrast(colours[p[0]], colours[p[1]]) for p in pairs}
    assert {p: c for p, c in low.items() if c < 4.5} == {}


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_every_mark_stands_out_from_the_paper(css: str, scheme: str) -> None:
    colours = palettes(css)[scheme]
    marks = [f"c{i}" for i in range(8)] + ["accent", "bound", "quiet"]
    low = {m: contrast(colours[m], colours["paper"]) for m in marks}
    assert {m: c for m, c in low.items() if c < 3} == {}


def test_the_three_palettes_name_the_same_colours(css: str) -> None:
    light, dark, printed = palettes(css).values()
    assert set(light) == set(dark) == set(printed)
    used = set(re.findall(r"var\(--([\w-]+)\)", css)) - {"c"}
    assert used <= set(light)


# --- complete -------------------------------------------------------------------------------


def test_the_verdict_comes_first_in_words(page: Page, full_report: Report) -> None:
    text = page.text
    assert text.index("Verdict: fail") < text.index(full_report.verdict.headline)
    assert text.index(full_report.verdict.headline) < text.index("Before and after")
    for sentence in full_report.verdict.sentences:
        assert sentence in text
    assert "77.4 % 72.4 % to 82.4 %" in text


def test_every_operating_point_is_in_the_table(page: Page, full_report: Report) -> None:
    text = page.text
    assert len(full_report.measurements) == 26
    for point in full_report.measurements:
        if point.counts is None:
            assert point.note in text
            continue
        counts = point.counts
        assert f"{counts.mated_accepted:,} / {counts.mated:,}" in text
        assert f"{counts.impostor_accepted:,} / {counts.impostor:,}" in text
    assert "0.621 [0.563, 0.679] 2,683 / 4,320 0.0011 1,028 / 934,560 0.379 / 0.0011" in text
    assert "insufficient data" in text


def test_provenance_lets_a_reader_run_it_again(page: Page, full_report: Report) -> None:
    made, subject, text = full_report.provenance, full_report.subject, page.text
    named = [subject.digest, subject.split_digest, subject.split_rule, made.command, made.efface]
    for words in [*named, full_report.releases[1].digest, *made.not_tested]:
        assert words in text
    for package, version in made.versions.items():
        assert f"{package} {version}" in text
    assert "fit 283 6,412 shadow 0 0 calibration 68 1,560 test 72 1,628" in text
    assert json.dumps(made.plan["audit"]["protect"][0]) in text


def test_sections_without_data_do_not_appear() -> None:
    bare = Page(to_html(report_world.small(Estimate(0.01, 0.0, 0.03))))
    headings = ("Trade-off", "How many directions", "Subspace", "Map of", "Usefulness", "Transfer",
                "Number of people", "Every operating point")  # fmt: skip
    assert not [h for h in headings if h in bare.text]
    assert not bare.all("svg")
    for kept in ("Verdict: pass", "What an attacker sees", "Provenance", "What was not tested",
                 "Glossary"):  # fmt: skip
        assert kept in bare.text


@pytest.mark.parametrize(
    ("estimate", "limit", "tone"),
    [(Estimate(0.01, 0.0, 0.03), 0.05, "pass"), (Estimate(0.3, 0.2, 0.4), 0.05, "fail"),
     (Estimate(0.04, 0.02, 0.07), 0.05, "inconclusive"), (Estimate(0.3), None, "not-applicable")],
)  # fmt: skip
def test_the_outcome_is_said_and_coloured(
    estimate: Estimate, limit: float | None, tone: str
) -> None:
    shown = Page(to_html(report_world.small(estimate, limit)))
    (section,) = [s for s in shown.all("section") if "verdict" in s.get("class", "")]
    assert section["class"] == f"verdict {tone}"
    open_ended = "Not judged: no limit was set"
    assert (open_ended if limit is None else f"Verdict: {tone}") in shown.text
    assert "Verdict: not applicable" not in shown.text


def test_an_unmeasured_report_shows_no_number() -> None:
    shown = Page(to_html(report_world.small(Estimate(None), status="insufficient data")))
    assert "too little data" in shown.text
    assert "Worst attacker links" not in shown.text


def test_the_glossary_tells_the_two_intervals_apart(full_report: Report) -> None:
    words = " ".join(to_html(full_report).split("<dt>Interval</dt>")[1].split("</dd>")[0].split())
    assert "A chart shows the interval of each attacker by itself" in words
    assert "its upper end is the highest of all of them" in words
