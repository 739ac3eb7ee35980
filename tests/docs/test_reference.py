"""The reference pages hold what the program holds: options, defaults, keys, cards."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import click
import msgspec
import pytest
from pages import DOCS, ROOT, in_code, rows, sections

from efface import registry
from efface.auditing.papers import Paper, PaperTable
from efface.auditing.plan import AuditPlan
from efface.cli.main import cli
from efface.report.gate import EXIT
from efface.results import Card

CLI = sections(DOCS / "cli.md")


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command and group by its words: ``report``, ``vault``, ``vault init``."""
    for name, command in sorted(group.commands.items()):
        yield before + name, command
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")


ALL = dict(commands(cli))
COMMANDS = [name for name, command in ALL.items() if not isinstance(command, click.Group)]
GROUPS = [name for name, command in ALL.items() if isinstance(command, click.Group)]


def table_of(command: str) -> dict[str, list[str]]:
    """Rows of a command's table of options, by each way to write the option."""
    found = {}
    for row in rows(CLI[f"efface {command}"]):
        found.update({word: row for word in in_code(row[0]) if word.startswith("-")})
    return found


def options(command: str) -> list[click.Option]:
    return [p for p in ALL[command].params if isinstance(p, click.Option)]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_the_table_and_no_other(command: str) -> None:
    real = {word for option in options(command) for word in option.opts}
    assert set(table_of(command)) == real


@pytest.mark.parametrize("command", COMMANDS)
def test_defaults_and_choices_in_the_table_are_the_real_ones(command: str) -> None:
    table = table_of(command)
    for option in options(command):
        _, value, default, meaning = table[option.opts[0]]
        assert meaning, f"{command} {option.opts[0]}: no meaning"
        shown = option.default if option.show_default else None
        assert in_code(default) == ([] if shown is None else [str(shown)]), option.opts[0]
        if isinstance(option.type, click.Choice):
            assert in_code(value) == list(option.type.choices), option.opts[0]


def test_no_command_is_described_that_does_not_exist() -> None:
    described = {title.removeprefix("efface ") for title in CLI if title.startswith("efface ")}
    assert described == {*ALL, "--version"}


@pytest.mark.parametrize("group", GROUPS)
def test_the_section_of_a_group_lists_its_commands(group: str) -> None:
    listed = [in_code(row[0]) for row in rows(CLI[f"efface {group}"])[1:]]
    inside = [name for name in ALL if name.startswith(f"{group} ")]
    assert sorted(listed) == sorted([f"efface {name}"] for name in inside)


def test_a_group_within_the_program_is_seen() -> None:
    assert "vault" in GROUPS
    assert {"vault init", "vault leak", "vault serve"} <= set(COMMANDS)
    assert not set(GROUPS) & set(COMMANDS)


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "cli.md"], ids=lambda p: p.name)
def test_exit_codes_in_the_tables_are_those_of_the_program(page: Any) -> None:
    text = sections(page)["Exit codes"]
    known = {str(code) for code in EXIT.values()} | {"2", "130"}
    assert {row[0] for row in rows(text) if row[0] != "code"} == known


@pytest.mark.parametrize("card", registry.cards(), ids=lambda c: f"{c.role}-{c.name}")
def test_the_catalogue_says_what_the_card_says(card: Card) -> None:
    found = [
        row
        for row in rows(sections(DOCS / "cards.md")[f"{card.role.capitalize()}s"])
        if in_code(row[0]) == [card.name]
    ]
    assert len(found) == 1
    assert found[0][1] == card.summary
    assert found[0][2] == card.accepts
    assert not card.verdict or card.verdict in found[0]
    assert found[0][-1] == card.licence


def test_the_catalogue_names_nothing_else() -> None:
    text = (DOCS / "cards.md").read_text(encoding="utf-8")
    named = {word for row in rows(text) for word in in_code(row[0])}
    assert named == {card.name for card in registry.cards()}


def test_every_key_of_a_plan_is_described() -> None:
    found = keys("Keys", "default")
    real = {f.encode_name for f in msgspec.structs.fields(AuditPlan)}
    assert found == real - {"split", "protect", "attack"}


def test_every_key_of_a_paper_plan_is_described() -> None:
    described = keys("Paper plans", "default")
    real = {f.encode_name for f in msgspec.structs.fields(Paper)} - {"split", "table"}
    assert described == {*real, "[split]", "[[table]]"}
    assert keys("Paper plans", "kinds") == {
        f.encode_name for f in msgspec.structs.fields(PaperTable)
    }


@pytest.mark.parametrize("card", registry.cards(), ids=lambda c: f"{c.role}-{c.name}")
def test_every_parameter_that_a_plan_may_set_is_described(card: Card) -> None:
    if card.role not in ("protection", "attack") or card.accepts == "template":
        pytest.skip("a plan names protections and attacks on embeddings only")
    tables = rows(sections(DOCS / "plans.md")["Keys"])
    start = next(i for i, row in enumerate(tables) if row[0] == card.role)
    row = next(row for row in tables[start:] if in_code(row[0]) == [card.name])
    described = {*in_code(row[1]), *in_code(tables[start][1])}
    known = inspect.signature(registry.find(card.role, card.name)).parameters
    given = {name for name in known if not name.endswith("_") and name != "keep_moments"}
    chosen = {"alpha", "shrinkage", "weighing", "checkpoint", "whitening"}  # by calibration people
    assert described == (given - chosen if card.role == "attack" else given)


def keys(section: str, second: str) -> set[str]:
    """First cells of the table whose second column has this title."""
    found: set[str] = set()
    inside = False
    for row in rows(sections(DOCS / "plans.md")[section]):
        if row[0] in ("key", "key of a table", "protection", "attack"):
            inside = row[1] == second
        elif inside:
            found.update(in_code(row[0]))
    return found
