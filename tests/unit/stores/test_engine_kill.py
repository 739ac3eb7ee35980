"""kill -9 at random points, many times; then the same command ends as if nothing had been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killing import Forks, until_done
from store_erasers import drawn

from efface.export.safetensors import save_eraser

ROWS, DIM = 400, 16


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "inner"
    inner.mkdir()
    save_eraser(drawn(DIM, 4), inner / "p.safetensors")
    return inner


def vectors() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(ROWS, DIM)).astype(np.float32)


def table() -> pa.Table:
    ids = np.random.default_rng(6).permutation(ROWS)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors().ravel()), DIM)
    return pa.table({"id": ids, "emb": column, "word": [f"w{i}" for i in ids]})


def write_npy(path: Path) -> None:
    np.save(path, vectors())


def write_npz(path: Path) -> None:
    np.savez(path, emb=vectors(), who=np.arange(ROWS))


def write_parquet(path: Path) -> None:
    pq.write_table(table(), path, row_group_size=30)


def write_dataset(path: Path) -> None:
    path.mkdir()
    for i in range(4):
        pq.write_table(table().slice(100 * i, 100), path / f"part-{i}.parquet", row_group_size=30)


def write_arrow(path: Path) -> None:
    with pa.ipc.new_file(str(path), table().schema) as writer:
        for batch in table().to_batches(max_chunksize=30):
            writer.write_batch(batch)


STORES = {
    "s.npy": write_npy, "s.npz": write_npz, "s.parquet": write_parquet, "s": write_dataset,
    "s.arrow": write_arrow,
}  # fmt: skip


def content(path: Path) -> dict[str, bytes]:
    """Every file of a store, byte for byte: rows, ids, order, types and all else."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {str(f.relative_to(path.parent)).replace("dead", "once"): f.read_bytes() for f in files}


def receipt(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    del found["time"], found["target"]
    return found


@pytest.mark.parametrize("name", STORES)
def test_killed_at_random_points(
    forks: Forks, folder: Path, tmp_path: Path, rng: np.random.Generator, name: str
) -> None:
    STORES[name](folder / name)
    once, dead = name.replace("s", "once", 1), name.replace("s", "dead", 1)
    words = ["apply", "p.safetensors", name, "--part-rows", "12", "--workers", "1", "--out"]
    assert forks.run([*words, once], folder, tmp_path / "log") == 0, (tmp_path / "log").read_text()
    killed = states = 0
    for _ in range(3):
        deaths = until_done(
            forks, [*words, dead], folder, rng, kills=6, receipt=f"{dead}.receipt.json"
        )
        killed, states = killed + deaths.killed, states + deaths.states
        assert content(folder / dead) == content(folder / once)
        assert receipt(folder / f"{dead}.receipt.json") == receipt(folder / f"{once}.receipt.json")
        litter = ("work", "pending", "partial")
        assert not [p.name for p in folder.iterdir() if any(word in p.name for word in litter)]
        for path in folder.glob(f"{dead}*"):
            subprocess.run(["rm", "-r", str(path)], check=True)
    assert killed >= 6
    assert states >= 5


def test_killed_while_it_takes_over_the_live_name(
    forks: Forks, folder: Path, tmp_path: Path, rng: np.random.Generator
) -> None:
    words = ["apply", "p.safetensors", "live.npy", "--part-rows", "100", "--workers", "1",
             "--out", "new.npy", "--swap", "live.npy"]  # fmt: skip
    clean = drawn(DIM, 4).transform(vectors())
    for _ in range(6):
        write_npy(folder / "live.npy")
        until_done(forks, words, folder, rng, kills=6, receipt="new.npy.receipt.json")
        assert forks.run(words, folder, tmp_path / "log") == 0  # and does nothing any more
        np.testing.assert_array_equal(np.load(folder / "live.npy"), clean)
        np.testing.assert_array_equal(np.load(folder / "live.npy.before-efface"), vectors())
        assert receipt(folder / "new.npy.receipt.json")["swapped"] == "live.npy"
        assert not (folder / "new.npy").exists()
        for path in [*folder.glob("live*"), *folder.glob("new*")]:
            path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("whole_group", [True, False], ids=["all killed", "orphans left"])
def test_killed_with_worker_processes(folder: Path, whole_group: bool) -> None:
    """A new interpreter, two workers. Workers that outlive their master do no harm either."""
    write_npy(folder / "s.npy")
    words = [sys.executable, "-m", "efface.cli.main", "apply", "p.safetensors", "s.npy",
             "--part-rows", "2", "--workers", "2", "--out", "new.npy"]  # fmt: skip
    for wait in (5, 60):
        process = subprocess.Popen(
            words, cwd=folder, start_new_session=True, stderr=subprocess.PIPE, text=True
        )
        journal = folder / "new.npy.efface-work" / "journal.jsonl"
        while process.poll() is None and not (
            journal.exists() and journal.read_bytes().count(b"\n") > wait
        ):
            time.sleep(0.001)
        assert process.poll() is None, process.stderr and process.stderr.read()
        if whole_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate()
        assert not (folder / "new.npy").exists()
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(folder / "new.npy"), drawn(DIM, 4).transform(vectors()))


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(folder: Path) -> None:
    write_npy(folder / "s.npy")
    words = [sys.executable, "-m", "efface.cli.main", "apply", "p.safetensors", "s.npy",
             "--part-rows", "1", "--workers", "2", "--out", "new.npy"]  # fmt: skip
    process = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journal = folder / "new.npy.efface-work" / "journal.jsonl"
    while process.poll() is None and not (
        journal.exists() and journal.read_bytes().count(b"\n") > 5
    ):
        time.sleep(0.001)
    for child in psutil.Process(process.pid).children():
        child.kill()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "400 vectors, 4 of 16 directions removed" in out
    np.testing.assert_array_equal(np.load(folder / "new.npy"), drawn(DIM, 4).transform(vectors()))
