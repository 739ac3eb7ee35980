"""The meter's page holds the options and the attacks that the meter has."""

from __future__ import annotations

import click
from pages import DOCS, in_code, rows, sections

from efface import registry
from efface.cli.vault.meter import meter

PAGE = sections(DOCS / "templates-measured.md")


def test_every_option_and_its_default_is_in_the_table() -> None:
    table = {in_code(row[0])[0]: row for row in rows(PAGE["Options"]) if in_code(row[0])}
    options = [p for p in meter.params if isinstance(p, click.Option)]
    assert set(table) == {option.opts[0] for option in options}
    for option in options:
        _, value, default, meaning = table[option.opts[0]]
        shown = option.default if option.show_default else None
        assert meaning
        assert in_code(default) == ([] if shown is None else [str(shown)]), option.opts[0]
        if isinstance(option.type, click.Choice):
            assert in_code(value) == list(option.type.choices)


def test_every_attack_on_templates_is_described() -> None:
    named = {
        in_code(row[0])[0].split(" ")[0] for row in rows(PAGE["The attacks"]) if in_code(row[0])
    }
    assert named == {c.name for c in registry.cards("attack") if c.accepts == "template"}
