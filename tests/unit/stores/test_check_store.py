"""Was it projected? Stores of known truth, every type, every form of eraser."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flat_store import FlatSource, save
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom
from store_erasers import drawn

from efface.errors import DataError
from efface.protect.linear.cone import Cone, dimensions
from efface.protect.linear.eraser import LinearEraser
from efface.stores.address import open_source, parse
from efface.stores.check import Check, check_store, sample_size
from efface.stores.filesource import drawn_with_vector

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from stored_people import write_table

DIM = 32
FORMS = [
    {"oblique": o, "centred": c, "normalise": n}
    for o in (False, True)
    for c in (False, True)
    for n in (False, True)
]


def raw(rows: int, dtype: str = "float32", seed: int = 0, dim: int = DIM) -> np.ndarray:
    """Unit rows with unequal directions and a mean, as embeddings have."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, dim)) * np.linspace(0.3, 2, dim) + 0.4
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)


def clean(eraser: LinearEraser, rows: np.ndarray) -> np.ndarray:
    return eraser.transform(rows).astype(rows.dtype)


def check(folder: Path, vectors: np.ndarray, eraser: LinearEraser, **more: Any) -> Check:
    store = folder / f"s{len(list(folder.iterdir()))}"
    return check_store(FlatSource(save(store, vectors, np.arange(len(vectors)))), eraser, **more)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("form", FORMS, ids=lambda f: "-".join(k for k, v in f.items() if v))
