"""Which files ``efface vault`` makes, with which mode, and that failures leave none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from vault_world import PEOPLE, face

from efface.cli.main import invoke
from efface.errors import VaultError
from efface.vault.service import Vault

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


@pytest.mark.parametrize(
    "words", [["--param", "m=33", "--param", "l=11"], ["--fmr", "0.0000001", *L2FE]]
)
def test_an_init_that_fails_leaves_no_file(here: Path, words: list[str]) -> None:
    before = set(here.iterdir())
    assert efface("init", "people.npz", *words, "--pepper", "p") == 2
    assert set(here.iterdir()) == before


def test_a_second_init_makes_no_pepper(here: Path) -> None:
    assert efface("init", "people.npz", *MRP) == 0
    before = set(here.iterdir())
    assert efface("init", "people.npz", *L2FE, "--pepper", "p") == 2
    assert set(here.iterdir()) == before


def test_an_init_that_fails_late_leaves_no_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise VaultError("no")

    before = set(here.iterdir())
    monkeypatch.setattr(Vault, "configure", fails)
    assert efface("init", "people.npz", *MRP, "--pepper", "p") == 2
    assert set(here.iterdir()) == before


def test_short_vectors_are_told_the_size_to_take(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(4), 2)
    np.savez("short.npz", embedding=rng.normal(size=(8, 128)), identity=who)
    assert efface("init", "short.npz") == 2
    assert "--param m=128 --param l=42 --fmr 0.001" in capsys.readouterr().err


def test_init_counts_tries_and_warns_of_a_radius_that_refuses_most(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert efface("init", "people.npz", *MRP) == 0
    said = capsys.readouterr()
    assert "genuine tries of the people given: 120 of 120 accepted (100.0%)" in said.out
    assert "foreign tries of the people given: 0 of 1560 accepted (0.0%)" in said.out
    assert "refuses most" not in said.err
    tight = [*MRP[:-1], "threshold=0.01", "--db", "tight.db"]
    assert efface("init", "people.npz", *tight) == 0
    said = capsys.readouterr()
    assert "genuine tries of the people given: 0 of 120 accepted (0.0%)" in said.out
    assert "warning: this threshold refuses most tries of the very person" in said.err
    assert efface("init", "people.npz", *MRP, "--images", "4", "--db", "four.db") == 0
    assert "genuine tries of the people given: none counted" in capsys.readouterr().out


def test_a_refused_duplicate_takes_no_prepared_basis(here: Path) -> None:
    assert efface("init", "people.npz", *L2FE, "--ready", "2") == 0
    assert efface("enrol", "ann", "ann.npy") == 0
    ready = here / "vault-bases" / "24-6-1009" / "ready"
    before = set(ready.iterdir())
    assert efface("enrol", "ann", "ann.npy") == 2
    assert set(ready.iterdir()) == before


def test_serving_without_a_token_says_what_is_off(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("efface.serve.server.run", lambda _, listening, __: listening.close())
    monkeypatch.delenv("EFFACE_VAULT_TOKEN", raising=False)
    assert efface("init", "people.npz", *MRP) == 0
    capsys.readouterr()
    assert efface("serve", "--port", "0") == 0
    said = capsys.readouterr().err
    assert "enrol, rotate and revoke over HTTP are off" in said
    assert "set EFFACE_VAULT_TOKEN" in said
    monkeypatch.setenv("EFFACE_VAULT_TOKEN", "a token of some length")
    assert efface("serve", "--port", "0") == 0
    assert "are off" not in capsys.readouterr().err


def test_a_leak_says_what_is_not_installed_and_overwrites_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = ("--pepper", "p")
    assert efface("init", "people.npz", *L2FE, *secret, "--ready", "1") == 0
    assert efface("enrol", "ann", "ann.npy", *secret) == 0
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    words = ["--population", "people.npz", "--attack", "lattice-reduction", *secret]
    capsys.readouterr()
    assert efface("leak", "loot", *words) == 0
    said = capsys.readouterr().out
    assert "full leakage): did not run: fpylll is not installed" in said
    assert "let in for" not in said
    (here / "loot").write_text("mine")
    assert efface("leak", "loot", *words) == 2
    assert "loot: is there already" in capsys.readouterr().err
    assert (here / "loot").read_text() == "mine"


def test_another_number_of_pictures_than_the_radius_is_for_is_said(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("two.npy", np.stack([face(0), face(0, 1)]))
    two = ["--images", "2", "--fmr", "0.01"]
    assert efface("init", "people.npz", *MRP, *two) == 0
    capsys.readouterr()
    rule = "the radius is for 2 pictures enrolled and 2 in a try"
    assert efface("enrol", "ann", "ann.npy") == 0
    assert f"warning: 1 enrolled: {rule}" in capsys.readouterr().err
    for user, code in (("ann", 0), ("nobody", 1)):
        assert efface("verify", user, "ann.npy") == code
        assert f"warning: 1 in this try: {rule}" in capsys.readouterr().err
    assert efface("rotate", "ann", "ann.npy") == 0
    assert f"warning: 1 in this try: {rule}" in capsys.readouterr().err
    assert efface("enrol", "bob", "two.npy") == 0
    assert efface("verify", "bob", "two.npy") == 0
    assert "the radius is for" not in capsys.readouterr().err
    assert efface("init", "people.npz", *MRP, "--db", "plain.db") == 0
    assert efface("enrol", "ann", "two.npy", "--db", "plain.db") == 0
    assert "the radius is for" not in capsys.readouterr().err
