"""Exported files are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from efface.errors import ArtefactError
from efface.export.files import whole_file, write_whole


def half_write(path: Path, error: Exception) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(b"half")
        raise error


def test_the_old_file_stays_when_the_work_fails(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_whole(path, b"old")
    with pytest.raises(ZeroDivisionError):
        half_write(path, ZeroDivisionError())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"x: cannot be written .*No space left"):
        half_write(tmp_path / "x", OSError(28, "No space left on device"))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="cannot be written"):
        write_whole(tmp_path / "no" / "x", b"")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
