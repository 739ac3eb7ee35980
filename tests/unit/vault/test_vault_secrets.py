"""Only templates stay: no vector, no pepper, no password in the database, logs or errors."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import numpy as np
import pytest
from vault_world import (
    DIM,
    PEPPER,
    Database,
    biohash,
    closing,
    face,
    l2fe,
    made,
    mrp,
    peppered,
    rows,
    schema,
    traces,
)

from efface.errors import EffaceError, VaultError
from efface.vault import dump, peppers
from efface.vault.attempts import Rules
from efface.vault.service import Held

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")


def test_the_traces_would_be_found() -> None:
    vector = face(0)
    spoken = repr(vector.tolist()).encode() + np.asarray(vector, "<f8").tobytes()
    assert sum(trace in spoken for trace in traces(vector)) >= 4


@pytest.mark.parametrize("scheme", [mrp, l2fe, biohash])
def test_no_vector_is_in_the_database_file_or_the_log(
    tmp_path: Path, scheme: object, caplog: pytest.LogCaptureFixture
) -> None:
    """Everything is logged that can be; then every byte that is left is searched."""
    caplog.set_level(logging.DEBUG)
    file = tmp_path / "v.db"
    with closing(made(str(file), scheme())) as vault:  # type: ignore[operator]
        vault.enrol("ann", face(0))
        vault.verify("ann", face(0, 1), "10.0.0.1")
        vault.verify("ann", face(9), "10.0.0.1")
        vault.verify("nobody", face(8), "10.0.0.1")
        dump.write(tmp_path / "backup", dump.take(vault.store, 1.0))
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir()) + caplog.text.encode()
    for vector in (face(0), face(0, 1), face(9), face(8)):
        assert [trace for trace in traces(vector) if trace in left] == []


def test_no_vector_is_in_the_tables_of_the_server(postgres: Database) -> None:
    with closing(made(schema(postgres, "secrets").uri)) as vault:
        vault.enrol("ann", face(0))
        vault.verify("ann", face(9))
        left = repr([rows(vault, f"SELECT * FROM {name}") for name in (
            "vault_people", "vault_attempts", "vault_audit", "vault_configurations")])  # fmt: skip
        found = [bytes(row[0]) for row in rows(vault, "SELECT template FROM vault_people")]
    for vector in (face(0), face(9)):
        assert [t for t in traces(vector) if t in left.encode() + b"".join(found)] == []


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    with closing(made(str(tmp_path / "v.db"))):
        assert (tmp_path / "v.db").stat().st_mode & 0o077 == 0


def test_what_is_revoked_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "v.db"
    with closing(made(str(file))) as vault:
        vault.enrol("ann", face(0))
        ((blob,),) = rows(vault, "SELECT template FROM vault_people")
        assert bytes(blob)[10:80] in file.read_bytes()
        vault.revoke("ann")
    assert bytes(blob)[10:80] not in file.read_bytes()


def test_errors_and_words_about_a_vault_hold_no_numbers_of_a_vector(tmp_path: Path) -> None:
    bad = face(0).copy()
    bad[3] = np.inf
    with closing(made(str(tmp_path / "v.db"))) as vault:
        vault.enrol("ann", face(0))
        said = [repr(vault), repr(Held(1, 1, b"template"))]
        for call in (vault.enrol, vault.verify, vault.rotate):
            for vector in (bad, bad[:5], np.concatenate([bad, bad])):
                with pytest.raises(EffaceError) as refused:
                    call("ann", vector)
                said += [str(refused.value), repr(refused.value.__cause__)]
    assert "template" not in said[1]
    for trace in traces(face(0)):
        assert trace not in " ".join(said).encode()


def test_a_mistyped_name_is_not_kept(address: str) -> None:
    """Who types the password where the name goes finds it nowhere."""
    with closing(made(address, rules=Rules())) as vault:
        vault.enrol("ann", face(0))
        vault.verify("correct horse battery", face(0), "10.0.0.1")
        with pytest.raises(VaultError):
            vault.revoke("correct horse battery")
        left = repr([rows(vault, f"SELECT * FROM {t}") for t in ("vault_audit", "vault_attempts")])
    assert "horse" not in left
    assert "10.0.0.1" in left
    assert "ann" in left


# --- the pepper -----------------------------------------------------------------------------


def test_the_pepper_is_kept_apart_and_needed(tmp_path: Path) -> None:
    file = tmp_path / "v.db"
    scheme = l2fe(hardening=peppered())
    with closing(made(str(file), scheme, peppers=lambda: (PEPPER,))) as vault:
        vault.enrol("ann", face(0))
        assert vault.verify("ann", face(0, 1))
    left = file.read_bytes()
    assert PEPPER not in left
    assert PEPPER.hex().encode() not in left
    from vault_world import OTHER_PEPPER, vault_at

    for wrong in ((), (OTHER_PEPPER,)):
        with closing(vault_at(str(file), peppers=lambda w=wrong: w)) as again:
            with pytest.raises(VaultError, match="pepper") as said:
                again.verify("ann", face(0))
            assert OTHER_PEPPER.hex() not in str(said.value)


def test_a_pepper_file_is_made_read_and_added_to(tmp_path: Path) -> None:
    file = tmp_path / "pepper"
    first = peppers.add_pepper(file, lambda size: b"a" * size)
    both = peppers.add_pepper(file, lambda size: b"b" * size)
    assert first == (b"a" * 32,)
    assert both == (b"b" * 32, b"a" * 32) == peppers.read_peppers(file)
    assert file.stat().st_mode & 0o077 == 0
    assert peppers.choose(both, peppers.tag(b"a" * 32)) == b"a" * 32
    assert peppers.choose(both, "") is None


def test_a_pepper_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(peppers.ENVIRONMENT, raising=False)
    assert peppers.read_peppers(None) == ()
    monkeypatch.setenv(peppers.ENVIRONMENT, PEPPER.hex())
    assert peppers.read_peppers(None) == (PEPPER,)


@pytest.mark.parametrize("text", ["", "correct horse", "abcd", PEPPER.hex()[:-1], "é" * 32])
def test_a_pepper_that_is_none_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pepper"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(EffaceError) as said:
        peppers.read_peppers(file)
    assert not text or text not in str(said.value)
    with pytest.raises(VaultError):
        peppers.read_peppers(tmp_path / "none")


def test_the_vault_says_what_breaks_its_scheme(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with closing(made(str(tmp_path / "v.db"))) as vault:
            vault.enrol("ann", np.asarray(face(0))[:DIM])
    assert any("broken" in str(w.message) for w in heard)
