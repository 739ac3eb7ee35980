"""The page about the vault runs as written and shows what it says."""

from __future__ import annotations

import re
from pathlib import Path

from pages import DOCS, rows, sections
from test_examples import play

from efface.vault.tables import metadata

PAGE = DOCS / "vault.md"


def test_the_vault(tmp_path: Path) -> None:
    said = play(PAGE, tmp_path)
    assert said.count("\naccepted\n") == 4
    assert re.search(r"hard\.db: a vault with l2fe-hash, .*argon2id, a pepper", said)
    assert "the radius is for 2 pictures enrolled and 2 in a try" in said
    assert "Best at a TPR of 90 % or more" in said
    assert "still to move, each at the next login: 2" in said
    assert said.rstrip().endswith("0 lines removed")
    assert "\nrefused\nexit code 1\n" in said
    assert "configuration 2: l2fe-hash, scale 0.3, blake2b, a pepper" in said
    assert "restored.db: 2 people restored" in said
    line = r"^(\S+) on (\S+) .* full leakage\): let in for (\S+) of \d people"
    found = re.findall(line, said, re.MULTILINE)
    let_in = {(attack, scheme): share for attack, scheme, share in found}
    assert let_in["pipe", "mrp"] == "100.0%", "the leak is there where nothing is held apart"
    assert {share for (_, scheme), share in let_in.items() if scheme == "l2fe-hash"} == {"0.0%"}
    assert len((tmp_path / "pepper").read_text().split()) == 2


def test_every_table_and_column_is_described() -> None:
    described = {
        row[0].strip("`"): set(re.findall(r"`([a-z]+)`", row[1]))
        for row in rows(sections(PAGE)["What is stored"])[1:]
    }
    assert described == {
        name: {column.name for column in table.columns} for name, table in metadata.tables.items()
    }
