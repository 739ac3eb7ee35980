"""Parquet to Parquet: 2 million x 512 float32 projected, normalised and written, by two processes.

Against what a good engineer would write by hand with pyarrow and NumPy: each process takes half of
the row groups, reads batches, multiplies in float32 with one BLAS thread, and writes a file of its
own with the same codec and no dictionary. efface multiplies in float64, hashes every vector before
and after, writes one file that survives a kill at any moment, and reads some of it again.

    python bench/bench_apply.py [--rows 2000000] [--dim 512] [--rank 64] [--repeats 2]
        [--codec snappy] [--group-rows 65536] [--folder DIR] [--part-rows N]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from machine import describe

LIMIT_RATIO, LIMIT_MB = 0.9, 1500.0
WORKERS, BATCH, BLOCK = 2, 8192, 16384
HAND, OURS = "pyarrow + NumPy by hand", "efface apply"


def main() -> int:
    args = arguments()
    if args.only:
        work = by_hand if args.only == "hand" else by_efface
        started = time.perf_counter()
        work(args)
        print(json.dumps({"seconds": time.perf_counter() - started}))
        return 0
    with tempfile.TemporaryDirectory(dir=args.folder, prefix="bench-apply-") as folder:
        args.folder = folder
        make_source(args)
        runs: dict[str, list[Run]] = {"hand": [], "efface": []}
        for _ in range(args.repeats):
            for name, found in runs.items():
                found.append(measured(name, args))
        same = agree(args)
    return report(runs["hand"], runs["efface"], same, args)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--codec", default="snappy")
    parser.add_argument("--group-rows", type=int, default=65_536)
    parser.add_argument("--part-rows", type=int)
    parser.add_argument("--folder", help="for the data; room for three times their size")
    parser.add_argument("--only", choices=["hand", "efface"], help=argparse.SUPPRESS)
    return parser.parse_args()


def make_source(args: argparse.Namespace) -> None:
    """Unit rows and a number each, written in blocks as pyarrow writes by default."""
    rng = np.random.default_rng(0)
    schema = schema_of(args.dim)
    with pq.ParquetWriter(source(args), schema, compression=args.codec) as writer:
        for start in range(0, args.rows, args.group_rows):
            count = min(args.group_rows, args.rows - start)
            rows = rng.standard_normal((count, args.dim), dtype=np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            ids = pa.array(np.arange(start, start + count))
            writer.write_table(pa.table([ids, column(rows)], schema=schema))
    np.save(
        Path(args.folder) / "basis.npy", np.linalg.qr(rng.normal(size=(args.dim, args.rank)))[0]
    )


def schema_of(dim: int) -> pa.Schema:
    return pa.schema([("id", pa.int64()), ("embedding", pa.list_(pa.float32(), dim))])


def column(rows: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])


def source(args: argparse.Namespace) -> Path:
    return Path(args.folder) / "source.parquet"


# --- by hand --------------------------------------------------------------------------------


def by_hand(args: argparse.Namespace) -> None:
    groups = range(pq.ParquetFile(source(args)).num_row_groups)
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        jobs = [
            pool.submit(hand_share, args.folder, args.codec, list(groups[share::WORKERS]), share)
            for share in range(WORKERS)
        ]
        for job in jobs:
            job.result()


def hand_share(folder: str, codec: str, groups: Sequence[int], share: int) -> None:
    threadpool_limits(1)
    pa.set_cpu_count(1)
    basis = np.load(Path(folder) / "basis.npy").astype(np.float32)
    dual = np.ascontiguousarray(basis.T)
    file = pq.ParquetFile(Path(folder) / "source.parquet")
    options = {"compression": codec, "use_dictionary": ["id"], "write_statistics": ["id"]}
    target = Path(folder) / f"hand-{share}.parquet"
    with pq.ParquetWriter(target, file.schema_arrow, **options) as writer:
        for group in groups:
            batches = file.iter_batches(BATCH, row_groups=[group], use_threads=False)
            writer.write_table(pa.Table.from_batches([hand_batch(b, basis, dual) for b in batches]))


def hand_batch(batch: pa.RecordBatch, basis: np.ndarray, dual: np.ndarray) -> pa.RecordBatch:
    x = batch.column(1).flatten().to_numpy().reshape(len(batch), -1)
    clean = x - (x @ basis) @ dual
    clean /= np.sqrt(np.einsum("ij,ij->i", clean, clean))[:, None]
    return pa.record_batch([batch.column(0), column(clean)], schema=batch.schema)


# --- efface ---------------------------------------------------------------------------------


def by_efface(args: argparse.Namespace) -> None:
    from efface.protect.linear.eraser import LinearEraser
    from efface.scale.runner import Processes
    from efface.stores.address import open_sink, open_source, parse
    from efface.stores.engine import apply_store

    eraser = LinearEraser(np.load(Path(args.folder) / "basis.npy"))
    store = open_source(parse(str(source(args))))
    sink = open_sink(parse(str(Path(args.folder) / "efface.parquet")), store)
    with Processes(WORKERS) as runner:
        apply_store(eraser, store, sink, runner=runner, part_rows=args.part_rows)


# --- measuring ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One run: seconds of the clock and of all processors, and the most memory its processes had
    together, in MB."""

    seconds: float
    busy: float
    peak: float