def test_clean_raw_and_another(tmp_path: Path, form: dict[str, bool], dtype: str) -> None:
    eraser, other = drawn(DIM, 6, 1, **form), drawn(DIM, 6, 2, **form)
    rows = raw(600, dtype)
    found = check(tmp_path, clean(eraser, rows), eraser)
    assert (found.outcome, found.exit_code, found.not_clean) == ("clean", 0, 0)
    found = check(tmp_path, rows, eraser)
    assert (found.outcome, found.exit_code, found.not_clean) == ("raw", 1, 600)
    assert found.fills == DIM
    found = check(tmp_path, clean(other, rows), eraser)
    assert (found.outcome, found.exit_code) == ("another projector", 1)
    assert found.fills == DIM - 6 + form["centred"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("rank", [1, 6, DIM - 4])
def test_mixed_names_the_rows(tmp_path: Path, dtype: str, rank: int) -> None:
    eraser, rows = drawn(DIM, rank, 1), raw(2000, dtype)
    vectors = clean(eraser, rows)
    left = np.array([0, 7, 1999])
    vectors[left] = rows[left]
    found = check(tmp_path, vectors, eraser)
    assert (found.outcome, found.exit_code) == ("mixed", 1)
    assert found.labels == ["0", "7", "1999"]
    assert found.share is not None
    assert found.share.value == found.share.low == found.share.high == 3 / 2000
    assert "0, 7, 1999" in " ".join(found.says)


def test_no_clean_row_is_ever_called_raw(tmp_path: Path) -> None:
    """The tolerance is a bound: half a million clean rows, some with hardly anything left."""
    for dtype in ("float16", "float32", "float64"):
        for form in FORMS:
            for rank in (1, 20, DIM - 6):
                eraser = drawn(DIM, rank, 3, **form)
                rows = clean(eraser, raw(5000, dtype, seed=rank))
                cone = Cone(eraser)
                assert (cone.distances(rows) <= cone.tolerances(rows)).all()


@pytest.mark.parametrize("centred", [False, True])
def test_rows_made_in_float32_elsewhere_are_clean(tmp_path: Path, centred: bool) -> None:
    """As an index or a model would: float32 throughout, then any type."""
    eraser = drawn(256, 64, 1, centred=centred)
    x = raw(3000, dim=256)
    basis = eraser.basis.astype("f4")
    mean = np.zeros(256, "f4") if eraser.mean is None else eraser.mean.astype("f4")
    y = x - ((x - mean) @ basis) @ basis.T
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    for dtype in ("float16", "float32", "float64"):
        assert check(tmp_path, y.astype(dtype), eraser).outcome == "clean"


def test_the_type_that_counts_is_the_narrowest_on_the_way(tmp_path: Path) -> None:
    eraser = drawn(DIM, 6, 1)
    vectors = clean(eraser, raw(600, "float16")).astype("float64")
    assert check(tmp_path, vectors, eraser).outcome == "clean"
    vectors[:, 0] *= 1 + 1e-9  # no halves any more, so the distance has no excuse
    assert check(tmp_path, vectors, eraser).outcome != "clean"


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_length_does_not_matter(tmp_path: Path, scale: float) -> None:
    eraser = drawn(DIM, 6, 1, centred=True)
    rows = raw(300)
    assert check(tmp_path, clean(eraser, rows) * np.float32(scale), eraser).outcome == "clean"
    assert check(tmp_path, rows * np.float32(scale), eraser).outcome == "raw"


def test_the_other_half_of_the_line_is_not_the_ray() -> None:
    eraser = drawn(DIM, 6, 1, centred=True)
    cone, rows = Cone(eraser), clean(eraser, raw(200, "float64"))
    mirrored = rows - 2 * (rows @ eraser.basis) @ eraser.basis.T
    assert (cone.distances(rows) <= cone.tolerances(rows)).all()
    assert (cone.distances(mirrored) > cone.tolerances(mirrored)).all()


def test_too_few_rows_are_inconclusive_and_say_what_is_needed(tmp_path: Path) -> None:
    eraser = drawn(DIM, 6, 1)
    vectors = clean(eraser, raw(5000))
    found = check(tmp_path, vectors, eraser, rows=50)
    assert (found.outcome, found.exit_code, found.looked_at) == ("inconclusive", 3, 50)
    assert "4,603 rows are needed" in " ".join(found.says)
    found = check(tmp_path, vectors, eraser)
    assert (found.outcome, found.looked_at, found.everything) == ("clean", 4603, False)
    assert found.error_reached == pytest.approx(0.999**4603)
    assert found.error_reached <= 0.01
    found = check(tmp_path, vectors, eraser, everything=True)
    assert (found.outcome, found.looked_at, found.everything) == ("clean", 5000, True)
    assert check(tmp_path, raw(5000), eraser, rows=50).exit_code == 1


def test_what_cannot_be_told_apart_is_inconclusive(tmp_path: Path) -> None:
    rows = raw(600)
    nothing = drawn(DIM, 0)
    found = check(tmp_path, rows, nothing)
    assert (found.outcome, found.exit_code) == ("inconclusive", 3)
    assert "removes nothing" in " ".join(found.says)
    # One direction and a mean: what it puts out is half of all there is.
    half = drawn(DIM, 1, 1, centred=True)
    assert check(tmp_path, clean(half, rows), half).outcome == "inconclusive"
    few = check(tmp_path, raw(20), drawn(DIM, 6, 1))
    assert (few.outcome, few.exit_code, few.fills) == ("raw or another projector", 1, None)


def test_wrong_dimension_bad_shares_and_rows_without_direction(tmp_path: Path) -> None:
    eraser = drawn(DIM, 6, 1)
    found = check(tmp_path, raw(40, dim=8), eraser)
    assert (found.outcome, found.exit_code) == ("wrong dimension", 2)
    vectors = clean(eraser, raw(400))
    vectors[3], vectors[9], vectors[11] = 0, np.nan, np.inf
    found = check(tmp_path, vectors, eraser)
    assert (found.outcome, found.empty, found.looked_at) == ("clean", 3, 397)
    assert "3 rows have no direction" in " ".join(found.says)
    for bad in ({"max_raw": 0.0}, {"max_raw": 1.0}, {"error": 0.0}, {"error": 2.0}):
        with pytest.raises(DataError, match="between 0 and 1"):
            check(tmp_path, vectors, eraser, **bad)


def test_rows_without_a_vector_are_not_judged(tmp_path: Path) -> None:
    eraser = drawn(DIM, 6, 1)
    vectors, present = clean(eraser, raw(400)), np.arange(400) % 3 > 0
    vectors[~present] = raw(400)[~present]  # whatever lies below a null
    store = FlatSource(save(tmp_path / "s", vectors, np.arange(400), present))
    assert check_store(store, eraser).outcome == "clean"
    assert check_store(store, eraser, everything=True).looked_at == int(present.sum())


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("filled", [0.8, 0.02])
def test_rows_without_a_vector_do_not_count_as_drawn(
    tmp_path: Path, ending: str, filled: float
) -> None:
    """Others are drawn for them: a store with gaps is as sure an answer as one without."""
    eraser, rows = drawn(DIM, 6, 1), 3000
    there = np.random.default_rng(0).random(rows) < filled
    lists = [
        list(v) if has else None for v, has in zip(clean(eraser, raw(rows)), there, strict=True)
    ]
    table = pa.table({"emb": pa.array(lists, pa.list_(pa.float32(), DIM))})
    write_table(table, tmp_path / f"s.{ending}")
    store = open_source(parse(str(tmp_path / f"s.{ending}")))
    found = check_store(store, eraser, max_raw=0.01)
    assert sample_size(0.01, 0.01, 0.0) == 459
    assert found.outcome == "clean"
    assert found.looked_at == min(459, int(there.sum()))
    assert found.everything == (filled < 0.5)


def test_rows_with_a_vector_are_drawn_evenly(tmp_path: Path) -> None:
    counts = np.zeros(9, int)
    there = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1], bool)
    for seed in range(3000):
        labels, _ = drawn_with_vector(
            9, 2, np.random.default_rng(seed), lambda rows: (rows[there[rows]].tolist(), [])
        )
        assert len(set(labels)) == 2
        counts[labels] += 1
    assert (counts[~there] == 0).all()
    assert np.abs(counts[there] - 1200).max() < 130  # five deviations


