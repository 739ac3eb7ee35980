"""The meter's page holds the attacks that the meter has."""

from __future__ import annotations

from pathlib import Path

from pages import DOCS, in_code, rows, sections
from test_examples import play

from efface import registry

PAGE = sections(DOCS / "templates-measured.md")


def test_every_attack_on_templates_is_described() -> None:
    named = {
        in_code(row[0])[0].split(" ")[0] for row in rows(PAGE["The attacks"]) if in_code(row[0])
    }
    assert named == {c.name for c in registry.cards("attack") if c.accepts == "template"}


def test_the_page_runs_as_written(tmp_path: Path) -> None:
    said = play(DOCS / "templates-measured.md", tmp_path)
    assert said.startswith("broken\n")
    assert "pipe full accepted: 1 " in said
    assert "hardened, mean of 3" in said
    assert "The best at a TPR of 90 % or more is" in said
