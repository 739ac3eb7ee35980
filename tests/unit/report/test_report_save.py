"""Saving: all three files or none, whatever goes wrong."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import report_world

import efface.report
from efface.errors import DataError
from efface.report import save
from efface.report.html import to_html
from efface.report.junit import to_junit
from efface.report.schema import read, to_json
from efface.results import Estimate, Report

NAMES = ["report.html", "report.json", "report.junit.xml"]


def listing(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_the_three_files_are_the_three_functions(full_report: Report, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    full_report.save(folder)
    assert listing(folder) == NAMES
    assert (folder / "report.json").read_bytes() == to_json(full_report)
    assert (folder / "report.html").read_text("utf-8") == to_html(full_report)
    assert (folder / "report.junit.xml").read_bytes() == to_junit(full_report)
    assert read(folder / "report.json") == full_report


def test_the_page_carries_the_digest_of_the_json(full_report: Report, tmp_path: Path) -> None:
    save(full_report, tmp_path)
    digest = hashlib.sha256((tmp_path / "report.json").read_bytes()).hexdigest()
    assert digest in (tmp_path / "report.html").read_text("utf-8")


def test_an_older_report_is_replaced(full_report: Report, tmp_path: Path) -> None:
    save(full_report, tmp_path)
    other = report_world.small(Estimate(0.01, 0.0, 0.03))
    save(other, tmp_path)
    assert listing(tmp_path) == NAMES
    assert read(tmp_path / "report.json") == other


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_full_disk_leaves_the_old_files(
    full_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    save(full_report, tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in NAMES}
    calls = []

    def fsync(handle: int) -> None:
        calls.append(handle)
        if len(calls) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(DataError, match=r"No space left.*choose another folder"):
        save(report_world.build(None), tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in NAMES} == before
    assert listing(tmp_path) == NAMES


@pytest.mark.parametrize("where", ["write", "render"])
def test_ctrl_c_leaves_nothing_behind(
    full_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    if where == "write":
        monkeypatch.setattr(os, "fsync", interrupt)
    else:
        monkeypatch.setattr("efface.report.junit.to_junit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(full_report, tmp_path)
    assert listing(tmp_path) == []


def test_all_are_on_the_disk_before_the_first_takes_its_name(
    full_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda h: (order.append("sync"), fsync(h))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("name"), replace(a, b))[1])
    save(full_report, tmp_path)
    assert order == ["sync"] * 3 + ["name"] * 3


def test_a_folder_that_cannot_be_made_names_itself_and_the_way_out(
    full_report: Report, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    for folder in (blocked, blocked / "out"):
        with pytest.raises(DataError, match="choose another folder with --out") as caught:
            save(full_report, folder)
        assert str(folder) in str(caught.value)
    assert listing(tmp_path) == ["file"]


def test_the_package_is_cheap_to_import() -> None:
    code = (
        "import sys, efface.report; "
        "print(sorted({'jinja2', 'numpy', 'scipy', 'torch', 'matplotlib'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"\w+", run.stdout))
    assert not loaded & {"jinja2", "scipy", "torch", "matplotlib"}
    assert efface.report.__all__ == ["save"]
