"""The engine against a slow obvious version: any parts, gaps, types, workers and deaths."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat_store import FlatSink, FlatSource, load, save
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_store_reference import erased
from store_erasers import drawn

from efface.scale.runner import Serial
from efface.stores import digest
from efface.stores.engine import apply_store


@dataclass
class Shuffled:
    """Workers that finish in any order, as far apart as a runner allows."""

    seed: int
    workers: int = 3

    def imap(self, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        rng = np.random.default_rng(self.seed)
        under_way: list[int] = []
        todo = list(range(len(items)))
        while todo or under_way:
            while todo and len(under_way) < 2 * self.workers:
                under_way.append(todo.pop(0))
            index = under_way.pop(int(rng.integers(len(under_way))))
            yield index, task(items[index])

    def close(self) -> None:
        return None


class Death(BaseException):
    """Stands for kill -9 at a point that a test chooses."""


class Mortal(FlatSink):
    """Dies before or after its n-th step."""

    steps: int

    def _step(self) -> None:
        self.steps -= 1
        if self.steps == 0:
            raise Death

    def begin(self, job: Any, *, resume: bool) -> Any:
        self._step()
        held = super().begin(job, resume=resume)
        self._step()
        return held

    def prepare(self, part: Any, chunk: Any, vectors: Any) -> Any:
        prepared = super().prepare(part, chunk, vectors)
        self._step()
        return prepared

    def commit(self, part: Any, prepared: Any, done: Any) -> None:
        self._step()
        super().commit(part, prepared, done)
        self._step()

    def finish(self) -> None:
        self._step()
        super().finish()
        self._step()


def people(
    rows: int, dim: int, dtype: str, gaps: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(rows, dim)).astype(dtype)
    return vectors, rng.permutation(10 * rows)[:rows], rng.random(rows) >= gaps


worlds = st.fixed_dictionaries(
    {
        "rows": st.integers(1, 60),
        "part_rows": st.integers(1, 70),
        "dtype": st.sampled_from(["float16", "float32", "float64", ">f4", ">f8"]),
        "gaps": st.sampled_from([0.0, 0.2, 1.0]),
        "null": st.sampled_from(["keep", "drop"]),
        "form": st.fixed_dictionaries(
            {name: st.booleans() for name in ("oblique", "centred", "normalise")}
        ),
        "rank": st.integers(0, 4),
        "seed": st.integers(0, 10**6),
    }
)


@settings(max_examples=60, deadline=None)
@given(world=worlds, workers=st.integers(1, 5), deaths=st.lists(st.integers(1, 40), max_size=3))
def test_same_rows_as_the_slow_version_however_it_dies(
    world: dict[str, Any], workers: int, deaths: list[int]
) -> None:
    seed, null = world["seed"], world["null"]
    vectors, ids, present = people(world["rows"], 16, world["dtype"], world["gaps"], seed)
    eraser = drawn(16, world["rank"], seed + 10**7, **world["form"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = FlatSource(save(folder / "old", vectors, ids, present))
        given = {"null": null, "part_rows": world["part_rows"], "receipt": folder / "r.json"}
        for steps in deaths:
            sink = Mortal(folder / "new")
            sink.steps = steps
            try:
                apply_store(eraser, source, sink, runner=Shuffled(seed, workers), **given)
            except Death:
                continue
            break
        receipt = apply_store(
            eraser, source, FlatSink(folder / "new"), runner=Shuffled(seed + 1, workers),
            resume=(folder / "new").exists() and not (folder / "r.json.pending").exists(),
            verify="full", **given,
        )  # fmt: skip
        got, got_ids, got_present = load(folder / "new")
        assert not (folder / "new.efface-work").exists()
    expected = erased(eraser, vectors, ids, present, null)
    assert got.dtype == vectors.dtype
    assert got_ids.tolist() == expected.ids.tolist()
    assert got_present.tolist() == expected.present.tolist()
    # Long double and float64 round alike but for the last place of what ships.
    one_place = 4 * float(np.finfo(vectors.dtype).eps) * max(1.0, np.abs(got).max(initial=0))
    np.testing.assert_allclose(
        got.astype(float), expected.vectors.astype(float), rtol=0, atol=max(one_place, 1e-15)
    )
    gone = int((~present).sum())
    assert receipt.rows.read == len(vectors)
    assert receipt.rows.written == len(expected.ids)
    assert (receipt.rows.null_kept, receipt.rows.null_dropped) == (
        (gone, 0) if null == "keep" else (0, gone)
    )
    assert receipt.verified.rows == len(expected.ids)
    starts = range(0, len(vectors), world["part_rows"])
    before = [
        vectors[i : i + world["part_rows"]][present[i : i + world["part_rows"]]] for i in starts
    ]
    assert receipt.vectors.before == digest.of_parts(digest.of_vectors(rows) for rows in before)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_parts_do_not_change_a_bit(tmp_path: Path, dtype: str) -> None:
    """One thread of BLAS, rows in blocks: nearly the same sums; what ships must be the same."""
    vectors, ids, _ = people(130, 24, dtype, 0, 5)
    source = FlatSource(save(tmp_path / "old", vectors, ids))
    eraser = drawn(24, 5)
    results = []
    for rows in (130, 64, 3):
        target = tmp_path / f"new{rows}"
        apply_store(eraser, source, FlatSink(target), part_rows=rows, runner=Serial())
        results.append(load(target)[0])
    tiny = 2.0 ** -(np.finfo(dtype).nmant + 1)
    for other in results[1:]:
        close = np.abs(results[0].astype(float) - other.astype(float))
        assert close.max() <= (4e-16 if dtype == "float64" else tiny)
