"""A file appears whole or not at all, whatever goes wrong on the way."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from efface.data.atomic import atomic_write, sweep
from efface.errors import DataError


def test_the_file_appears_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    with atomic_write(target) as partial:
        assert partial.parent == tmp_path
        assert partial.name.endswith(".partial")
        partial.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.json"]


def test_an_old_file_stays_until_it_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    with atomic_write(str(target)) as partial:
        partial.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, ZeroDivisionError])
def test_whatever_is_raised_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")

    def write_half() -> None:
        with atomic_write(target) as partial:
            partial.write_text("half")
            assert len(os.listdir(tmp_path)) == 2
            raise error

    with pytest.raises(error):
        write_half()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.json"]


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
def test_a_failing_system_call_is_one_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    words = rf"out\.json: cannot be written \({os.strerror(number)}\): choose another folder"
    with pytest.raises(DataError, match=words), atomic_write(target) as partial:
        partial.write_text("half")
    monkeypatch.undo()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.json"]


def test_the_bytes_are_flushed_before_the_name_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b))[1])
    with atomic_write(tmp_path / "out") as partial:
        partial.write_text("x")
    assert calls == ["fsync", "replace", "fsync"]


def test_folders_are_made_only_on_request(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "out.json"
    with pytest.raises(DataError, match=r"there is no folder .*b: make it first"):
        atomic_write(target).__enter__()
    assert os.listdir(tmp_path) == []
    with atomic_write(target, parents=True) as partial:
        partial.write_text("x")
    assert target.read_text() == "x"


def test_places_that_cannot_hold_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="no ordinary file"):
        atomic_write(tmp_path).__enter__()
    with pytest.raises(DataError, match="there is no folder"):
        atomic_write(tmp_path / "file" / "out").__enter__()
    with pytest.raises(DataError, match="this folder cannot be made"):
        atomic_write(tmp_path / "file" / "sub" / "out", parents=True).__enter__()
    with pytest.raises(DataError, match="cannot be written"):
        atomic_write("/proc/self/out").__enter__()
    assert os.listdir(tmp_path) == ["file"]


def test_a_name_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    target = tmp_path / ("é" * 127)
    with atomic_write(target) as partial:
        partial.write_text("x")
    assert target.read_text() == "x"


def test_the_mode_of_the_old_file_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    target.chmod(0o600)
    with atomic_write(target) as partial:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
        partial.write_text("x")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    with atomic_write(tmp_path / "out") as partial:
        partial.write_text("x")
    assert (tmp_path / "out").stat().st_mode == plain.stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real" / "out")
    with atomic_write(link) as partial:
        partial.write_text("x")
    assert link.is_symlink()
    assert (tmp_path / "real" / "out").read_text() == "x"


def test_ctrl_c_from_outside_leaves_nothing(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from efface.data.atomic import atomic_write
with atomic_write(sys.argv[1]) as partial:
    partial.write_text("half")
    os.kill(os.getpid(), signal.SIGINT)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")], capture_output=True, text=True
    )
    assert "KeyboardInterrupt" in done.stderr
    assert os.listdir(tmp_path) == []


def test_what_a_killed_writer_left_is_swept(tmp_path: Path) -> None:
    stale = tmp_path / "a.csv.0123456789abcdef.partial"
    others = [tmp_path / name for name in
              ("a.csv", "b.csv.0123456789abcdef.partial", "a.csv.0123456789abcdef.partial2",
               "aXcsv.0123456789abcdef.partial", "a.csv.partial")]  # fmt: skip
    for path in (stale, *others):
        path.touch()
    sweep(tmp_path / "a.csv")
    assert sorted(tmp_path.iterdir()) == sorted(others)
    long = tmp_path / f"{'x' * 40}.0123456789abcdef.partial"
    long.touch()
    sweep(tmp_path / ("x" * 41))
    assert long.exists()
    sweep(tmp_path / "none" / "a.csv")
