"""FAISS and LanceDB: rows per second into a new store, with the projector and without; and recall.

Without: vectors are read with the library's own calls and added to a new store of the same kind.
With: ``efface`` does the same work with the projector, a journal that survives a kill, digests of
every part, and a part of the result read again. Both in one process, in turn, best of the repeats.
Recall@10 of the exported chain is counted against projecting first, and has to be that of the same
index with projected vectors and queries.

    python bench/bench_stores_files.py [--rows 20000] [--dim 256] [--rank 64] [--repeats 3]
        [--queries 200] [--folder DIR]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import lancedb
import numpy as np
import pyarrow as pa

from efface.export.faiss import faiss_chain, index_dim
from efface.protect.linear.eraser import LinearEraser
from efface.stores.address import open_sink, open_source, parse
from efface.stores.engine import apply_store
from machine import describe

INDEXES = ("Flat", "IVF64,Flat", "HNSW16")
NEIGHBOURS = 10


@dataclass(frozen=True)
class Run:
    """What is measured: a name, and how a new store is made without efface and with it."""

    name: str
    without: Callable[[Path], object]
    with_efface: Callable[[Path], object]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    eraser = drawn(args.dim, args.rank)
    vectors = grouped(args.rows, args.dim)
    folder = Path(tempfile.mkdtemp(dir=args.folder))
    try:
        runs = [*faiss_runs(folder, vectors, eraser), lance_run(folder, vectors, eraser)]
        print(
            f"{describe()}\n\n{args.rows:,} x {args.dim} float32, rank {args.rank}, one process\n"
        )
        speeds(runs, folder, args.rows, args.repeats)
    finally:
        shutil.rmtree(folder)
    return recalls(vectors, grouped(args.queries, args.dim, 1), eraser)


def drawn(dim: int, rank: int) -> LinearEraser:
    """Oblique, with a mean, as LEACE is: the most that the chain has to do."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    metric = np.geomspace(0.5, 2, dim)[:, None]
    mean = rng.standard_normal(dim) / dim
    return LinearEraser(metric * basis, basis / metric, mean, method="leace")


def grouped(rows: int, dim: int, seed: int = 0) -> np.ndarray:
    """Unit vectors in groups, as embeddings are: neighbours that mean something."""
    centres = np.random.default_rng(7).standard_normal((200, dim))
    rng = np.random.default_rng(seed)
    x = centres[rng.integers(0, 200, rows)] + rng.standard_normal((rows, dim))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


# --- speed ----------------------------------------------------------------------------------


def faiss_runs(folder: Path, vectors: np.ndarray, eraser: LinearEraser) -> list[Run]:
    runs = []
    for key in INDEXES:
        source = folder / f"{key.replace(',', '-')}.faiss"
        faiss.write_index(filled(key, vectors), str(source))
        runs.append(
            Run(
                f"FAISS {key}",
                lambda out, source=source, key=key: copy_index(source, out / "x.faiss", key),
                lambda out, source=source: erase(eraser, str(source), str(out / "x.faiss")),
            )
        )
    return runs


def filled(key: str, vectors: np.ndarray) -> Any:
    index = faiss.index_factory(vectors.shape[1], key, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    return index


def copy_index(source: Path, target: Path, key: str) -> None:
    """Read all vectors and build the index again, on one thread as efface does."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    index = faiss.read_index(str(source))
    faiss.write_index(filled(key, index.reconstruct_n(0, index.ntotal)), str(target))
    faiss.omp_set_num_threads(threads)


def lance_run(folder: Path, vectors: np.ndarray, eraser: LinearEraser) -> Run:
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    rows = pa.table({"id": np.arange(len(vectors)), "vector": column})
    lancedb.connect(str(folder / "db")).create_table("raw", rows)
    source = f"lancedb:{folder / 'db'}#raw"
    return Run(
        "LanceDB",
        lambda out: copy_table(folder / "db", out),
        lambda out: erase(eraser, source, f"lancedb:{out}#clean"),
    )


def copy_table(source: Path, target: Path) -> None:
    rows = lancedb.connect(str(source)).open_table("raw").to_arrow()
    lancedb.connect(str(target)).create_table("clean", rows)


def erase(eraser: LinearEraser, source: str, target: str) -> None:
    origin = open_source(parse(source))
    apply_store(eraser, origin, open_sink(parse(target), origin))


def speeds(runs: list[Run], folder: Path, rows: int, repeats: int) -> None:
    print("| store | rows/s without | rows/s with efface | share |\n|---|---|---|---|")
    for run in runs:
        best = [np.inf, np.inf]
        for _ in range(repeats):
            for at, work in enumerate((run.without, run.with_efface)):
                out = Path(tempfile.mkdtemp(dir=folder))
                best[at] = min(best[at], timed(work, out))
                shutil.rmtree(out)
        without, used = rows / best[0], rows / best[1]
        print(f"| {run.name} | {without:,.0f} | {used:,.0f} | {used / without:.2f} |")


def timed(work: Callable[[Path], object], out: Path) -> float:
    start = time.perf_counter()
    work(out)
    return time.perf_counter() - start


# --- recall ---------------------------------------------------------------------------------


def recalls(vectors: np.ndarray, queries: np.ndarray, eraser: LinearEraser) -> int:
    """Against the exact neighbours of what was projected first."""
    clean, asked = eraser.transform(vectors), eraser.transform(queries)
    exact = filled("Flat", clean).search(asked, NEIGHBOURS)[1]
    print("\n| index | recall@10, projected first | chain | compact chain |\n|---|---|---|---|")
    worst = 0.0
    for key in INDEXES:
        first = recall(exact, searchable(filled(key, clean)).search(asked, NEIGHBOURS)[1])
        found = [chained(eraser, key, vectors, queries, exact, small) for small in (False, True)]
        print(f"| {key} | {first:.4f} | {found[0]:.4f} | {found[1]:.4f} |")
        if key == "Flat":
            worst = max(abs(first - one) for one in found)
    full, small = index_dim(eraser), index_dim(eraser, compact_form=True)
    print(f"\nThe compact index has {small} dimensions instead of {full}.")
    return 0 if worst < 1e-3 else 1


def chained(
    eraser: LinearEraser,
    key: str,
    vectors: np.ndarray,
    queries: np.ndarray,
    exact: np.ndarray,
    small: bool,
) -> float:
    dim = index_dim(eraser, compact_form=small)
    index = faiss.index_factory(dim, key, faiss.METRIC_INNER_PRODUCT)
    chain = faiss_chain(eraser, index, compact_form=small)
    chain.train(vectors)
    chain.add(vectors)
    searchable(index)
    return recall(exact, chain.search(queries, NEIGHBOURS)[1])


def searchable(index: Any) -> Any:
    """Lists looked into and links followed, enough for a recall that says something."""
    if hasattr(index, "nprobe"):
        index.nprobe = 8
    if hasattr(index, "hnsw"):
        index.hnsw.efSearch = 64
    return index


def recall(exact: np.ndarray, found: np.ndarray) -> float:
    hits = sum(len(np.intersect1d(a, b)) for a, b in zip(exact, found, strict=True))
    return hits / exact.size


if __name__ == "__main__":
    sys.exit(main())
