"""A fit where the vectors lie: the same bits on every runner, and the fit that memory gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import scale_tasks as tasks
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from people_on_disk import people, table, write

import efface
from efface.cli.main import cli
from efface.errors import DataError, EraserError
from efface.protect.linear.eraser import LinearEraser
from efface.scale.runner import Processes, Serial
from efface.stores.fit import fit_file

VECTORS, PERSON = people()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(VECTORS, PERSON, "folder", tmp_path_factory.mktemp("stored"))


@pytest.fixture(scope="module")
def alone(stored: Path) -> LinearEraser:
    return fitted(stored, Serial())


def fitted(path: Path, runner: Any, method: Any = None, rows: int = 32) -> LinearEraser:
    protection = efface.LEACE(rank=4) if method is None else method
    return fit_file(path, protection, runner, identity="person", rows=rows).eraser_


def same_bits(a: LinearEraser, b: LinearEraser) -> bool:
    return (
        a.digest() == b.digest()
        and np.array_equal(a.energy, b.energy)
        and (a.fit_digest, a.fingerprints, a.rows, a.identities)
        == (b.fit_digest, b.fingerprints, b.rows, b.identities)
    )


def test_every_runner_gives_the_same_bits(stored: Path, alone: LinearEraser, runner: Any) -> None:
    assert same_bits(fitted(stored, runner), alone)


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_gives_the_same_bits(
    stored: Path, alone: LinearEraser, workers: int
) -> None:
    with Processes(workers) as runner:
        assert same_bits(fitted(stored, runner), alone)


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_any_order_of_arrival_gives_the_same_bits(
    stored: Path, alone: LinearEraser, seed: int
) -> None:
    assert same_bits(fitted(stored, tasks.Shuffled(seed)), alone)


@pytest.mark.parametrize("kind", ["two_processes", "dask_runner"])
def test_a_worker_killed_in_mid_run_changes_no_bit(
    kind: str, stored: Path, alone: LinearEraser, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    dying = tasks.Murderous(request.getfixturevalue(kind), 4, tmp_path / "mark")
    assert same_bits(fitted(stored, dying), alone)
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "method",
    [efface.ISP(rank=3), efface.LEACE(rank=4), efface.SAL(rank=3)],
    ids=lambda m: m.card.name,
)
def test_it_is_the_fit_that_memory_gives(stored: Path, method: Any) -> None:
    samples = efface.load(stored, identity="person")
    expected = type(method)(rank=method.rank).fit(samples).eraser_
    found = fitted(stored, Serial(), method)
    assert np.abs(found.transform(VECTORS) - expected.transform(VECTORS)).max() < 1e-5
    assert (found.identities, found.rows) == (expected.identities, expected.rows)


def test_people_that_were_fitted_are_found_again(stored: Path, alone: LinearEraser) -> None:
    samples = efface.load(stored, identity="person")
    assert alone.fingerprints == efface.LEACE(rank=4).fit(samples).eraser_.fingerprints
    assert len(alone.fingerprints) == len(samples.people)


def test_the_digest_is_of_vectors_and_who_belongs_together(
    alone: LinearEraser, tmp_path: Path
) -> None:
    def digest(vectors: np.ndarray, person: Any, name: str, rows: int = 32) -> str:
        (folder := tmp_path / name).mkdir()
        return fitted(write(vectors, person, "folder", folder), Serial(), rows=rows).fit_digest

    renamed = np.array([f"{name[::-1]} anew" for name in PERSON])
    assert digest(VECTORS, renamed, "names") == alone.fit_digest
    moved = PERSON.copy()
    moved[5] = moved[6] if moved[5] != moved[6] else moved[7]
    assert digest(VECTORS, moved, "moved") != alone.fit_digest
    nudged = VECTORS.copy()
    nudged[-1, -1] = np.nextafter(nudged[-1, -1], np.float32(9))
    assert digest(nudged, PERSON, "nudged") != alone.fit_digest
    swapped = VECTORS[[1, 0, *range(2, len(VECTORS))]]
    assert digest(swapped, PERSON, "swapped") != alone.fit_digest


def test_float16_is_fitted_as_what_it_is(tmp_path: Path) -> None:
    small = VECTORS.astype(np.float16)
    np.savez(tmp_path / "half.npz", embedding=small, person=PERSON)
    found = fitted(tmp_path / "half.npz", Serial())
    expected = efface.LEACE(rank=4).fit(small, PERSON).eraser_
    assert np.abs(found.transform(VECTORS) - expected.transform(VECTORS)).max() < 1e-5


def test_progress_ends_with_all_parts(stored: Path) -> None:
    said: list[tuple[int, int]] = []
    fit_file(
        stored, efface.ISP(rank=2), Serial(), identity="person", rows=32,
        progress=lambda done, total: said.append((done, total)),
    )  # fmt: skip
    assert said == [(i, len(said)) for i in range(1, len(said) + 1)]


# --- refusals -------------------------------------------------------------------------------


def test_a_wrong_parameter_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    path = write(VECTORS, PERSON, "parquet", tmp_path)

    class Idle(tasks.Shuffled):
        def imap(self, task: Any, items: Any) -> Any:
            raise AssertionError("read already")

    with pytest.raises(EraserError, match="rank 0"):
        fitted(path, Idle(0), efface.ISP(rank=0))


@pytest.mark.parametrize(("value", "what"), [(np.nan, "holds NaN"), (0.0, "is all zero")])
def test_a_bad_vector_is_named_by_its_row_in_the_file(
    value: float, what: str, tmp_path: Path, two_processes: Processes
) -> None:
    vectors = VECTORS.copy()
    vectors[171] = value
    path = write(vectors, PERSON, "parquet", tmp_path)
    with pytest.raises(DataError, match=rf"people.parquet: row 171 .*{what}") as caught:
        fitted(path, two_processes)
    assert any("rows 160 to 191" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("gap", [None, "", "  "])
def test_a_row_without_a_person_is_named(gap: str | None, tmp_path: Path) -> None:
    person = PERSON.tolist()
    person[99] = gap
    with pytest.raises(DataError, match=r"no identity in row 99"):
        fitted(write(VECTORS, person, "parquet", tmp_path), Serial())


def test_labels_of_two_types_are_refused(tmp_path: Path) -> None:
    pq.write_table(table(VECTORS[:100], PERSON[:100]), tmp_path / "a.parquet")
    pq.write_table(table(VECTORS[100:], np.arange(140)), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"int in one part and str|str in one part and int"):
        fitted(tmp_path, Serial())


def test_labels_that_are_fractions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="identities are float64: use text or whole numbers"):
        fitted(write(VECTORS, np.arange(240) / 2, "parquet", tmp_path), Serial())


def test_vectors_of_another_length_are_refused(tmp_path: Path) -> None:
    pq.write_table(table(VECTORS, PERSON), tmp_path / "a.parquet")
    pq.write_table(table(VECTORS[:, :8], PERSON), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b.parquet.*expected rows of 12 numbers"):
        fitted(tmp_path, Serial())


# --- the command line -----------------------------------------------------------------------


def _fit(path: Path, out: Path, *more: str) -> Any:
    words = ["fit", str(path), "--identity", "person", "--out", str(out), *more]
    return CliRunner().invoke(cli, words, standalone_mode=False)


def test_the_command_fits_on_workers(stored: Path, tmp_path: Path, cluster: Any) -> None:
    files = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    where = [["--workers", "2"], ["--scheduler", cluster.scheduler_address]]
    for file, on in zip(files, where, strict=True):
        done = _fit(stored, file, "--all", "--rank", "3", *on)
        assert done.exception is None, done.exception
        assert "removes 3 of 12 directions" in done.output
    one, two = (efface.load_eraser(file) for file in files)
    assert same_bits(one, two)
    assert one.fit_digest
    assert len(one.fingerprints) == one.identities


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--all", "--workers", "2"], "rank auto needs held-out people"),
        (["--rank", "3", "--workers", "2"], "say so with --all"),
        (["--all", "--rank", "3", "--workers", "2", "--scheduler", "tcp://x"], "not both"),
    ],
)
def test_the_command_says_what_a_fit_on_workers_cannot_do(
    words: list[str], why: str, stored: Path, tmp_path: Path
) -> None:
    done = _fit(stored, tmp_path / "p.safetensors", *words)
    assert done.exception is not None
    assert why in str(done.exception)
    assert not list(tmp_path.iterdir())
