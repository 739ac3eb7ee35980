"""The attribution report: JSON that reads back, a page made of it alone, charts that draw it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attribution_world
import msgspec
import pytest
from chromium import Browser
from hostile import LONG, NASTY
from report_page import Page
from test_report_browser import OUTSIDE, OVERLAPS, PAGE_WIDTH

from efface.attributions import Attribution
from efface.cli.main import invoke
from efface.errors import ArtefactError, DataError
from efface.report.attribution import crossing, from_json, reasons, save, to_html, to_json, to_text
from efface.report.words import interval

FULL = attribution_world.build()


def poisoned(found: Attribution) -> Attribution:
    """Every free string tries to break out of the page."""
    keep = {"schema", "side", "seen", "kind", "context_match", "crossing", "votes", "png",
            "weights", "encoder", "name", "detector_weights", "facts"}  # fmt: skip

    def worse(value: Any, field: str) -> Any:
        if isinstance(value, str):
            return value if field in keep else f"{value}{NASTY}{LONG}"
        if isinstance(value, list):
            return [worse(one, field) for one in value]
        if isinstance(value, dict) and field not in ("facts", "votes"):
            return {k: worse(v, k) for k, v in value.items()}
        return value

    plain = worse(msgspec.to_builtins(found), "")
    for one in plain["findings"] + plain["views"]:
        key = "encoder" if "encoder" in one else "name"
        one[key] = f"{one[key]}{NASTY}"
    return msgspec.convert(plain, Attribution)


def test_what_is_written_reads_back_the_same() -> None:
    for found in (FULL, attribution_world.bare(), poisoned(FULL)):
        data = to_json(found)
        assert to_json(from_json(data)) == data
    assert from_json(to_json(FULL)) == FULL


def test_the_page_is_made_of_the_json_alone() -> None:
    assert to_html(from_json(to_json(FULL))) == to_html(FULL)


def test_no_script_no_request() -> None:
    for found in (FULL, poisoned(FULL)):
        html = to_html(found)
        page = Page(html)
        assert not {tag for tag, _ in page.found} & {"script", "iframe", "object", "form"}
        for _, attributes in page.found:
            assert not [name for name in attributes if name.startswith("on")]
            for name in ("href", "src", "action"):
                assert attributes.get(name, "#").startswith(("#", "data:"))
        assert not re.findall(r"url\(|@import|https?://", html)


def test_pictures_are_there_only_if_the_json_has_them() -> None:
    assert len(Page(to_html(FULL)).all("img")) == 6
    assert "treat this page as you treat the pictures" in to_html(FULL)
    hidden = msgspec.structs.replace(FULL, examples=[])
    assert Page(to_html(hidden)).all("img") == []


def test_every_encoder_has_its_four_charts() -> None:
    html = to_html(FULL)
    assert html.count('class="chart"') == 8
    for words in (
        "Face importance index",
        "Distribution of FII",
        "Context preference",
        "revelation",
    ):
        assert html.count(words) >= 2
    assert to_html(attribution_world.bare()).count('class="chart"') == 0


def test_every_count_that_shrinks_a_denominator_is_on_the_page() -> None:
    html = to_html(FULL)
    for words in (
        "no face", "damaged", "grey", ".txt", "nearly the same picture", "face at the border",
        "ring not as large as the face", "without a second picture",
    ):  # fmt: skip
        assert words in html
    text = to_text(FULL)
    for words in (
        "assumed colour RGB: declare",
        "40 of 50 usable",
        "8 no face",
        "1 ring not as large",
        "2 swap: face at the",
    ):
        assert words in text


def test_sides_stand_in_words() -> None:
    text = re.sub(r"\s+", " ", to_html(FULL))
    assert "general</bdi>: context-dominant" in text
    assert "face</bdi>: face-dominant" in text
    assert "67 % of the ring" in text.replace("\N{NO-BREAK SPACE}", " ")


def test_reasons_and_crossings_in_words() -> None:
    found = FULL.findings[3]
    said = reasons(found)
    assert found.importance is not None
    # The figure is over strangers: the sentence must not call it the FII of the pairs alone.
    assert f"one person {interval(found.importance.specific)} more" in said
    assert "than it costs those of two people" in said
    assert len(said) < 400  # where the page cuts it
    assert reasons(attribution_world.bare().findings[0]) == "Too little data."
    held = FULL.findings[0].preference
    assert held is not None
    shown = {
        "never": "> 8", "from the start": "≤ 0", "not measured": "–",
    }  # fmt: skip
    for state, words in shown.items():
        x = msgspec.structs.replace(held.crossover, crossing=state, sigma=None)
        assert crossing(msgspec.structs.replace(held, crossover=x)) == words
    x = msgspec.structs.replace(held.crossover, crossing="crossed", sigma=3.21, low=None, high=4.0)
    assert crossing(msgspec.structs.replace(held, crossover=x)) == "3.2 [open, 4.0]"
    assert crossing(None) == "–"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(schema="efface.attribution/2"), "efface.attribution/2"),
        (lambda d: d.pop("drawn"), "drawn"),
        (lambda d: d["findings"][0].update(side="nose"), "side"),
        (lambda d: d["findings"][0]["importance"]["fii"].update(value="x"), "value"),
    ],
)
def test_a_damaged_file_is_refused_by_field(change: Any, said: str) -> None:
    plain = json.loads(to_json(FULL))
    change(plain)
    with pytest.raises(ArtefactError, match=said):
        from_json(json.dumps(plain).encode())


def test_no_number_is_refused_by_name() -> None:
    wrong = msgspec.structs.replace(FULL.findings[0], notes=[])
    held = msgspec.structs.replace(
        wrong.importance,
        fii=msgspec.structs.replace(wrong.importance.fii, value=float("nan")),  # type: ignore[union-attr,type-var]
    )
    broken = msgspec.structs.replace(
        FULL, findings=[msgspec.structs.replace(wrong, importance=held)]
    )
    with pytest.raises(ArtefactError, match=r"findings\[0\].importance.fii.value is nan"):
        to_json(broken)


def test_both_files_or_neither(tmp_path: Path) -> None:
    save(FULL, tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "attribution.json",
        "attribution.html",
    }
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="cannot be written there"):
        save(FULL, tmp_path / "file")


def test_the_report_command_renders_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(FULL, tmp_path)
    stored, again = tmp_path / "attribution.json", tmp_path / "again.html"
    assert invoke(["report", str(stored), "--html", str(again)]) == 0
    assert again.read_text(encoding="utf-8") == (tmp_path / "attribution.html").read_text("utf-8")
    assert FULL.headline in capsys.readouterr().out
    assert invoke(["report", str(stored), "--junit", str(tmp_path / "j.xml")]) == 2
    assert "no JUnit" in capsys.readouterr().err


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_in_a_browser(browser: Browser, tmp_path: Path, width: int) -> None:
    for name, found in (("full", FULL), ("hostile", poisoned(FULL))):
        path = tmp_path / f"{name}.html"
        path.write_text(to_html(found), "utf-8")
        browser.open(path, width)
        assert browser.evaluate(OVERLAPS) == []
        assert browser.evaluate(OUTSIDE) == []
        seen, room = browser.evaluate(PAGE_WIDTH)
        assert seen <= room
