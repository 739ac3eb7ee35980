"""An eraser's transform beside the bare matrix products it needs and the public LEACE package.

The products are taken in float64, in which an eraser works on purpose, with every BLAS thread, on
vectors that are float64 already: no conversion, no unit length, no check. The same in float32 is
printed for comparison. LEACE (concept-erasure) is fitted on the same vectors with 1,000 identities
and applies what it found, in float32. All take turns in one process.

    python bench/bench_transform.py [--rows 100000] [--dim 512] [--people 1000]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from efface.protect.linear.eraser import LinearEraser
from machine import describe

LIMIT_PRODUCTS, LIMIT_PEER, LIMIT_ONE = 0.8, 2.0, 100.0
_CHUNK = 2048


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--people", type=int, default=1000, help="the peer is fitted on")
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    x = np.random.default_rng(0).standard_normal((args.rows, args.dim), dtype=np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    print(f"{describe()}\n\n{args.rows:,} x {args.dim} float32\n")
    print("| rank | efface s | products float64 s | share | with a new result s | share | "
          "products float32 s | LEACE s | faster | one vector, microseconds |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    peer = leace(x, args.people)
    return max([line(x, rank, peer, args.repeats) for rank in (64, 192)])


def line(x: np.ndarray, rank: int, leace: Callable[[], object], repeats: int) -> int:
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((x.shape[1], rank)))[0]
    eraser, wide, narrow = LinearEraser(basis), x.astype(np.float64), basis.astype(np.float32)
    ours, f64, kept, f32, peer = in_turn(
        [
            lambda: eraser.transform(x),
            lambda: products(wide, basis),
            lambda: products(wide, basis, np.empty(x.shape, np.float32)),
            lambda: products(x, narrow),
            leace,
        ],
        repeats,
    )
    one = single(eraser, x)
    share, faster = f64 / ours, peer / ours
    print(f"| {rank} | {ours:.3f} | {f64:.3f} | {share:.2f} | {kept:.3f} | {kept / ours:.2f} | "
          f"{f32:.3f} | {peer:.3f} | {faster:.2f}x | {one:.0f} |")  # fmt: skip
    return 0 if share >= LIMIT_PRODUCTS and faster >= LIMIT_PEER and one <= LIMIT_ONE else 1


def in_turn(works: list[Callable[[], object]], repeats: int) -> list[float]:
    """Best time of each; they take turns, so that a busy moment meets all alike."""
    best = [float("inf")] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def products(x: np.ndarray, basis: np.ndarray, out: np.ndarray | None = None) -> None:
    """x U and (x U) U', block by block: nothing large is written unless a result is wanted, whose
    memory the system has to find and clear as it does for a transform's."""
    for start in range(0, len(x), _CHUNK):
        made = (x[start : start + _CHUNK] @ basis) @ basis.T
        if out is not None:
            out[start : start + _CHUNK] = made


def leace(x: np.ndarray, people: int) -> Callable[[], object]:
    """The peer's apply as its fit left it: it has no rank to choose and adds no unit length."""
    import torch
    from concept_erasure import LeaceFitter

    vectors = torch.from_numpy(x)
    one_hot = torch.eye(people)[torch.arange(len(x)) % people]
    eraser = LeaceFitter.fit(vectors, one_hot).eraser
    return lambda: eraser(vectors)


def single(eraser: LinearEraser, x: np.ndarray) -> float:
    """Median microseconds for one vector."""
    seconds = []
    for row in x[:2000]:
        start = time.perf_counter()
        eraser.transform(row)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)) * 1e6


if __name__ == "__main__":
    sys.exit(main())
