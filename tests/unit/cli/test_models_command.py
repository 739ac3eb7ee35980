"""``efface models``: what there is, what it allows, and whether it is what it should be."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from efface.cli.main import invoke

DATA = b"weights" * 1000
SHA = hashlib.sha256(DATA).hexdigest()
OWN = """
[mine]
kind = "onnx"
summary = "an encoder of ours"
page = "https://example.org"
licence = "internal"
terms = "non-commercial"
notice = "For research."
[[mine.files]]
name = "mine.onnx"
url = "http://127.0.0.1:9/mine.onnx"
{sha}
"""


@pytest.fixture
def shelf(tmp_path: Path) -> list[str]:
    """Options for a shelf of its own, with a manifest of its own."""
    (tmp_path / "own.toml").write_text(OWN.format(sha=f'sha256 = "{SHA}"'))
    return ["--models", str(tmp_path / "models"), "--manifest", str(tmp_path / "own.toml")]


def put(tmp_path: Path, data: bytes = DATA) -> None:
    (tmp_path / "models" / "mine").mkdir(parents=True, exist_ok=True)
    (tmp_path / "models" / "mine" / "mine.onnx").write_bytes(data)


def test_list_names_terms_and_what_is_here(
    shelf: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["models", "list", *shelf]) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("mine")]
    assert "here" not in line
    assert "[non-commercial]" in line
    put(tmp_path)
    assert invoke(["models", "list", *shelf]) == 0
    assert " here " in capsys.readouterr().out
    assert invoke(["models", "list", "--json", *shelf]) == 0
    assert json.loads(capsys.readouterr().out)["mine"]["files"][0]["sha256"] == SHA


def test_show_says_where_the_file_belongs(
    shelf: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["models", "show", "mine", *shelf]) == 0
    said = capsys.readouterr().out
    place = str(tmp_path / "models" / "mine" / "mine.onnx")
    for part in ("internal", "non-commercial", "For research.", place, SHA, "not here", "by hand"):
        assert part in said
    assert invoke(["models", "show", "dinov2-base", *shelf]) == 0
    assert "SHA-256 not known from the publisher" in capsys.readouterr().out


def test_pull_says_the_terms_first_and_where_there_is_no_network_what_to_do(
    shelf: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["models", "pull", "mine", *shelf]) == 2
    error = capsys.readouterr().err
    assert error.index("internal (non-commercial). For research.") < error.index("--accept-terms")
    assert not (tmp_path / "models").exists()


def test_verify_has_an_exit_code_for_each_answer(
    shelf: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["models", "verify", "mine", *shelf]) == 2
    assert "is not there" in capsys.readouterr().err
    put(tmp_path)
    assert invoke(["models", "verify", "mine", *shelf]) == 0
    assert "mine/mine.onnx: verified" in capsys.readouterr().out
    put(tmp_path, DATA + b"!")
    assert invoke(["models", "verify", *shelf]) == 1
    assert "mine/mine.onnx: wrong" in capsys.readouterr().out
    (tmp_path / "own.toml").write_text(OWN.format(sha=""))
    assert invoke(["models", "verify", *shelf]) == 3
    assert "unverified: no digest of the publisher is known" in capsys.readouterr().out


def test_unknown_names_are_answered_with_the_nearest(
    shelf: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("show", "pull", "verify"):
        assert invoke(["models", command, "mime", *shelf]) == 2
        assert "did you mean 'mine'" in capsys.readouterr().err
