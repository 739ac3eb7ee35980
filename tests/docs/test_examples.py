"""What the pages tell a reader to run does run, as written and in the order of the page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, ROOT, Block, blocks

from efface.report.schema import read

# A shell sees the commands of this interpreter, whether or not they are installed.
_PRELUDE = """\
set -eu
efface() { "$PYTHON" -m efface.cli.main "$@"; }
"""


def play(page: Path, folder: Path) -> str:
    """Run the marked blocks of a page in one folder; what they printed."""
    return "".join(run(block, folder) for block in blocks(page))


def run(block: Block, folder: Path) -> str:
    if block.file is not None:
        (folder / block.file).write_text(block.code, encoding="utf-8")
        return ""
    commands = {
        "python": [sys.executable, "-c", block.code],
        "bash": [shutil.which("bash") or "bash", "-c", _PRELUDE + block.code],
    }
    done = subprocess.run(
        commands[block.language],
        cwd=folder,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{block.code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_readme(tmp_path: Path) -> None:
    said = play(ROOT / "README.md", tmp_path)
    before, after = (read(tmp_path / name / "report.json") for name in ("before", "after"))
    leak, left = before.worst("raw").tar.value, after.worst().tar.value
    assert leak is not None
    assert left is not None
    assert leak > 0.9
    assert left < 0.1
    assert after.verdict.outcome == "pass"
    assert after.verdict.headline in said
    for name in ("projector.safetensors", "faces-clean.npz", "report.html", "out/report.html"):
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.slow
def test_quick_start_and_then_the_plan(tmp_path: Path) -> None:
    play(DOCS / "quickstart.md", tmp_path)
    after = read(tmp_path / "after" / "report.json")
    assert after.verdict.outcome == "pass"
    assert after.subject.parts["fit"][0] == after.releases[1].identities_fitted
    play(DOCS / "plans.md", tmp_path)
    planned = read(tmp_path / "planned" / "report.json")
    assert [r.name for r in planned.releases] == ["raw", "isp-8", "leace-8"]


def test_extending(tmp_path: Path) -> None:
    said = play(DOCS / "extending.md", tmp_path)
    assert "raw " in said
    assert "gauss " in said


def test_templates(tmp_path: Path) -> None:
    said = play(DOCS / "templates.md", tmp_path)
    assert "own picture: True" in said
    assert "opposite: False" in said


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/extending.md"])
def test_pages_with_examples_have_blocks_that_are_run(page: str) -> None:
    languages = {block.language for block in blocks(ROOT / page)}
    assert "python" in languages
    assert page == "docs/extending.md" or "bash" in languages


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    for language, code in (("bash", "false\ntrue\n"), ("python", "raise SystemExit(3)\n")):
        with pytest.raises(AssertionError):
            run(Block(language, code, None), tmp_path)
