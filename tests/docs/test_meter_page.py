"""The meter's page holds the attacks that the meter has."""

from __future__ import annotations

from pages import DOCS, in_code, rows, sections

from efface import registry

PAGE = sections(DOCS / "templates-measured.md")


def test_every_attack_on_templates_is_described() -> None:
    named = {
        in_code(row[0])[0].split(" ")[0] for row in rows(PAGE["The attacks"]) if in_code(row[0])
    }
    assert named == {c.name for c in registry.cards("attack") if c.accepts == "template"}
