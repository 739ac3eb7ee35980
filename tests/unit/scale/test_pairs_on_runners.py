"""All pairs on a runner: what one process and one BLAS thread find, bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scale_tasks as tasks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from efface.errors import DataError
from efface.judge.trials import Trials
from efface.judge.verification import Verification
from efface.measure.pairs import ImpostorScores, impostor_scores, mated_scores
from efface.scale import pairs
from efface.scale.pairs import impostor_scores_on, mated_scores_on
from efface.scale.runner import Processes, Serial
from efface.scale.sheet import Sheet
from efface.scale.threads import one_blas_thread
from efface.scale.verify import threshold_on, verify_store
from efface.types import Claim

BLOCK, KEEP, ABOVE = 32, 500, 0.25


def crowd(rows: int = 700, dim: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of people with one to ten pictures, in no order; some vectors twice."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, rows // 5, rows)
    faces = rng.standard_normal((rows // 5, dim))
    vectors = (faces[person] + rng.standard_normal((rows, dim))).astype(np.float32)
    vectors[rng.integers(0, rows, 40)] = vectors[0]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), person


VECTORS, PERSON = crowd()


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Sheet:
    np.save(path := tmp_path_factory.mktemp("sheet") / "vectors.npy", VECTORS)
    return Sheet(str(path), PERSON)


@pytest.fixture(scope="module")
def alone() -> ImpostorScores:
    with one_blas_thread():
        return impostor_scores(VECTORS, PERSON, keep=KEEP, above=ABOVE, block=BLOCK)


def on(runner: Any, sheet: Sheet, **more: Any) -> ImpostorScores:
    return impostor_scores_on(runner, sheet, keep=KEEP, above=ABOVE, block=BLOCK, **more)


def assert_same(found: ImpostorScores, expected: ImpostorScores) -> None:
    assert found.tail is not None
    assert expected.tail is not None
    assert (found.total, found.tail.seen) == (expected.total, expected.tail.seen)
    assert np.array_equal(found.histogram, expected.histogram)
    for mine, theirs in zip(found.tail.result(), expected.tail.result(), strict=True):
        assert np.array_equal(mine, theirs)
    for name in ("left", "right", "count"):
        mine, theirs = (getattr(scores.confusions, name) for scores in (found, expected))
        assert np.array_equal(mine, theirs)


def test_every_runner_finds_the_same_bits(runner: Any, sheet: Sheet, alone: ImpostorScores) -> None:
    assert len(alone.confusions.count) > 100
    assert_same(on(runner, sheet), alone)


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_finds_the_same_bits(
    workers: int, sheet: Sheet, alone: ImpostorScores
) -> None:
    with Processes(workers) as runner:
        assert_same(on(runner, sheet), alone)


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_any_order_of_arrival_finds_the_same_bits(
    sheet: Sheet, alone: ImpostorScores, seed: int
) -> None:
    assert_same(on(tasks.Shuffled(seed), sheet), alone)


@pytest.mark.parametrize("kind", ["two_processes", "dask_runner"])
def test_a_worker_killed_in_mid_run_changes_no_bit(
    kind: str, sheet: Sheet, alone: ImpostorScores, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    dying = tasks.Murderous(request.getfixturevalue(kind), 3, tmp_path / "mark")
    assert_same(on(dying, sheet), alone)
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("at_once", [0, KEEP * 7])
def test_long_tails_go_in_rounds_and_are_the_same(
    at_once: int, sheet: Sheet, alone: ImpostorScores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "_AT_ONCE", at_once)
    said: list[int] = []
    assert_same(on(tasks.Shuffled(1), sheet, progress=lambda a, b: said.append(b - a)), alone)
    assert said == list(range(len(said)))[::-1]


def test_in_later_rounds_hardly_any_score_travels(sheet: Sheet) -> None:
    tiles = pairs._tiles(len(PERSON), BLOCK)
    sent = []
    for floor in (-np.inf, 0.6):
        task = pairs.ScoreTile(sheet, KEEP, None, BLOCK, int(PERSON.max()) + 1, floor)
        tail = task(tiles[1]).tail
        assert tail is not None
        sent.append(len(tail.result()[0]))
    assert sent[0] == KEEP
    assert sent[1] < KEEP / 4


@settings(max_examples=25)
@given(st.integers(1, 300), st.integers(1, 40))
def test_tiles_hold_every_pair_of_blocks_once(rows: int, block: int) -> None:
    seen = np.zeros((rows, rows), int)
    for tile in pairs._tiles(rows, block):
        (a, b), (c, d) = tile.left, tile.right
        assert a % block == c % block == 0
        seen[a:b, c:d] += 1
    assert (np.triu(seen) == np.triu(np.ones_like(seen))).all()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10_000), st.integers(2, 90), st.integers(1, 12), st.booleans())
def test_any_crowd_is_scored_as_in_one_process(
    tmp_path_factory: pytest.TempPathFactory, seed: int, rows: int, people: int, ordered: bool
) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((rows, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    person = np.sort(rng.integers(0, people, rows)) if ordered else rng.integers(0, people, rows)
    np.save(path := tmp_path_factory.mktemp("crowd") / "v.npy", vectors)
    sheet = Sheet(str(path), person)
    with one_blas_thread():
        expected = impostor_scores(vectors, person, keep=20, above=0.1, block=16)
        ladder = np.array([-0.5, 0.2, 0.9])
        mated = mated_scores(vectors, person, ladder)
    runner = tasks.Shuffled(seed)
    assert_same(impostor_scores_on(runner, sheet, keep=20, above=0.1, block=16), expected)
    found = mated_scores_on(runner, sheet, ladder)
    for name in ("pairs", "accepted", "histogram"):
        assert np.array_equal(getattr(found, name), getattr(mated, name))


def test_mated_pairs_on_every_runner(
    runner: Any, sheet: Sheet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "_MATED_ROWS", 100)
    ladder = np.array([0.1, 0.4, 0.8])
    with one_blas_thread():
        expected = mated_scores(VECTORS, PERSON, ladder)
    found = mated_scores_on(runner, sheet, ladder)
    for name in ("pairs", "accepted", "histogram"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


# --- an operating point ---------------------------------------------------------------------


def test_verify_counts_as_the_judge_counts(tmp_path: Path, two_processes: Processes) -> None:
    sheets, trials = [], []
    for seed in (1, 2):
        vectors, person = crowd(500, seed=seed)
        person = np.unique(person, return_inverse=True)[1]
        np.save(path := tmp_path / f"{seed}.npy", vectors)
        sheets.append(Sheet(str(path), person))
        trials.append(Trials(Claim(vectors), person))
    judge = Verification(far=1e-2)
    with one_blas_thread():
        calibration = judge.calibrate(trials[0], draws=False)
        evidence = judge.examine(trials[1], calibration)
    found = verify_store(two_processes, *sheets, far=1e-2)
    assert found.threshold == calibration.threshold
    assert found.allowed == calibration.allowed
    assert found.calibration_impostors == calibration.impostors
    assert (found.mated, found.mated_accepted) == (evidence.mated.sum(), evidence.accepted.sum())
    assert found.impostors == evidence.impostors
    assert found.impostors_accepted == evidence.confusions.count.sum()
    assert 0 < found.far < 0.05 < found.tar <= 1


def test_too_few_pairs_for_a_rate_give_no_threshold(tmp_path: Path) -> None:
    np.save(path := tmp_path / "v.npy", np.eye(4, dtype=np.float32))
    sheet = Sheet(str(path), np.array([0, 0, 1, 1]))
    assert threshold_on(Serial(), sheet, 1e-3) == (None, 0, 4)
    found = verify_store(Serial(), sheet, sheet)
    assert (found.threshold, found.mated_accepted, found.impostors_accepted) == (None, 0, 0)


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "length"), [(1.0, "4.899"), (0.0, "0"), (np.nan, "nan")])
def test_rows_without_unit_length_are_named_by_their_place_in_the_file(
    value: float, length: str, tmp_path: Path
) -> None:
    vectors = VECTORS[:50].copy()
    vectors[17] = value
    np.save(path := tmp_path / "v.npy", vectors)
    with pytest.raises(DataError, match=rf"v.npy: row 17 \(counted from 0\) has length {length}"):
        impostor_scores_on(Serial(), Sheet(str(path), PERSON[:50]))


def test_codes_have_to_fit_the_rows(tmp_path: Path) -> None:
    np.save(path := tmp_path / "v.npy", VECTORS[:9])
    with pytest.raises(DataError, match="one code for every row"):
        Sheet(str(path), PERSON[:8])
    with pytest.raises(DataError, match=r"0\.\.m-1, one is -2"):
        Sheet(str(path), np.arange(9) - 2)


@pytest.mark.parametrize("content", ["absent", "text", "integers", "objects"])
def test_files_that_hold_no_vectors(content: str, tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    if content == "text":
        path.write_text("hello")
    if content == "integers":
        np.save(path, np.ones((3, 2), int))
    if content == "objects":
        np.save(path, np.array([None, "a", 1], object), allow_pickle=True)
    with pytest.raises(DataError, match=r"v.npy: .*(cannot be mapped|are no vectors)"):
        Sheet(str(path), np.arange(3))
