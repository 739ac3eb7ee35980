"""One job on every runner: Dask with two local workers must cost at most 1.6 times local processes.

Three jobs: gather what an eraser is fitted from out of a Parquet file, erase that file into a new
one, and score all pairs of a mapped file. Beside the runners stands what one would write by hand:
a multiprocessing pool with one BLAS thread each that runs the same tasks and nothing else. All
workers are started and warm before the clock runs; the runners take turns.

    python bench/bench_runner.py [--rows 400000] [--pair-rows 40000] [--dim 512] [--repeats 3]
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from efface.errors import EffaceWarning
from efface.protect.linear.isp import ISP
from efface.scale.dask import DaskRunner
from efface.scale.moments import Gather, Gathered
from efface.scale.pairs import impostor_scores_on
from efface.scale.runner import Closing, Processes, Serial, map_merge
from efface.scale.sheet import Sheet
from efface.stores import address
from efface.stores.engine import apply_store
from efface.stores.fit import fit_file
from efface.stores.labelled import open_labelled
from machine import describe

LIMIT = 1.6
GROUP, PART = 1 << 15, 1 << 15


def main() -> int:
    args = arguments()
    warnings.simplefilter("ignore", EffaceWarning)  # the made-up people are few
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        dataset, sheet = write(Path(folder), args)
        runners = start(stack)
        jobs = {
            f"gather {args.rows:,} x {args.dim} from Parquet": gather_job(dataset),
            f"erase {args.rows:,} x {args.dim}, Parquet to Parquet": erase_job(dataset),
            f"all pairs of {args.pair_rows:,} x {args.dim}": pairs_job(sheet),
        }
        print(describe())
        good = [compare(name, job, runners, args.repeats) for name, job in jobs.items()]
    return 0 if all(good) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--pair-rows", type=int, default=40_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


# --- who runs -------------------------------------------------------------------------------


class ByHand(Closing):
    """A pool that knows its task from a global and survives nothing."""

    workers = 2
    starting = 0.0
    """Seconds that starting pools has taken so far."""

    def imap(self, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        begun = time.perf_counter()
        spawn = multiprocessing.get_context("spawn")
        with spawn.Pool(self.workers, initializer=hold, initargs=(task,)) as pool:
            pool.map(warm, range(2 * self.workers), chunksize=1)
            self.starting += time.perf_counter() - begun
            yield from pool.imap_unordered(run, list(enumerate(items)))


_held: list[Callable[[Any], Any]] = []


def hold(task: Callable[[Any], Any]) -> None:
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")
    _held.append(task)


def warm(index: int) -> None:
    time.sleep(0.2)  # so that every process of the pool takes one


def run(job: tuple[int, Any]) -> tuple[int, Any]:
    index, item = job
    return index, _held[0](item)


def start(stack: ExitStack) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    cluster = stack.enter_context(
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
    )  # fmt: skip
    client = stack.enter_context(Client(cluster, set_as_default=False))
    return {
        "this process": Serial(),
        "pool by hand, 2": ByHand(),
        "Processes(2)": stack.enter_context(Processes(2)),
        "Dask, 2 local workers": DaskRunner(client),
    }


# --- what is run ----------------------------------------------------------------------------


def write(folder: Path, args: argparse.Namespace) -> tuple[Path, Sheet]:
    """The same kind of vectors as Parquet, with people, and as a mapped file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    dataset = folder / "vectors.parquet"
    kind = pa.list_(pa.float32(), args.dim)
    schema = pa.schema([("person", pa.int64()), ("embedding", kind)])
    with pq.ParquetWriter(dataset, schema, compression="none", use_dictionary=["person"]) as out:
        for first in range(0, args.rows, GROUP):
            x = unit_rows(rng, min(GROUP, args.rows - first), args.dim)
            person = pa.array(np.arange(first, first + len(x)) // 20)
            column = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), type=kind)
            out.write_table(pa.table([person, column], schema=schema), row_group_size=GROUP)
    np.save(folder / "sheet.npy", unit_rows(rng, args.pair_rows, args.dim))
    return dataset, Sheet(str(folder / "sheet.npy"), np.arange(args.pair_rows) // 10)


def unit_rows(rng: np.random.Generator, rows: int, dim: int) -> np.ndarray:
    x = rng.standard_normal((rows, dim), dtype=np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


Job = Callable[[Any], str]
"""Runs on a runner; says what came out, so that all can be compared."""


def gather_job(dataset: Path) -> Job:
    """Without the solving at the end, which no runner shares out."""
    source = open_labelled(dataset, identity="person")

    def job(runner: Any) -> str:
        task = Gather(source, source.dim)
        found = Gathered(task.nothing())
        map_merge(runner, task, source.parts(PART), lambda a, shard: a.add(shard), found)
        return found.digest()

    return job


def erase_job(dataset: Path) -> Job:
    eraser = fit_file(dataset, ISP(rank=64), Serial(), identity="person", rows=PART).eraser_

    def job(runner: Any) -> str:
        with tempfile.TemporaryDirectory(dir=dataset.parent) as folder:
            source = address.open_source(address.parse(str(dataset)))
            sink = address.open_sink(address.parse(f"{folder}/clean.parquet"), source)
            receipt = apply_store(
                eraser, source, sink, runner=runner, part_rows=PART, verify="none"
            )
            return str(receipt.rows)

    return job


def pairs_job(sheet: Sheet) -> Job:
    def job(runner: Any) -> str:
        found = impostor_scores_on(runner, sheet, keep=1000)
        return f"{found.total} {found.tail and found.tail.result()[0].sum()}"

    return job


# --- who was faster -------------------------------------------------------------------------


def compare(name: str, job: Job, runners: dict[str, Any], repeats: int) -> bool:
    results = {job(runner) for runner in runners.values() if not isinstance(runner, ByHand)}
    best: dict[str, float] = {}
    for _ in range(repeats):
        for who, runner in runners.items():
            seconds, result = timed(job, runner)
            best[who] = min(seconds, best.get(who, seconds))
            results.add(result)
    local, ratio = best["Processes(2)"], best["Dask, 2 local workers"] / best["Processes(2)"]
    print(f"\n| {name} | s | times Processes(2) |\n|---|---|---|")
    for who, seconds in best.items():
        print(f"| {who} | {seconds:.2f} | {seconds / local:.2f} |")
    print(f"| Dask over processes (at most {LIMIT}) | | {ratio:.2f} |")
    if len(results) > 1:
        print(f"| results differ: {sorted(results)} | | |")
    return ratio <= LIMIT and len(results) == 1


def timed(job: Job, runner: Any) -> tuple[float, str]:
    """Seconds without the start of the pool by hand: the others have long started."""
    begun, starting = time.perf_counter(), getattr(runner, "starting", 0.0)
    result = job(runner)
    starting = getattr(runner, "starting", 0.0) - starting
    return time.perf_counter() - begun - starting, result


if __name__ == "__main__":
    sys.exit(main())