def measured(name: str, args: argparse.Namespace) -> Run:
    clear(Path(args.folder), name)
    os.sync()
    words = [sys.executable, __file__, "--only", name, "--folder", args.folder]
    for key in ("rows", "dim", "rank", "codec", "group_rows", "part_rows"):
        if getattr(args, key) is not None:
            words += [f"--{key.replace('_', '-')}", str(getattr(args, key))]
    before = busy()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    peak = Peak(process.pid)
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{name}: ended with {process.returncode}")
    return Run(json.loads(out.splitlines()[-1])["seconds"], busy() - before, peak.stop())


def busy() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def clear(folder: Path, name: str) -> None:
    for path in folder.glob(f"{name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


class Peak:
    """The resident memory of a process and all below it, asked for again and again. Pages that
    they share are counted for each."""

    def __init__(self, pid: int) -> None:
        self._top = psutil.Process(pid)
        self._peak, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            try:
                tree = [self._top, *self._top.children(recursive=True)]
                self._peak = max(self._peak, sum(p.memory_info().rss for p in tree))
            except psutil.NoSuchProcess:
                continue

    def stop(self) -> float:
        self._over.set()
        self._thread.join()
        return self._peak / 1e6


def agree(args: argparse.Namespace) -> bool:
    """Is it the same work? Row by row to float32's precision, in the first and last row group."""
    folder = Path(args.folder)
    ours = pq.ParquetFile(folder / "efface.parquet")
    hand = [pq.ParquetFile(folder / f"hand-{share}.parquet") for share in range(WORKERS)]
    ok = ours.metadata.num_rows == args.rows == sum(f.metadata.num_rows for f in hand)
    first, theirs = (f.read_row_group(0).slice(0, 1000) for f in (ours, hand[0]))
    ok = ok and first.column(0).equals(theirs.column(0))
    a, b = (np.array(t.column(1).combine_chunks().flatten()) for t in (first, theirs))
    return bool(ok and np.abs(a - b).max() < 1e-5)


def report(hand: Sequence[Run], ours: Sequence[Run], same: bool, args: argparse.Namespace) -> int:
    print(f"{describe()}\n")
    print(f"{args.rows:,} x {args.dim} float32, rank {args.rank}, {args.codec}, two processes\n")
    print(
        "| Parquet to Parquet | s | rows/s | CPU s | peak MB of the tree |\n|---|---|---|---|---|"
    )
    for name, runs in ((HAND, hand), (OURS, ours)):
        run, peak = min(runs, key=lambda r: r.seconds), max(r.peak for r in runs)
        rate = args.rows / run.seconds
        print(f"| {name} | {run.seconds:.1f} | {rate:,.0f} | {run.busy:.1f} | {peak:,.0f} |")
    ratio = min(r.seconds for r in hand) / min(r.seconds for r in ours)
    peak = max(r.peak for r in ours)
    print(f"| share of the speed by hand (at least {LIMIT_RATIO}) | | {ratio:.2f} | | |")
    print(f"| memory of efface (under {LIMIT_MB:,.0f} MB) | | | | {peak:,.0f} |")
    if not same:
        print("\nThe two do not agree: the comparison is void.")
    return 0 if same and peak < LIMIT_MB and ratio >= LIMIT_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
