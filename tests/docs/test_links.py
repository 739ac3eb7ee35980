"""Links between pages lead somewhere, and nothing is written that nobody can find."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import DOCS, PAGES, ROOT, anchors, links


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_pages_and_headings_that_exist(page: Path) -> None:
    for link in links(page):
        if "://" in link.target:
            continue
        path, _, fragment = link.target.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{name(page)}: no file {link.target}"
        if fragment:
            assert fragment in anchors(target), f"{name(page)}: no heading {link.target}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pictures_have_words_for_who_cannot_see_them(page: Path) -> None:
    for link in links(page):
        assert link.text.strip(), f"{name(page)}: no text for {link.target}"
        assert not link.image or len(link.text) > 20, f"{name(page)}: {link.target}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        paths = (link.target.partition("#")[0] for link in links(page) if "://" not in link.target)
        todo += [(page.parent / path).resolve() for path in paths if path]
    lost = {name(page) for page in DOCS.rglob("*.md")} - {name(page) for page in seen}
    assert not lost, f"no page links to {sorted(lost)}"


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 120
    assert any("make demo" in line for line in lines)
    assert any("make test" in line for line in lines)
