"""Whatever stops a run, the next one goes on, and the file is the same as without the stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from encode_world import Means, order, people
from PIL import Image

from efface.encoding import run
from efface.encoding.finish import left_out_path
from efface.encoding.run import encode
from efface.errors import StoreError


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PART_ROWS", 4)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    root = people(tmp_path / "in", count=4, each=5)
    (root / "p1" / "bad.jpg").write_text("no picture")
    return root


class Tired(Means):
    """Gives up after some batches, as an interrupt does."""

    def __init__(self, batches: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.left = batches
        self.error = error

    def encode(self, images: object) -> object:
        self.left -= 1
        if self.left < 0:
            raise self.error("stop")
        return super().encode(images)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("batches", "workers"), [(0, 1), (1, 1), (2, 1), (3, 1), (5, 2), (8, 1), (10, 1)]
)
def test_a_stopped_run_is_taken_up(
    tmp_path: Path, images: Path, batches: int, workers: int
) -> None:
    whole, out = tmp_path / "whole.parquet", tmp_path / "emb.parquet"
    first = encode(order(images, whole))
    out.write_bytes(b"an older file")
    with pytest.raises(KeyboardInterrupt):
        encode(order(images, out, encoder=Tired(batches), workers=workers))
    assert out.read_bytes() == b"an older file"
    fresh = Means()
    again = encode(order(images, out, encoder=fresh))
    assert out.read_bytes() == whole.read_bytes()
    assert left_out_path(out).read_bytes() == left_out_path(whole).read_bytes()
    assert again == first
    assert fresh.calls == 11 - 2 * (batches // 2)  # whole parts of two batches are kept


def test_an_error_of_the_encoder_comes_through(tmp_path: Path, images: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        encode(order(images, tmp_path / "emb.parquet", encoder=Tired(3, ZeroDivisionError)))


def test_unfinished_work_of_another_job_is_not_thrown_away(tmp_path: Path, images: Path) -> None:
    out = tmp_path / "emb.parquet"
    with pytest.raises(KeyboardInterrupt):
        encode(order(images, out, encoder=Tired(5)))
    with pytest.raises(StoreError, match=r"another job \(differs in: dtype\)"):
        encode(order(images, out, dtype="float16"))
    Image.fromarray(np.zeros((30, 30, 3), np.uint8)).save(images / "p0" / "new.png")
    with pytest.raises(StoreError, match=r"differs in: pictures"):
        encode(order(images, out))


def test_a_picture_that_changed_is_noticed(tmp_path: Path, images: Path) -> None:
    out = tmp_path / "emb.parquet"
    with pytest.raises(KeyboardInterrupt):
        encode(order(images, out, encoder=Tired(5)))
    os.utime(images / "p3" / "04.png", (1, 1))
    with pytest.raises(StoreError, match="differs in: pictures"):
        encode(order(images, out))


def test_work_that_never_wrote_a_part_gives_way(tmp_path: Path, images: Path) -> None:
    out = tmp_path / "emb.parquet"
    with pytest.raises(KeyboardInterrupt):
        encode(order(images, out, encoder=Tired(1)))
    made = encode(order(images, out, dtype="float16"))
    assert made.pictures.encoded == 20


def test_parts_without_their_job_are_not_trusted(tmp_path: Path, images: Path) -> None:
    whole, out = tmp_path / "whole.parquet", tmp_path / "emb.parquet"
    encode(order(images, whole))
    with pytest.raises(KeyboardInterrupt):
        encode(order(images, out, encoder=Tired(7)))
    (tmp_path / "emb.parquet.efface-work" / "job.json").write_text("{")
    fresh = Means()
    encode(order(images, out, encoder=fresh))
    assert fresh.calls == 11
    assert out.read_bytes() == whole.read_bytes()


def test_two_runs_do_not_write_one_file(tmp_path: Path, images: Path) -> None:
    out = tmp_path / "emb.parquet"
    folder = tmp_path / "emb.parquet.efface-work"
    folder.mkdir()
    code = (
        "import fcntl,sys,time; f=open(sys.argv[1],'w'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "lock")], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match="another run is writing it"):
            encode(order(images, out))
    finally:
        holder.kill()
        holder.communicate()
    assert encode(order(images, out)).pictures.encoded == 20


SLOW = """
import sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
from encode_world import Means, order
from efface.encoding import run
run.PART_ROWS = 4
class Slow(Means):
    def encode(self, images):
        time.sleep(0.05)
        return super().encode(images)
if __name__ == "__main__":
    run.encode(order(Path({images!r}), Path({out!r}), encoder=Slow(), workers=2))
"""


def test_killed_outright_it_goes_on(tmp_path: Path, images: Path) -> None:
    whole, out = tmp_path / "whole.parquet", tmp_path / "emb.parquet"
    encode(order(images, whole))
    script = tmp_path / "slow.py"
    here = str(Path(__file__).parent)
    script.write_text(SLOW.format(here=here, images=str(images), out=str(out)))
    child = subprocess.Popen([sys.executable, str(script)])
    folder = tmp_path / "emb.parquet.efface-work"
    while child.poll() is None and not list(folder.glob("*1.parquet")):
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not out.exists()
    fresh = Means()
    encode(order(images, out, encoder=fresh))
    assert out.read_bytes() == whole.read_bytes()
    assert fresh.calls < 11