@settings(max_examples=60, deadline=None)
@given(
    rank=st.integers(1, 8),
    centred=st.booleans(),
    power=st.floats(-3, -0.5),
    seed=st.integers(0, 99),
)
def test_the_stated_chance_is_how_often_random_directions_pass(
    rank: int, centred: bool, power: float, seed: int
) -> None:
    eraser = drawn(12, rank, seed, centred=centred)
    rows = np.random.default_rng(seed + 1000).normal(size=(20000, 12))
    cone, near = Cone(eraser), 10.0**power
    passed = int((cone.distances(rows) <= near).sum())
    assert binom.cdf(passed, 20000, cone.chance(near)) > 1e-6
    assert binom.sf(passed - 1, 20000, cone.chance(near)) > 1e-6


def test_how_often_it_misses_is_what_it_says(tmp_path: Path) -> None:
    """Stores with 3 % raw, a sample that is to miss more than 2 % in one of five: it does less."""
    eraser = drawn(DIM, 6, 1)
    rows = raw(2000)
    vectors = clean(eraser, rows)
    vectors[:60] = rows[:60]
    store = FlatSource(save(tmp_path / "s", vectors, np.arange(2000)))
    outcomes = [
        check_store(store, eraser, max_raw=0.02, error=0.2, seed=seed).outcome
        for seed in range(200)
    ]
    missed = outcomes.count("clean")
    assert set(outcomes) == {"clean", "mixed"}
    assert binom.sf(missed - 1, 200, 0.2) > 1e-3
    exact = 0.97 ** sample_size(0.02, 0.2, 0.0)
    assert binom.cdf(missed, 200, exact) > 1e-4


def test_sample_size_is_the_smallest_that_will_do() -> None:
    for share, error in ((0.001, 0.01), (0.01, 0.05), (0.5, 0.4), (0.2, 1e-9)):
        n = sample_size(share, error, 0.0)
        assert (1 - share) ** n <= error < (1 - share) ** (n - 1)
    assert sample_size(0.001, 0.01, 0.05) == math.ceil(math.log(0.01) / math.log1p(-0.00095))


def test_bounds_are_those_of_clopper_and_pearson(tmp_path: Path) -> None:
    eraser, rows = drawn(DIM, 6, 1), raw(4000)
    vectors = np.where(np.arange(4000)[:, None] % 4 == 0, rows, clean(eraser, rows))
    share = check(tmp_path, vectors, eraser, rows=300).share
    assert share is not None
    k = round(share.value * 300)
    assert binom.sf(k - 1, 300, share.low) == pytest.approx(0.025)
    assert binom.cdf(k, 300, share.high) == pytest.approx(0.025)
    assert share.low == pytest.approx(beta.ppf(0.025, k, 301 - k))
    assert share.low < 0.25 < share.high


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dimensions_of_raw_rows_and_of_a_subspace(dtype: str) -> None:
    rows = raw(400, dtype)
    assert dimensions(rows) == DIM
    assert dimensions(clean(drawn(DIM, 1), rows)) == DIM - 1
    assert dimensions(rows[: DIM + 5]) is None


def test_a_draw_is_repeatable_and_the_answer_is_plain_json(tmp_path: Path) -> None:
    eraser = drawn(DIM, 6, 1)
    vectors = clean(eraser, raw(3000))
    vectors[5] = raw(1, seed=9)[0]
    store = FlatSource(save(tmp_path / "s", vectors, np.arange(3000)))
    one, two = (check_store(store, eraser, rows=500, seed=4) for _ in range(2))
    assert one == two
    assert '"format": "efface.check/1"' in one.to_json()
