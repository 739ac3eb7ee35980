"""What a billion vectors cost: bytes, core-hours and wall time from rates measured on one core.

Rates come from the other benchmarks: rows per second and core for erasing and for gathering
(bench_apply.py, bench_runner.py), million pairs per second and core (bench_pairs.py on one BLAS
thread). Or ``--measure`` takes them here, in a minute, in memory and on one thread: without
reading and writing, so the costs it gives are lower bounds. Rows in the table beyond
``--measured-rows`` are extrapolated in proportion, and marked with a star.

    python bench/cost_model.py --apply 125000 --gather 150000 --pairs 100
    python bench/cost_model.py --measure
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from machine import describe

SIZES = (1e6, 1e7, 1e8, 1e9)
SAMPLES = (1e5, 1e6, 1e7)
ITEM = {"float16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True)
class Rates:
    """Per core."""

    apply: float
    gather: float
    pairs: float
    """Pairs, not millions of them."""


@dataclass(frozen=True)
class Cluster:
    machines: int
    cores: int
    efficiency: float
    """Share of one core's rate that is left when all cores of all machines work."""
    network: float
    """Bytes per second that one machine can read from, or write to, the shared storage."""
    storage: float
    """Bytes per second that the shared storage can give or take in all."""

    def seconds(self, core_seconds: float, traffic: float = 0.0) -> float:
        """Whichever is longer: computing, or moving the bytes."""
        computing = core_seconds / (self.machines * self.cores * self.efficiency)
        return max(computing, traffic / min(self.storage, self.machines * self.network))


def main() -> int:
    args = arguments()
    rates = measured(args.dim) if args.measure else Rates(args.apply, args.gather, args.pairs * 1e6)
    clusters = [
        Cluster(n, args.cores, args.efficiency, args.network * 1e9, args.storage * 1e9)
        for n in args.machines
    ]
    print(f"{describe()}\n" if args.measure else "", end="")
    print(assumptions(rates, args))
    width = args.dim * ITEM[args.dtype]
    lines = [row_line(n, rates, width, clusters, args.measured_rows) for n in SIZES]
    print(table(["vectors", "bytes read", "gather, core-h", "erase, core-h"], clusters, lines))
    lines = [pair_line(n, rates, width, clusters, args.measured_pairs) for n in SAMPLES]
    print("\nAll pairs of a sample of so many vectors, exactly:\n")
    print(table(["vectors", "bytes", "pairs", "core-h"], clusters, lines))
    print("\n\\* extrapolated in proportion from what was measured.")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--apply", type=float, default=125_000, help="rows/s per core")
    parser.add_argument("--gather", type=float, default=150_000, help="rows/s per core")
    parser.add_argument("--pairs", type=float, default=100, help="million pairs/s per core")
    parser.add_argument("--measure", action="store_true", help="measure the three here")
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--dtype", choices=ITEM, default="float32")
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--cores", type=int, default=16, help="of each machine")
    parser.add_argument("--efficiency", type=float, default=0.6)
    parser.add_argument("--network", type=float, default=1.0, help="GB/s of each machine")
    parser.add_argument("--storage", type=float, default=20.0, help="GB/s, shared by all")
    parser.add_argument("--measured-rows", type=float, default=8e6)
    parser.add_argument("--measured-pairs", type=float, default=6e4, help="vectors whose pairs")
    return parser.parse_args()


# --- the model ------------------------------------------------------------------------------


def row_line(
    n: float, rates: Rates, width: int, clusters: Sequence[Cluster], most: float
) -> list[str]:
    """Gathering reads every byte once; erasing reads them, writes as many, and a full check reads
    those again."""
    gather, erase, size = n / rates.gather, n / rates.apply, n * width
    walls = [c.seconds(gather, size) + c.seconds(erase, 3 * size) for c in clusters]
    return [count(n, most), data(size), hours(gather), hours(erase), *map(wall, walls)]


def pair_line(
    n: float, rates: Rates, width: int, clusters: Sequence[Cluster], most: float
) -> list[str]:
    """Tiles of 7 x 7 blocks of 2,048 rows: each reads 14 blocks for 49 block products."""
    pairs, edge = n * (n - 1) / 2, 7 * 2048
    traffic = (n / edge + 1) ** 2 / 2 * 2 * edge * width
    work = pairs / rates.pairs
    walls = [wall(c.seconds(work, traffic)) for c in clusters]
    return [count(n, most), data(n * width), f"{pairs:.1e}", hours(work), *walls]


# --- measured here --------------------------------------------------------------------------


def measured(dim: int) -> Rates:
    from efface.measure.pairs import impostor_scores
    from efface.protect.linear.isp import ISP
    from efface.protect.linear.moments import Moments

    rng = np.random.default_rng(0)
    x = rng.standard_normal((40_960, dim), dtype=np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    person = np.arange(len(x)) // 20
    with threadpool_limits(1, user_api="blas"):
        eraser = ISP(rank=min(64, dim // 4)).fit(x, person).eraser_
        seconds = [
            best(lambda: eraser.transform(x)),
            best(lambda: Moments(dim).update(x, person)),
            best(lambda: impostor_scores(x[:16_384], person[:16_384], keep=1000)),
        ]
    pairs = 16_384 * (16_384 - 20) / 2
    return Rates(len(x) / seconds[0], len(x) / seconds[1], pairs / seconds[2])


def best(work: Callable[[], object], repeats: int = 3) -> float:
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


# --- words ----------------------------------------------------------------------------------


def assumptions(rates: Rates, args: argparse.Namespace) -> str:
    return (
        f"Vectors of {args.dim} {args.dtype}. Per core: erase {rates.apply:,.0f} rows/s, gather "
        f"{rates.gather:,.0f} rows/s, {rates.pairs / 1e6:,.0f} million pairs/s. Machines of "
        f"{args.cores} cores at {args.efficiency:.0%} of that rate each, which move "
        f"{args.network:g} GB/s each and {args.storage:g} GB/s in all to and from shared storage. "
        "Wall time is gather and erase, each as slow as the slower of cores and storage.\n"
    )


def table(head: list[str], clusters: Sequence[Cluster], lines: list[list[str]]) -> str:
    names = [*head, *(f"wall, {c.machines} machine{'s'[: c.machines > 1]}" for c in clusters)]
    rows = [names, ["---"] * len(names), *lines]
    return "\n".join(f"|{'|'.join(f' {cell} ' for cell in row)}|" for row in rows).replace(
        " --- ", "---"
    )


def count(n: float, most: float) -> str:
    return f"{n:,.0f}{' *' if n > most else ''}".replace("*", "\\*")


def data(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} PB"


def hours(seconds: float) -> str:
    return f"{seconds / 3600:,.3g}" if seconds < 3.6e6 else f"{seconds / 3600:,.0f}"


def wall(seconds: float) -> str:
    for size, unit in ((86_400 * 2, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            per = 86_400 if unit == "days" else size
            return f"{seconds / per:,.3g} {unit}"
    return f"{seconds:.2g} s"


if __name__ == "__main__":
    sys.exit(main())
