"""Signatures: valid for one file and one key, and for nothing that was changed."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from projector_files import eraser

from efface.errors import ArtefactError, EffaceWarning
from efface.export import keys, signature
from efface.export.keys import load_private, load_public, make_keys
from efface.export.safetensors import save_eraser
from efface.export.signature import read_signature, sign_projector, verify_file

PEM = serialization.Encoding.PEM


@pytest.fixture
def projector(tmp_path: Path) -> Path:
    path = tmp_path / "p.safetensors"
    save_eraser(eraser(), path)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    make_keys(path)
    return path


def public(key: Path) -> Ed25519PublicKey:
    return load_public(keys.public_of(key))


def signed(projector: Path, key: Path) -> Path:
    sign_projector(projector, load_private(key))
    return signature.beside(projector)


def why(projector: Path, key: Path) -> str:
    return verify_file(projector, read_signature(signature.beside(projector)), public(key))


# --- signing ------------------------------------------------------------------------------------


def test_a_signed_file_is_valid_and_another_is_not(projector: Path, key: Path) -> None:
    signed(projector, key)
    assert why(projector, key) == ""
    projector.write_bytes(projector.read_bytes() + b"\0")
    assert "not the one that was signed" in why(projector, key)


def test_what_is_signed_can_be_checked_without_efface(projector: Path, key: Path) -> None:
    import hashlib

    found = json.loads(signed(projector, key).read_text())
    raw = public(key).public_bytes_raw()
    sha256 = hashlib.sha256(projector.read_bytes()).hexdigest()
    key_id = hashlib.sha256(raw).hexdigest()
    message = f"efface.signature/1\nEd25519\n{key_id}\n{sha256}\n".encode()
    Ed25519PublicKey.from_public_bytes(raw).verify(base64.b64decode(found["signature"]), message)
    assert found["key_id"] == key_id
    assert found["sha256"] == sha256


def test_a_flipped_bit_in_any_byte_of_the_projector_is_noticed(projector: Path, key: Path) -> None:
    signed(projector, key)
    sound, found, ours = projector.read_bytes(), read_signature(f"{projector}.sig"), public(key)
    for at in range(0, len(sound), 11):
        projector.write_bytes(sound[:at] + bytes([sound[at] ^ 1 << at % 8]) + sound[at + 1 :])
        assert verify_file(projector, found, ours)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_signature_never_verifies(
    projector: Path, key: Path, data: st.DataObject
) -> None:
    """Unless only the JSON around it changed, as by another reader's spaces."""
    file = signature.beside(projector)
    if not file.exists():
        signed(projector, key)
        file.with_suffix(".sound").write_bytes(file.read_bytes())
    sound = file.with_suffix(".sound").read_bytes()
    at = data.draw(st.integers(0, len(sound) - 1))
    changed = sound[:at] + data.draw(st.binary(max_size=3)) + sound[at + 1 :]
    file.write_bytes(changed)
    try:
        same = json.loads(changed) == json.loads(sound)
    except ValueError:
        same = False
    try:
        valid = why(projector, key) == ""
    except ArtefactError:
        valid = False
    assert valid is same


def edited(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda found: {**found, **changes}


@pytest.mark.parametrize(
    "change",
    [
        edited(format="efface.signature/2"),
        edited(algorithm="none"),
        edited(algorithm="RSA"),
        edited(sha256="AB" * 32),
        edited(sha256="ab" * 31),
        edited(key_id=""),
        edited(signature=None),
        edited(extra=1),
        lambda found: [found],
        lambda found: {k: v for k, v in found.items() if k != "algorithm"},
    ],
)
def test_what_is_no_signature_of_this_format_is_refused(
    projector: Path, key: Path, change: Callable[[Any], Any]
) -> None:
    file = signed(projector, key)
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(ArtefactError, match=r"\.sig: is no efface\.signature/1"):
        read_signature(file)


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"format":"efface.signature/1","format":"efface.signature/1"}', "[" * 60_000,
     " " * 70_000, "\x00"],
)  # fmt: skip
def test_hostile_signature_files_are_refused(projector: Path, text: str) -> None:
    file = signature.beside(projector)
    file.write_text(text)
    with pytest.raises(ArtefactError, match="is no efface"):
        read_signature(file)


@pytest.mark.parametrize(
    "change",
    [
        edited(signature=base64.b64encode(bytes(64)).decode()),
        edited(signature=base64.b64encode(bytes(63)).decode()),
        edited(signature=""),
        edited(signature="not base64!"),
        edited(signature="ü"),
    ],
)
def test_a_signature_that_is_none_is_not_valid(
    projector: Path, key: Path, change: Callable[[Any], Any]
) -> None:
    file = signed(projector, key)
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    assert "changed or forged" in why(projector, key)


def test_another_key_is_not_valid_whatever_the_file_says(
    tmp_path: Path, projector: Path, key: Path
) -> None:
    make_keys(tmp_path / "other")
    file = signed(projector, tmp_path / "other")
    assert "another key" in why(projector, key)
    found = json.loads(file.read_text())
    file.write_text(json.dumps({**found, "key_id": keys.key_id(public(key))}))
    assert "changed or forged" in why(projector, key)


