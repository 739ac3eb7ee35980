"""``efface vault`` from an empty folder to a leak, as typed."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from vault_world import PEOPLE, face, population, traces

from efface.cli.main import invoke

L2FE = ["--param", "m=24", "--param", "l=6", "--param", "q=1009", "--param", "scale=0.3"]
MRP = ["--scheme", "mrp", "--param", "n=24", "--param", "threshold=0.7"]
TOKEN = "a token of some length"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a population, other people, and pictures of two users."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EFFACE_VAULT_DB", "v.db")
    monkeypatch.delenv("EFFACE_VAULT_PEPPER", raising=False)
    for name, samples in (("people", PEOPLE), ("others", population(seed=9))):
        np.savez(f"{name}.npz", embedding=samples.data, identity=samples.names[samples.identity])
    for person in (0, 1):
        for image in (0, 1):
            np.save(f"{person}{image}.npy", face(person, image))
    np.save("both.npy", np.stack([face(0), face(0, 1)]))
    return tmp_path


def efface(*words: str) -> int:
    return invoke(["vault", *words])


def test_from_init_to_leak(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert efface("init", "people.npz", *L2FE, "--pepper", "pepper", "--ready", "2") == 0
    said = capsys.readouterr()
    assert "v.db: a vault with l2fe-hash, scale 0.3, blake2b, a pepper" in said.out
    assert "warning: l2fe-hash: broken" in said.err
    assert efface("init", "people.npz", *L2FE, "--pepper", "pepper", "--ready", "2") == 2
    secret = ("--pepper", "pepper")
    assert efface("enrol", "ann", "both.npy", *secret) == 0
    assert efface("enrol", "ann", "10.npy", *secret) == 2
    assert efface("verify", "ann", "01.npy", *secret) == 0
    assert efface("verify", "ann", "10.npy", *secret) == 1
    assert efface("verify", "nobody", "10.npy", *secret) == 1
    assert efface("verify", "ann", "01.npy") == 2, "without its pepper"
    assert efface("rotate", "ann", "01.npy", *secret) == 0
    assert efface("rotate", "ann", "10.npy", *secret) == 1
    assert efface("rotate", *secret, "--new-pepper") == 0
    assert len((here / "pepper").read_text().split()) == 2
    assert efface("verify", "ann", "01.npy", *secret) == 0
    assert efface("backup", "backup") == 0
    assert efface("restore", "backup", "--db", "new.db") == 0
    assert efface("verify", "ann", "01.npy", *secret, "--db", "new.db") == 0
    assert efface("revoke", "ann") == 0
    assert efface("verify", "ann", "01.npy", *secret) == 1
    left = b"".join(path.read_bytes() for path in here.iterdir() if path.suffix == ".db")
    left += "".join(capsys.readouterr()).encode()
    assert [trace for trace in traces(face(0)) if trace in left] == []


def test_a_leak_is_attacked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert efface("init", "people.npz", *MRP) == 0
    assert efface("enrol", "ann", "00.npy") == 0
    assert efface("enrol", "bob", "10.npy") == 0
    capsys.readouterr()
    assert efface("leak", "loot", "--population", "others.npz", "--attack", "pipe") == 0
    said = capsys.readouterr().out
    assert "loot: 2 people, as a thief would have them" in said
    assert "pipe on mrp (configuration 1, full leakage): let in for 100.0% of 2 people" in said
    assert "pipe on mrp (configuration 1, partial leakage): let in for 0.0% of 2 people" in said
    rows = [json.loads(line) for line in (here / "loot").read_text().splitlines()]
    assert rows[0]["format"] == "efface.vault/1"
    assert [row["user"] for row in rows if row.get("row") == "person"] == ["ann", "bob"]
    assert efface("leak", "loot", "--population", "others.npz", "--attack", "pip") == 2
    assert "did you mean 'pipe'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["init", "none.npz"],
        ["init", "people.npz", "--param", "scale"],
        ["init", "people.npz", "--param", "scole=1"],
        ["init", "people.npz", "--scheme", "mrp", "--kdf", "argon2id"],
        ["enrol", "ann", "00.npy"],
        ["enrol", "ann", "none.npy"],
        ["enrol", "ann", "people.npz"],
        ["rotate", "ann"],
        ["verify", "ann", "00.npy", "--db", "mysql://x"],
        ["restore", "00.npy"],
        ["serve", "--port", "0"],
    ],
)
def test_what_cannot_be_is_refused(here: Path, words: list[str]) -> None:
    assert efface(*words) == 2


def test_another_scheme_needs_people(here: Path) -> None:
    assert efface("init", "people.npz", *MRP) == 0
    assert efface("rotate", "--param", "n=20") == 2
    assert efface("rotate", "--new-pepper") == 2
    assert efface("rotate", "--population", "people.npz", "--scheme", "biohash",
                  "--param", "n=24", "--fmr", "0.01") == 0  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="ends by signals")
def test_it_serves_logs_nothing_and_ends_at_once(here: Path) -> None:
    assert efface("init", "people.npz", *L2FE, "--ready", "2") == 0
    words = [sys.executable, "-m", "efface.cli.main", "vault", "serve", "--port", "0",
             "--ready", "2", "--floor", "0"]  # fmt: skip
    env = {**os.environ, "EFFACE_VAULT_TOKEN": TOKEN}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + str(process.communicate(timeout=20))
        head = {"authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=found[0], timeout=30, headers=head) as client:
            body = {"user": "ann", "vectors": face(0).tolist()}
            assert client.post("/v1/enrol", json=body).status_code == 201
            assert client.post("/v1/verify", json=body).json() == {"accepted": True}
            body["user"] = "nobody"
            assert client.post("/v1/verify", json=body).json() == {"accepted": False}
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0, err
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert "Traceback" not in err
    assert "warning: l2fe-hash: broken" in err
    assert TOKEN not in out + err + line
    assert [trace for trace in traces(face(0)) if trace in (out + err + line).encode()] == []


# --- how hard -------------------------------------------------------------------------------


def test_votes_ask_for_so_many_pictures_and_no_more(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    voted = ["--votes", "2", "--tries", "3", "--images", "1"]
    assert efface("init", "people.npz", *MRP, *voted) == 0
    assert "2 of 3 votes" in capsys.readouterr().out
    np.save("four.npy", np.stack([face(0, i) for i in (1, 2, 3, 1)]))
    np.save("mixed.npy", np.stack([face(0, 1), face(9), face(8)]))
    assert efface("enrol", "ann", "00.npy") == 0
    assert efface("verify", "ann", "both.npy") == 0
    assert efface("verify", "ann", "mixed.npy") == 1, "one vote of three"
    assert efface("verify", "ann", "01.npy") == 2
    assert "cannot give 2 votes" in capsys.readouterr().err
    assert efface("verify", "ann", "four.npy") == 2
    assert "has 3 at most" in capsys.readouterr().err
    assert efface("init", "people.npz", *MRP, "--votes", "2", "--db", "other.db") == 2


def test_the_preset_hardens_and_what_is_given_wins(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = [w for w in L2FE if w != "scale=0.3"][:-1]
    hard = ["--hardened", "--images", "2", "--fmr", "0.01", "--memory", "64", "--passes", "1"]
    assert efface("init", "people.npz", *size, *hard, "--ready", "1", "--pepper", "p") == 0
    said = capsys.readouterr().out
    assert "argon2id, a pepper" in said
    assert "the radius is for 2 pictures enrolled and 2 in a try" in said
    assert efface("enrol", "ann", "both.npy", "--pepper", "p") == 0
    assert efface("verify", "ann", "both.npy", "--pepper", "p") == 0
    assert efface("verify", "ann", "10.npy", "--pepper", "p") == 1
    assert efface("backup", "all") == 0
    row = json.loads((here / "all").read_text().splitlines()[1])
    settings = json.loads(base64.b64decode(row["scheme"]))["settings"]
    assert settings["kdf"] == "argon2id"
    assert settings["kdf_memory_kib"] == 64
    assert settings["bind"] is True
    assert settings["owner"] is True
    assert efface("init", "people.npz", *MRP, "--hardened", "--fmr", "0.1", "--db", "o.db") == 2
    assert "a pepper can" in capsys.readouterr().err
    assert efface("rotate", "--hardened", "--pepper", "p") == 2, "a radius is fitted to people"


def test_a_vault_gets_its_first_pepper(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert efface("init", "people.npz", *MRP) == 0
    assert efface("enrol", "ann", "00.npy") == 0
    (here / "other").write_text("ab" * 32)
    assert efface("verify", "ann", "01.npy", "--pepper", "other") == 2
    assert "rotate --new-pepper" in capsys.readouterr().err
    assert efface("rotate", "--new-pepper", "--pepper", "first") == 0
    assert "still to move, each at the next login: 1" in capsys.readouterr().out
    assert efface("verify", "ann", "01.npy") == 2, "without its pepper"
    assert efface("verify", "ann", "01.npy", "--pepper", "first") == 0
    assert efface("rotate", "--pepper", "first") == 0
    assert "still to move, each at the next login: 1" in capsys.readouterr().out
    assert efface("verify", "ann", "01.npy", "--pepper", "first") == 0


def test_a_vault_that_was_swapped_for_one_without_a_pepper_is_not_taken_over(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who can write the database waits for the next rotation: it must not seal a laxer radius."""
    assert efface("init", "people.npz", *MRP, "--pepper", "p") == 0
    lax = [*MRP[:-1], "threshold=1.9"]
    assert efface("init", "people.npz", *lax, "--db", "o.db") == 0
    (here / "o.db").replace(here / "v.db")
    assert efface("rotate", "--new-pepper", "--pepper", "p") == 2
    assert "not sealed by the pepper" in capsys.readouterr().err
    assert len((here / "p").read_text().split()) == 1, "nor was a pepper added"


def test_old_lines_of_the_log_are_pruned(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert efface("init", "people.npz", *MRP) == 0
    capsys.readouterr()
    assert efface("prune") == 0
    assert capsys.readouterr().out == "0 lines removed\n"
    with sqlite3.connect("v.db") as connection:
        connection.execute("UPDATE vault_audit SET at = at - 400 * 86400")
        connection.execute("INSERT INTO vault_audit VALUES (9, strftime('%s'), 'x', 'y', '', '')")
    assert efface("prune", "--audit-days", "0") == 0
    assert efface("prune") == 0
    assert capsys.readouterr().out == "0 lines removed\n1 lines removed\n"
