"""Which files ``efface vault`` makes, with which mode, and that failures leave none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from vault_world import PEOPLE, face

from efface.cli.main import invoke

MRP = ["--scheme", "mrp", "--param", "n=24", "--param", "threshold=0.7"]
L2FE = ["--param", "m=24", "--param", "l=6", "--param", "q=1009", "--param", "scale=0.3"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a population and a picture of a user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EFFACE_VAULT_DB", "v.db")
    monkeypatch.delenv("EFFACE_VAULT_PEPPER", raising=False)
    np.savez("people.npz", embedding=PEOPLE.data, identity=PEOPLE.names[PEOPLE.identity])
    np.save("ann.npy", face(0))
    return tmp_path


def efface(*words: str) -> int:
    return invoke(["vault", *words])


@pytest.mark.parametrize(
    "words",
    [["verify", "ann", "ann.npy"], ["enrol", "ann", "ann.npy"], ["revoke", "ann"], ["prune"],
     ["rotate"], ["backup", "out"], ["leak", "out"], ["serve", "--port", "0"]],
)  # fmt: skip
def test_where_there_is_no_vault_nothing_is_made(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    before = set(here.iterdir())
    assert efface(*words) == 2
    said = capsys.readouterr().err
    assert "there is no vault at v.db: make one with 'efface vault init'" in said
    assert efface(*words, "--db", "sqlite:///none/v.db") == 2
    assert "none: no such folder" in capsys.readouterr().err
    assert set(here.iterdir()) == before


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_an_empty_file_becomes_its_owners_alone(here: Path) -> None:
    (here / "v.db").touch(0o644)
    (here / "v.db").chmod(0o644)
    assert efface("init", "people.npz", *MRP) == 0
    assert stat.S_IMODE((here / "v.db").stat().st_mode) == 0o600
    assert efface("backup", "all") == 0
    assert efface("restore", "all", "--db", "none/v.db") == 2
    assert not (here / "none").exists()
