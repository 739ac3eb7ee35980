"""Every registry entry is complete, and it and every command stand in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from efface import registry
from efface.results import Card

DOCS = Path(__file__).resolve().parents[2] / "docs"
CARDS = registry.cards()
KINDS = {"embedding", "image", "motion", "template", "comparison vectors", "embeddings"}


def identify(card: Card) -> str:
    return f"{card.role}-{card.name}"


def test_the_catalogue_is_not_empty_and_names_each_thing_once() -> None:
    assert {card.role for card in CARDS} >= {"protection", "attack", "judge"}
    names = [identify(card) for card in CARDS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("card", CARDS, ids=identify)
def test_card_says_what_a_reader_needs(card: Card) -> None:
    for field in ("summary", "accepts", "yields", "paper", "licence"):
        assert getattr(card, field).strip(), f"{card.name} has no {field}"
    assert re.fullmatch(r"[a-z][a-z0-9_-]*", card.name)
    assert card.accepts in KINDS
    assert len(card.summary) <= 120


@pytest.mark.parametrize("card", CARDS, ids=identify)
def test_registered_class_is_found_by_its_card(card: Card) -> None:
    cls = registry.find(card.role, card.name)
    assert cls.card is card
    assert cls.__doc__


@pytest.mark.parametrize("card", CARDS, ids=identify)
def test_card_has_a_row_in_the_docs(card: Card) -> None:
    rows = [
        [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        for line in (DOCS / "cards.md").read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith("|")
    ]
    assert any(card.name in row for row in rows), f"docs/cards.md has no row for {card.name}"


def commands() -> dict[str, click.Command]:
    """The command line as click knows it, whatever wraps its entry point."""
    from efface.cli import main

    groups = [value for value in vars(main).values() if isinstance(value, click.Group)]
    assert groups, "efface.cli.main holds no click group"
    return dict(groups[0].commands)


def test_every_command_has_a_heading_in_the_docs_and_a_line_of_help() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    headings = " ".join(line for line in text.splitlines() if line.startswith("#"))
    found = commands()
    assert {"demo", "audit", "fit", "apply", "report", "reproduce", "list"} <= set(found)
    for name, command in found.items():
        assert re.search(rf"\b{re.escape(name)}\b", headings), f"docs/cli.md: no heading for {name}"
        assert command.get_short_help_str(), f"efface {name} has no help"
