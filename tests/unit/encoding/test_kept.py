"""Vectors kept beside a report: whatever moment a run dies at, the next one ends the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from encode_world import Means, order, people

from efface.encoding.finish import left_out_path, near_path
from efface.encoding.kept import note_path
from efface.encoding.run import encode
from efface.errors import StoreError

DYING = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from encode_world import order
from efface.encoding.run import encode
real, left = os.replace, int(sys.argv[1])
def replace(*names):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    real(*names)
os.replace = replace
encode(order(Path({images!r}), Path({out!r}), keep=True))
"""


def results(out: Path) -> list[bytes]:
    return [path.read_bytes() for path in (out, left_out_path(out), near_path(out))]


def test_killed_before_each_name_that_is_given(tmp_path: Path) -> None:
    images = people(tmp_path / "in", count=2, each=2)
    (images / "p0" / "bad.jpg").write_text("no picture")
    whole = tmp_path / "whole.parquet"
    encode(order(images, whole))
    kills = 0
    for moment in range(1, 30):
        out = tmp_path / str(moment) / "emb.parquet"
        out.parent.mkdir()
        code = DYING.format(here=str(Path(__file__).parent), images=str(images), out=str(out))
        done = subprocess.run([sys.executable, "-c", code, str(moment)])
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        kills += 1
        encode(order(images, out, keep=True))
        assert results(out) == results(whole)
        assert sorted(os.listdir(out.parent)) == sorted(
            path.name for path in (out, left_out_path(out), near_path(out), note_path(out))
        )
        again = Means()
        encode(order(images, out, keep=True, encoder=again))
        assert again.calls == 0
    assert kills >= 7  # two notes, the job, a part with its own note, two lists, the vectors


def test_pictures_are_the_same_by_another_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    encode(order(images, out, keep=True))
    monkeypatch.chdir(tmp_path)
    images.rename(tmp_path / "moved")
    again = Means()
    encode(order(Path("moved"), out, keep=True, encoder=again))
    assert again.calls == 0


def test_without_keep_there_is_no_note(tmp_path: Path) -> None:
    images, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    encode(order(images, out))
    assert not note_path(out).exists()
    again = Means()
    encode(order(images, out, encoder=again))
    assert again.calls > 0
    with pytest.raises(StoreError, match="not as an audit left it"):
        encode(order(images, out, keep=True))


@pytest.mark.parametrize("change", ["batch", "dtype", "picture", "list"])
def test_another_order_is_worked_out(tmp_path: Path, change: str) -> None:
    images, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    encode(order(images, out, keep=True))
    more = {"batch": {"batch": 3}, "dtype": {"dtype": "float16"}}.get(change, {})
    if change == "picture":
        os.utime(images / "p0" / "00.png", (1, 1))
    if change == "list":
        near_path(out).unlink()
    again = Means()
    encode(order(images, out, keep=True, encoder=again, **more))
    assert again.calls > 0
    fresh = tmp_path / "fresh.parquet"
    encode(order(images, fresh, **more))
    assert results(out) == results(fresh)
    assert json.loads(note_path(out).read_bytes())["job"]["format"] == 1
