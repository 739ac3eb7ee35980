"""All pairs of 60,000 x 512 against the bare blocked matrix product that makes the scores.

The engine keeps the histogram of all scores and the exact tail for FAR 1e-6 with its people. Both
run in one process, product and engine in turn; the peak is that of the whole process.

    python bench/bench_pairs.py [--rows 60000] [--dim 512] [--images 10] [--repeats 3]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from efface.measure.pairs import impostor_scores
from efface.measure.tails import allowed
from machine import describe

BLOCK, FAR = 2048, 1e-6
LIMIT_RATIO, LIMIT_MB = 0.6, 1500.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--images", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    vectors = unit_rows(args.rows, args.dim)
    person = np.arange(args.rows) // args.images
    pairs = args.rows * (args.rows - args.images) // 2
    keep = allowed(FAR, pairs) + 1
    product, engine = [], []
    for _ in range(args.repeats):
        product.append(timed(lambda: bare_product(vectors)))
        engine.append(timed(lambda: impostor_scores(vectors, person, keep=keep)))
    return report(min(product), min(engine), pairs, f"{args.rows:,} x {args.dim} float32")


def unit_rows(rows: int, dim: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = np.empty((rows, dim), np.float32)
    for start in range(0, rows, 4096):
        block = rng.standard_normal(x[start : start + 4096].shape, dtype=np.float32)
        x[start : start + 4096] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return x


def bare_product(x: np.ndarray) -> None:
    """Every block of the upper triangle, made and forgotten."""
    buffer = np.empty(BLOCK * BLOCK, np.float32)
    for i in range(0, len(x), BLOCK):
        for j in range(i, len(x), BLOCK):
            a, b = x[i : i + BLOCK], x[j : j + BLOCK]
            np.matmul(a, b.T, out=buffer[: len(a) * len(b)].reshape(len(a), len(b)))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(product: float, engine: float, pairs: int, data: str) -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mb = peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    ratio = product / engine
    print(f"{describe()}\n\n| all pairs of {data} | s | million pairs/s |\n|---|---|---|")
    for name, seconds in (("bare blocked product", product), ("efface", engine)):
        print(f"| {name} | {seconds:.1f} | {pairs / seconds / 1e6:.0f} |")
    print(f"| share of the product's speed (at least {LIMIT_RATIO}) | {ratio:.2f} | |")
    print(f"| peak MB of the process (under {LIMIT_MB:.0f}) | {mb:.0f} | |")
    return 0 if ratio >= LIMIT_RATIO and mb < LIMIT_MB else 1


if __name__ == "__main__":
    sys.exit(main())
