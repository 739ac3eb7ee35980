"""ISP fit from integer identities beside the public LEACE package: time and memory above input.

Each contestant runs in a process of its own, so that its peak memory is its own. Both get the
same float32 vectors; the peer also needs its one-hot labels, which are not counted as memory.

    python bench/bench_isp_fit.py [--rows 100000] [--dim 512] [--people 1000] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

LIMIT_RATIO, LIMIT_MB = 0.5, 300.0


def main() -> int:
    args = _arguments()
    if args.run:
        print(json.dumps(measure(args.run, args)))
        return 0
    ours, peer = (in_child(name, args) for name in ("efface", "concept-erasure"))
    return report(ours, peer, args)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--run", choices=sorted(CONTESTANTS), help=argparse.SUPPRESS)
    return parser.parse_args()


def world(rows: int, dim: int, people: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, dim), dtype=np.float32)
    identity = rng.integers(0, people, rows)
    centres = rng.standard_normal((people, dim // 4), dtype=np.float32)
    for start in range(0, rows, 4096):
        block = slice(start, start + 4096)
        x[block, : dim // 4] += centres[identity[block]]
        x[block] /= np.linalg.norm(x[block], axis=1, keepdims=True)
    return x, identity


def efface_fit(x: np.ndarray, identity: np.ndarray) -> Callable[[], object]:
    from scipy.sparse import csc_array  # noqa: F401  imported once per process, not per fit

    from efface.protect.linear.isp import ISP

    return lambda: ISP(rank=128).fit(x, identity)


def peer_fit(x: np.ndarray, identity: np.ndarray) -> Callable[[], object]:
    import torch
    from concept_erasure import LeaceFitter

    vectors = torch.from_numpy(x)
    one_hot = torch.zeros(len(x), int(identity.max()) + 1)
    one_hot[torch.arange(len(x)), torch.from_numpy(identity)] = 1.0
    return lambda: LeaceFitter.fit(vectors, one_hot).eraser


CONTESTANTS = {"efface": efface_fit, "concept-erasure": peer_fit}


def measure(name: str, args: argparse.Namespace) -> dict[str, float]:
    fit = CONTESTANTS[name](*world(args.rows, args.dim, args.people))
    before = peak_mb()
    seconds = []
    for _ in range(args.repeats):
        start = time.perf_counter()
        fit()
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "median": float(np.median(seconds)), "mb": peak_mb() - before}


def peak_mb() -> float:
    """Peak resident memory of this process so far; kilobytes on Linux, bytes on macOS."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def in_child(name: str, args: argparse.Namespace) -> dict[str, float]:
    sizes = [f"--{k}={getattr(args, k)}" for k in ("rows", "dim", "people", "repeats")]
    command = [sys.executable, str(Path(__file__).resolve()), "--run", name, *sizes]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def report(ours: dict[str, float], peer: dict[str, float], args: argparse.Namespace) -> int:
    ratio = ours["seconds"] / peer["seconds"]
    data = f"{args.rows:,} x {args.dim} float32, {args.people:,} identities"
    print(f"| {data} | best s | median s | MB |")
    print("|---|---|---|---|")
    for name, run in (("efface ISP", ours), ("concept-erasure LEACE", peer)):
        print(f"| {name} | {run['seconds']:.2f} | {run['median']:.2f} | {run['mb']:.0f} |")
    print(f"| ratio (at most {LIMIT_RATIO}) | {ratio:.2f} | | at most {LIMIT_MB:.0f} |")
    return 0 if ratio <= LIMIT_RATIO and ours["mb"] <= LIMIT_MB else 1


if __name__ == "__main__":
    sys.exit(main())
