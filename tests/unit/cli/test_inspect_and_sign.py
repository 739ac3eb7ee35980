"""``fit``'s record, ``inspect``, ``keygen``, ``sign`` and ``verify-signature`` as typed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import efface
from efface.cli.main import invoke
from efface.data import synthetic
from efface.export.safetensors import read_metadata, read_projector, save_eraser


@pytest.fixture(scope="module")
def emb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    samples = synthetic.embedding_world(people=150, images=6, dim=32, rank=8, seed=3).samples
    path = tmp_path_factory.mktemp("emb") / "faces.npz"
    np.savez(path, embedding=samples.data, identity=samples.names[samples.identity].astype(str))
    return path


@pytest.fixture(scope="module")
def fitted(emb: Path) -> Path:
    path = emb.with_name("validated.safetensors")
    words = ["fit", str(emb), "--far", "0.01", "--target", "0.3", "--dtype", "float16",
             "--encoder", "ArcFace", "--encoder-weights", str(emb), "--seed", "4"]  # fmt: skip
    assert invoke([*words, "--out", str(path)]) == 0
    return path


@pytest.fixture
def plain(emb: Path, tmp_path: Path) -> Path:
    path = tmp_path / "p.safetensors"
    assert invoke(["fit", str(emb), "--rank", "6", "--out", str(path)]) == 0
    return path


# --- what fit hands over ------------------------------------------------------------------------


def test_fit_writes_the_whole_record(emb: Path, fitted: Path) -> None:
    found = read_projector(fitted)
    record, samples = found.fitting, efface.load(emb)
    split = efface.split(samples, seed=4)
    assert record.dtype == "float16"
    assert record.dataset == "faces"
    assert record.seed == 4
    assert record.split is not None
    assert (record.split.rule, record.split.digest) == (split.rule, split.digest())
    assert {k: list(v) for k, v in record.split.counts.items()} == split.counts()
    assert found.eraser.fit_digest == samples.take(split.fit).digest()
    assert set(record.versions) >= {"python", "numpy", "scipy"}
    assert record.encoder is not None
    assert record.encoder.name == "ArcFace"
    assert record.encoder.weights == hashlib.sha256(emb.read_bytes()).hexdigest()
    assert record.validation is not None
    assert record.validation.far == 0.01
    assert record.validation.sweep.target == 0.3
    best = record.validation.at(found.eraser.rank)
    assert best is not None
    assert best.high is not None
    assert best.high <= 0.3


def test_the_record_says_when_nobody_was_held_out(emb: Path, tmp_path: Path) -> None:
    path = tmp_path / "all"
    digest = "AB" * 32
    assert invoke(["fit", str(emb), "--rank", "6", "--all", "--encoder-digest", digest,
                   "--out", str(path)]) == 0  # fmt: skip
    record = read_projector(path).fitting
    assert record.split is not None
    assert record.split.counts == {"fit": (150, 900)}
    assert record.validation is None
    assert record.encoder is not None
    assert record.encoder.weights == digest.lower()


@pytest.mark.parametrize(
    "words",
    [
        ["--encoder-digest", "ab"],
        ["--encoder-digest", "ab" * 32, "--encoder-weights", "x"],
        ["--encoder-weights", "no-such-file"],
    ],
)
def test_a_record_of_the_encoder_that_cannot_be_is_refused(
    emb: Path, tmp_path: Path, words: list[str]
) -> None:
    out = tmp_path / "p"
    assert invoke(["fit", str(emb), "--rank", "6", *words, "--out", str(out)]) == 2
    assert not out.exists()


# --- inspect ------------------------------------------------------------------------------------


def test_inspect_tells_a_person(fitted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["inspect", str(fitted)]) == 0
    said = capsys.readouterr().out
    found = read_projector(fitted)
    assert f"removes {found.eraser.rank} of 32 directions" in " ".join(said.split())
    assert found.fitting.validation is not None
    assert str(found.fitting.validation.at(found.eraser.rank)) in said
    for words in ("float16", "ArcFace", "at FAR 0.01", "upper end at most 0.3", found.sha256,
                  found.eraser.digest(), "none beside it", "seed 4", "fit 60, sha"):  # fmt: skip
        assert words in said, words
    labels = {line[:14].rstrip() for line in said.splitlines()}
    assert len(labels) > 10, "aligned labels"


def test_inspect_tells_a_program(fitted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["inspect", str(fitted), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    known = read_metadata(fitted)
    prints = known.pop("fingerprints")
    assert {k: said[k] for k in known} == known
    assert said["fingerprints"] == len(prints) == 60
    assert said["sha256"] == hashlib.sha256(fitted.read_bytes()).hexdigest()
    assert said["signature"] is None


def test_inspect_says_who_gave_the_rank(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["inspect", str(plain)]) == 0
    assert "given by the user; no attack measured it" in capsys.readouterr().out


def test_inspect_knows_little_of_a_bare_eraser(
    tmp_path: Path, plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = dataclasses.replace(
        efface.load_eraser(plain), method="a\x1b[31mb\ud800", warnings=("w\n",)
    )
    evil = tmp_path / "bare"
    save_eraser(dataclasses.replace(bare, method="a\x1b[31mb"), evil, metadata={"n": "\ud800"})
    capsys.readouterr()
    assert invoke(["inspect", str(evil)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "a\\x1b[31mb" in said
    assert "w\\n" in said
    assert "\\ud800" in said
    assert "not known" in said


def test_a_damaged_projector_is_not_inspected(
    plain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.write_bytes(plain.read_bytes()[:-9])
    assert invoke(["inspect", str(plain)]) == 2
    assert str(plain) in capsys.readouterr().err


# --- keys and signatures ------------------------------------------------------------------------


def test_make_a_key_sign_and_verify(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, sig = tmp_path / "key", tmp_path / "elsewhere.sig"
    assert invoke(["keygen", "--out", str(key)]) == 0
    assert invoke(["sign", str(plain), "--key", str(key)]) == 0
    verify = ["verify-signature", str(plain), "--key", f"{key}.pub"]
    assert invoke(verify) == 0
    assert invoke(["sign", str(plain), "--key", str(key), "--out", str(sig)]) == 0
    assert invoke([*verify, "--signature", str(sig)]) == 0
    capsys.readouterr()
    assert invoke(["inspect", str(plain)]) == 0
    assert "p.safetensors.sig, key " in capsys.readouterr().out
    assert invoke(["inspect", str(plain), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["signature"]["same_file"] is True


def test_exit_codes_of_verification(plain: Path, emb: Path, tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    for one in (key, other):
        assert invoke(["keygen", "--out", str(one)]) == 0
    verify = ["verify-signature", str(plain), "--key", f"{key}.pub"]
    assert invoke(verify) == 2, "unsigned"
    assert invoke(["sign", str(plain), "--key", str(other)]) == 0
    assert invoke(verify) == 1, "another key"
    assert invoke(["sign", str(plain), "--key", str(key)]) == 0
    assert invoke(verify) == 0
    assert invoke([*verify[:-1], str(key)]) == 2, "a private key"
    assert invoke([*verify[:-1], str(tmp_path / "none")]) == 2
    assert invoke(["verify-signature", str(tmp_path / "none"), *verify[2:],
                   "--signature", f"{plain}.sig"]) == 2  # fmt: skip
    assert invoke(["fit", str(emb), "--rank", "5", "--out", str(plain)]) == 0
    assert invoke(verify) == 1, "another projector"
    assert invoke(["inspect", str(plain)]) == 0
    (tmp_path / "p.safetensors.sig").write_text("{}")
    assert invoke(verify) == 2, "no signature in it"
    assert invoke(["inspect", str(plain)]) == 0
    assert invoke(["inspect", str(plain), "--json"]) == 0


def test_a_locked_key(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    key = tmp_path / "key"
    assert invoke(["keygen", "--out", str(key), "--passphrase"]) == 2, "nobody to ask"
    assert not key.exists()
    monkeypatch.setenv("EFFACE_KEY_PASSPHRASE", "s3cret-words")
    assert invoke(["keygen", "--out", str(key), "--passphrase"]) == 0
    assert b"ENCRYPTED" in key.read_bytes()
    assert invoke(["sign", str(plain), "--key", str(key)]) == 0
    monkeypatch.setenv("EFFACE_KEY_PASSPHRASE", "wrong")
    assert invoke(["sign", str(plain), "--key", str(key)]) == 2
    monkeypatch.delenv("EFFACE_KEY_PASSPHRASE")
    assert invoke(["sign", str(plain), "--key", str(key)]) == 2
    said = capsys.readouterr()
    assert "s3cret" not in said.out + said.err
    assert "EFFACE_KEY_PASSPHRASE" in said.err


def test_a_key_is_not_overwritten(tmp_path: Path) -> None:
    key = str(tmp_path / "key")
    assert invoke(["keygen", "--out", key]) == 0
    before = Path(key).read_bytes()
    assert invoke(["keygen", "--out", key]) == 2
    assert Path(key).read_bytes() == before


def test_a_key_that_others_can_read_is_pointed_out(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    invoke(["keygen", "--out", str(key)])
    key.chmod(0o640)
    assert invoke(["sign", str(plain), "--key", str(key)]) == 0
    assert "warning: " in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(
    plain: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    key = str(tmp_path / "key")
    assert invoke(["keygen", "--out", key]) == 0
    assert invoke(["sign", str(plain), "--key", key]) == 0
    for module in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, module, None)
    for words in (
        ["keygen", "--out", str(tmp_path / "new")],
        ["sign", str(plain), "--key", key],
        ["verify-signature", str(plain), "--key", f"{key}.pub"],
    ):
        assert invoke(words) == 2
        said = capsys.readouterr().err
        assert "cryptography is not installed: pip install 'efface[sign]'" in said
    assert invoke(["inspect", str(plain)]) == 0, "looking needs no key"
    assert not (tmp_path / "new").exists()