def test_a_signature_for_another_purpose_does_not_fit(projector: Path, key: Path) -> None:
    file = signed(projector, key)
    found = json.loads(file.read_text())
    bare = load_private(key).sign(found["sha256"].encode())
    file.write_text(json.dumps({**found, "signature": base64.b64encode(bare).decode()}))
    assert "changed or forged" in why(projector, key)


def test_signing_again_replaces_the_signature(tmp_path: Path, projector: Path, key: Path) -> None:
    make_keys(tmp_path / "new")
    signed(projector, key)
    signed(projector, tmp_path / "new")
    assert why(projector, tmp_path / "new") == ""
    assert "another key" in why(projector, key)


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_while_signing_keeps_the_old_signature(
    projector: Path, key: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    before = signed(projector, key).read_bytes()

    def fail(*_: Any) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises((ArtefactError, KeyboardInterrupt)):
            signed(projector, key)
    assert signature.beside(projector).read_bytes() == before
    assert not list(projector.parent.glob("*.partial"))


def test_a_damaged_projector_is_not_signed(projector: Path, key: Path) -> None:
    projector.write_bytes(projector.read_bytes()[:-1] + b"\0")
    with pytest.raises(ArtefactError, match="damaged"):
        signed(projector, key)
    assert not signature.beside(projector).exists()


# --- keys ---------------------------------------------------------------------------------------


def test_the_private_key_is_for_its_owner_only(key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert b"BEGIN PRIVATE KEY" in key.read_bytes()
    assert b"BEGIN PUBLIC KEY" in keys.public_of(key).read_bytes()
    key.chmod(0o644)
    with pytest.warns(EffaceWarning, match="others may read"):
        load_private(key)


@pytest.mark.parametrize("taken", ["key", "key.pub"])
def test_nothing_is_overwritten(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(ArtefactError, match="exists already"):
        make_keys(tmp_path / "key")
    assert [p.name for p in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"


def test_a_file_that_appears_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    (tmp_path / "key.pub").write_text("mine")
    with pytest.raises(ArtefactError, match="cannot be written"):
        make_keys(tmp_path / "key")
    assert [p.name for p in tmp_path.iterdir()] == ["key.pub"], "half a pair stays behind"


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArtefactError, match="exists already"):
        make_keys(tmp_path / "key")
    assert not (tmp_path / "elsewhere").exists()


def test_a_locked_key_opens_with_its_passphrase_only(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    made = make_keys(locked, b"open sesame")
    assert b"ENCRYPTED" in locked.read_bytes()
    assert keys.key_id(load_private(locked, lambda: b"open sesame").public_key()) == made
    for ask, words in ((lambda: b"wrong", "does not open"), (lambda: b"", "locked"), (None, "loc")):
        with pytest.raises(ArtefactError, match=words):
            load_private(locked, ask)


def test_no_passphrase_is_asked_for_a_key_that_has_none(key: Path) -> None:
    def ask() -> bytes:
        raise AssertionError("asked")

    load_private(key, ask)


OTHERS = {
    "RSA": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "E(lliptic)?C(urve)?": lambda: ec.generate_private_key(ec.SECP256R1()),
    "Ed448": ed448.Ed448PrivateKey.generate,
    "X25519": x25519.X25519PrivateKey.generate,
}


@pytest.mark.parametrize("kind", OTHERS)
def test_keys_of_other_kinds_are_refused_by_name(tmp_path: Path, kind: str) -> None:
    other = OTHERS[kind]()
    form = serialization.PrivateFormat.PKCS8
    path = tmp_path / "k"
    path.write_bytes(other.private_bytes(PEM, form, serialization.NoEncryption()))
    path.chmod(0o600)
    with pytest.raises(ArtefactError, match=f"kind {kind}, not Ed25519"):
        load_private(path)
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    path.write_bytes(other.public_key().public_bytes(PEM, spki))
    with pytest.raises(ArtefactError, match=f"kind {kind}, not Ed25519"):
        load_public(path)


def test_the_wrong_half_of_a_pair_is_refused(key: Path) -> None:
    keys.public_of(key).chmod(0o600)
    with pytest.raises(ArtefactError, match="it is a public key"):
        load_private(keys.public_of(key))
    with pytest.raises(ArtefactError, match="it is a private key"):
        load_public(key)


@pytest.mark.parametrize("text", ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n"])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k"
    path.write_text(text)
    path.chmod(0o600)
    for load in (load_private, load_public):
        with pytest.raises(ArtefactError, match=r"no such PEM|is a private key"):
            load(path)
        with pytest.raises(ArtefactError, match="key cannot be read"):
            load(tmp_path / "none")


def test_the_key_in_memory_is_the_key_on_disk(tmp_path: Path) -> None:
    made = make_keys(tmp_path / "k")
    raw = serialization.load_pem_private_key((tmp_path / "k").read_bytes(), None)
    assert isinstance(raw, Ed25519PrivateKey)
    assert keys.key_id(raw.public_key()) == made
