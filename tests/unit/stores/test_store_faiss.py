"""FAISS index files through the engine: the same index, of clean vectors alone."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faiss_files import DIM, KEYS, LISTED, MAPPED, PLAIN, ROWS, half_lists, ids, make, raw
from store_erasers import drawn

from efface.errors import StoreError
from efface.stores.address import open_sink, open_source, parse
from efface.stores.contract import Sink, Source
from efface.stores.engine import apply_store

faiss = pytest.importorskip("faiss")

ERASER = drawn(DIM, 3)
every_key = pytest.mark.parametrize("key", KEYS)


def opened(path: Path) -> Any:
    return open_source(parse(str(path)))


def apply(source: Path, target: Path, **more: Any) -> Any:
    origin = opened(source)
    sink = open_sink(parse(str(target)), origin)
    return apply_store(ERASER, origin, sink, part_rows=70, verify="full", **more)


def content(path: Path) -> tuple[np.ndarray, np.ndarray]:
    source = opened(path)
    chunks = [source.read(part) for part in source.parts(90)]
    return np.concatenate([c.vectors for c in chunks]), np.concatenate([c.labels for c in chunks])


def wanted(key: str) -> tuple[np.ndarray, np.ndarray]:
    """What is to be there, worked out from what was added and nothing else."""
    half = "SQ" in key
    stored = raw().astype(np.float16) if half else raw()
    clean = ERASER.transform(stored).astype(stored.dtype)
    return clean, ids() if key in MAPPED else np.arange(ROWS)


@every_key
def test_every_form_keeps_order_ids_and_type(tmp_path: Path, key: str) -> None:
    make(key, tmp_path / "raw.faiss")
    receipt = apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    vectors, labels = content(tmp_path / "clean.faiss")
    clean, names = wanted(key)
    assert vectors.dtype == clean.dtype
    assert np.array_equal(vectors, clean)
    assert np.array_equal(labels, names)
    assert receipt.rows.written == ROWS
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "clean.faiss", "clean.faiss.efface-parts.jsonl", "raw.faiss",
    ]  # fmt: skip


@every_key
@pytest.mark.parametrize("metric", ["IP", "L2"])
def test_the_new_index_is_of_the_same_form_and_searches(
    tmp_path: Path, key: str, metric: str
) -> None:
    make(key, tmp_path / "raw.faiss", metric=metric)
    before = faiss.read_index(str(tmp_path / "raw.faiss"))
    apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    after = faiss.read_index(str(tmp_path / "clean.faiss"))
    assert type(after) is type(before)
    assert (after.d, after.metric_type, after.ntotal) == (DIM, before.metric_type, ROWS)
    assert opened(tmp_path / "clean.faiss").form == opened(tmp_path / "raw.faiss").form
    clean, names = wanted(key)
    if "IVF" in key:
        faiss.extract_index_ivf(after).nprobe = 4
    found = after.search(clean.astype(np.float32), 1)[1][:, 0]
    assert (found == names).mean() > 0.97  # a graph may miss one


def test_parameters_are_kept(tmp_path: Path) -> None:
    index = faiss.IndexHNSWFlat(DIM, 6)
    index.hnsw.efConstruction, index.hnsw.efSearch = 77, 33
    index.add(raw())
    faiss.write_index(index, str(tmp_path / "raw.faiss"))
    apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    made = faiss.read_index(str(tmp_path / "clean.faiss"))
    after = made.hnsw
    assert (after.efConstruction, after.efSearch) == (77, 33)
    assert (after.nb_neighbors(0), after.nb_neighbors(1)) == (12, 6)


def test_lists_with_ids_come_in_the_order_of_their_ids(tmp_path: Path) -> None:
    make("IVF4,Flat", tmp_path / "raw.faiss", named=True)
    apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    vectors, labels = content(tmp_path / "clean.faiss")
    order = np.argsort(ids())
    assert np.array_equal(labels, ids()[order])
    assert np.array_equal(vectors, ERASER.transform(raw())[order])


def test_lists_of_halves_are_halves_again(tmp_path: Path) -> None:
    half_lists(tmp_path / "raw.faiss")
    apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    vectors, labels = content(tmp_path / "clean.faiss")
    halves = raw().astype(np.float16)[np.argsort(ids())]
    assert vectors.dtype == np.float16
    assert np.array_equal(vectors, ERASER.transform(halves).astype(np.float16))
    assert np.array_equal(labels, np.sort(ids()))


@pytest.mark.parametrize("key", LISTED)
def test_centroids_are_trained_on_clean_vectors(tmp_path: Path, key: str) -> None:
    """A centroid of raw vectors sticks out into the directions that are removed."""
    make(key, tmp_path / "raw.faiss")
    apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    left = []
    for name in ("raw.faiss", "clean.faiss"):
        index = faiss.read_index(str(tmp_path / name))
        coarse = faiss.downcast_index(index.quantizer)
        flat = faiss.downcast_index(coarse.storage) if hasattr(coarse, "storage") else coarse
        centroids = flat.reconstruct_n(0, 4)
        left.append(np.abs(centroids @ ERASER.basis).max())
    assert left[0] > 0.01
    assert left[1] < 1e-6


@pytest.mark.parametrize("key", ["Flat", "HNSW8", "IVF4,Flat", "IVF4_HNSW4,Flat"])
def test_no_byte_of_the_new_file_comes_from_the_raw_vectors(tmp_path: Path, key: str) -> None:
    """Built from clean vectors alone, by the same hand: the very same file."""
    make(key, tmp_path / "raw.faiss")
    apply(tmp_path / "raw.faiss", tmp_path / "one.faiss")
    other = raw() + np.random.default_rng(1).normal(size=(ROWS, 3)) @ ERASER.basis.T
    unit = ERASER.transform(raw())
    assert not np.allclose(other, raw(), atol=0.1)
    index = faiss.read_index(str(tmp_path / "raw.faiss"))
    index.reset()
    index.add(unit)  # already clean: centroids and links of the source differ, rows do not
    faiss.write_index(index, str(tmp_path / "again.faiss"))
    apply(tmp_path / "again.faiss", tmp_path / "two.faiss")
    one, two = (faiss.read_index(str(tmp_path / n)) for n in ("one.faiss", "two.faiss"))
    found = [i.search(unit[:50], 5) for i in (one, two)]
    assert np.allclose(found[0][0], found[1][0], atol=1e-6)


@pytest.mark.parametrize("key", ["Flat", "HNSW8", "IDMap2,IVF4,Flat"])
def test_equal_work_gives_equal_bytes(tmp_path: Path, key: str) -> None:
    make(key, tmp_path / "raw.faiss")
    for name in ("one.faiss", "two.faiss"):
        apply(tmp_path / "raw.faiss", tmp_path / name)
    assert (tmp_path / "one.faiss").read_bytes() == (tmp_path / "two.faiss").read_bytes()


@pytest.mark.parametrize("key", [*PLAIN, "IVF4,Flat", "IDMap,Flat"])
def test_sources_and_sinks_travel_and_keep_the_contract(tmp_path: Path, key: str) -> None:
    make(key, tmp_path / "raw.faiss")
    source = pickle.loads(pickle.dumps(opened(tmp_path / "raw.faiss")))
    sink = pickle.loads(pickle.dumps(open_sink(parse(str(tmp_path / "clean.faiss")), source)))
    assert isinstance(source, Source)
    assert isinstance(sink, Sink)
    chunk = source.read(source.parts(100)[1])
    even = np.arange(100) % 2 == 0
    half = source.select(chunk, even)
    assert np.array_equal(half.vectors, chunk.vectors[even])
    assert list(half.labels) == [n for n, kept in zip(chunk.labels, even, strict=True) if kept]


def test_a_sample_is_drawn_without_replacement_and_named(tmp_path: Path) -> None:
    make("IDMap,Flat", tmp_path / "raw.faiss")
    labels, vectors = opened(tmp_path / "raw.faiss").sample(50, np.random.default_rng(1))
    assert len(set(labels)) == 50
    rows = [np.flatnonzero(ids() == name)[0] for name in labels]
    assert np.array_equal(vectors, raw()[rows])
    assert len(opened(tmp_path / "raw.faiss").sample(999, np.random.default_rng(1))[0]) == ROWS


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    path = tmp_path / "raw.faiss"
    index = make("Flat", path)
    before = opened(path).fingerprint()
    assert opened(path).fingerprint() == before
    index.add(raw(1))
    faiss.write_index(index, str(path))
    assert opened(path).fingerprint() != before
    assert opened(path).shape.rows == ROWS + 1  # and nothing of the old file is remembered


def test_fewer_vectors_than_lists_cannot_be_trained_again(tmp_path: Path) -> None:
    index = make("IVF4,Flat", tmp_path / "raw.faiss")
    index.reset()
    index.add(raw(3))
    faiss.write_index(index, str(tmp_path / "raw.faiss"))
    with pytest.raises(StoreError, match="4 lists for 3 vectors"):
        apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")


def test_a_finished_target_is_taken_as_it_is_or_refused(tmp_path: Path) -> None:
    make("IVF4,Flat", tmp_path / "raw.faiss")
    first = apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    with pytest.raises(StoreError, match="--resume"):
        apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    again = apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss", resume=True)
    assert again.vectors == first.vectors


def test_swap_makes_it_the_live_one(tmp_path: Path) -> None:
    make("HNSW8", tmp_path / "raw.faiss")
    apply(tmp_path / "raw.faiss", tmp_path / "clean.faiss")
    origin = opened(tmp_path / "raw.faiss")
    open_sink(parse(str(tmp_path / "clean.faiss")), origin).swap(str(tmp_path / "raw.faiss"))
    assert np.array_equal(content(tmp_path / "raw.faiss")[0], ERASER.transform(raw()))
    assert np.array_equal(content_of_raw(tmp_path / "raw.faiss.before-efface"), raw())


def content_of_raw(path: Path) -> np.ndarray:
    index = faiss.read_index(str(path))
    return index.reconstruct_n(0, index.ntotal)
