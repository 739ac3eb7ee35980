"""The page in a real Chromium: offline, on a phone, in the dark, on paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hostile
import pytest
import report_world
from chromium import Browser, pixels

from efface.report.html import to_html
from efface.results import Estimate, Report

pytestmark = pytest.mark.browser

WIDTHS = (360, 768, 1280)
FAULTS = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled",
          "Audits.issueAdded", "Network.loadingFailed")  # fmt: skip

OVERLAPS = """
[...document.querySelectorAll('svg.chart')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(
    t => [t.textContent, t.getBoundingClientRect()]);
  return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([b, q]) =>
    p.left + 1 < q.right && q.left + 1 < p.right && p.top + 3 < q.bottom && q.top + 3 < p.bottom
  ).map(([b]) => [a, b]));
})
"""
OUTSIDE = """
[...document.querySelectorAll('svg.chart')].flatMap(svg => {
  const edge = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(t => {
    const box = t.getBoundingClientRect();
    return box.right > edge.right + 1 || box.left < edge.left - 1
      || box.top < edge.top - 1 || box.bottom > edge.bottom + 1;
  }).map(t => t.textContent);
})
"""
SMALLEST = """
Math.min(...[...document.querySelectorAll('svg.chart')].map(
  svg => 12.5 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))
"""
PAGE_WIDTH = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
STYLE = "getComputedStyle(document.querySelector('{}')).{}"


@pytest.fixture(scope="module")
def pages(full_report: Report, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    reports = {
        "full": full_report,
        "bare": report_world.small(Estimate(0.01, 0.0, 0.03)),
        "hostile": hostile.report(),
    }
    found = {}
    for name, report in reports.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(to_html(report), "utf-8")
    return found


def requests(browser: Browser) -> list[str]:
    sent = [e for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    return [e["params"]["request"]["url"] for e in sent]


def style(browser: Browser, selector: str, name: str) -> Any:
    return browser.evaluate(STYLE.format(selector, name))


@pytest.mark.parametrize("name", ["full", "bare", "hostile"])
def test_it_opens_without_an_error_or_a_request(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.open(pages[name], 1280)
    assert [u for u in requests(browser) if not u.startswith("data:")] == [pages[name].as_uri()]
    assert [e for e in browser.events if e.get("method") in FAULTS] == []
    assert browser.evaluate("document.querySelectorAll('script').length") == 0


def test_the_policy_stops_a_script_and_a_request(
    browser: Browser, full_report: Report, tmp_path: Path
) -> None:
    attack = "<script>document.title='owned'</script><img src='http://127.0.0.1:9/x.png'></body>"
    html = to_html(full_report).replace("</body>", attack)
    guarded, bare = tmp_path / "guarded.html", tmp_path / "bare.html"
    guarded.write_text(html, "utf-8")
    bare.write_text(re.sub(r"<meta http-equiv[^>]*>", "", html), "utf-8")
    browser.open(bare, 800)
    assert browser.evaluate("document.title") == "owned"
    assert "http://127.0.0.1:9/x.png" in requests(browser)
    browser.open(guarded, 800)
    assert browser.evaluate("document.title") == "Fail: identity audit of lfw-buffalo"
    blocked = [e for e in browser.events if e.get("method") == "Audits.issueAdded"]
    assert len(blocked) >= 2


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["full", "bare", "hostile"])
def test_the_page_never_scrolls_sideways(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.open(pages[name], width)
    scroll, client = browser.evaluate(PAGE_WIDTH)
    assert client == width
    assert scroll <= width


@pytest.mark.parametrize("width", [1200, 1280, 1440])
def test_no_column_of_operating_points_is_cut_off_on_a_desk(
    browser: Browser, pages: dict[str, Path], width: int
) -> None:
    browser.open(pages["full"], width)
    inner, outer = browser.evaluate(
        "(b => [b.scrollWidth, b.clientWidth])(document.querySelector('.wide .scroll'))"
    )
    assert inner <= outer


def test_a_wide_table_scrolls_in_its_own_box_on_a_phone(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["full"], 360)
    inner, outer = browser.evaluate(
        "(b => [b.scrollWidth, b.clientWidth])(document.querySelector('.wide .scroll'))"
    )
    assert inner > 2 * outer
    assert style(browser, ".wide .scroll", "overflowX") == "auto"
    assert browser.evaluate(
        "(b => {b.scrollLeft = 300; return b.scrollLeft})(document.querySelector('.wide .scroll'))"
    ) == pytest.approx(300, abs=1)


@pytest.mark.parametrize("width", [360, 1280])
def test_no_two_labels_of_a_chart_overlap_or_leave_it(
    browser: Browser, pages: dict[str, Path], width: int
) -> None:
    browser.open(pages["full"], width)
    assert browser.evaluate("document.querySelectorAll('svg.chart text').length") > 200
    assert browser.evaluate(OVERLAPS) == []
    assert browser.evaluate(OUTSIDE) == []


def test_labels_of_charts_are_readable_on_a_phone(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["full"], 360)
    assert browser.evaluate(SMALLEST) >= 9


def test_light_and_dark_follow_the_reader(browser: Browser, pages: dict[str, Path]) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        browser.open(pages["full"], 800, scheme=scheme)
        seen[scheme] = (
            style(browser, "body", "backgroundColor"),
            style(browser, ".chart text.tick", "fill"),
            style(browser, ".m-after", "fill"),
        )
    assert seen["light"][0] == "rgb(253, 253, 251)"
    assert seen["dark"][0] == "rgb(21, 24, 27)"
    assert all(a != b for a, b in zip(*seen.values(), strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_is_not_blank(browser: Browser, pages: dict[str, Path], scheme: str) -> None:
    browser.open(pages["full"], 360, 640, scheme)
    width, height, rows = pixels(browser.screenshot(whole=False))
    assert (width, height) == (360, 640)
    assert len(set(rows)) > 200
    paper = bytes((253, 253, 251) if scheme == "light" else (21, 24, 27))
    tint = bytes((251, 234, 234) if scheme == "light" else (51, 27, 27))
    picture = b"".join(rows)
    assert picture.count(paper) > 1_000
    assert picture.count(tint) > 10_000


def test_on_paper_it_is_light_and_can_be_signed(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["full"], 800, scheme="dark")
    assert style(browser, ".sign", "display") == "none"
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", media="print", features=features)
    assert style(browser, ".sign", "display") == "grid"
    assert style(browser, "nav", "display") == "none"
    assert style(browser, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert style(browser, ".verdict", "backgroundColor") == "rgb(255, 255, 255)"
    assert style(browser, "body", "color") == "rgb(0, 0, 0)"
    assert style(browser, ".scroll", "overflowX") == "visible"


def test_it_prints(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["full"], 800)
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF-")
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    upright = [box for box in boxes if float(box[0]) < float(box[1])]
    assert len(upright) >= 5
    assert len(boxes) - len(upright) >= 1  # the table of operating points lies on its side


def test_the_table_of_operating_points_fits_on_paper(
    browser: Browser, pages: dict[str, Path]
) -> None:
    """Landscape A4 less its margins is 1032 CSS pixels wide."""
    browser.open(pages["full"], 1032)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    widths = browser.evaluate(
        "(t => [t.scrollWidth, t.parentElement.clientWidth])(document.querySelector('.wide table'))"
    )
    assert widths[0] <= widths[1] <= 1032
