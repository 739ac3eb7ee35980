"""A paper-mode audit of 9,600 x 512 embeddings: 4 attackers, 3 shots, 5 draws, raw and ISP.

python bench/bench_paper_mode.py [--people 480] [--images 20] [--dim 512]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import efface
from efface.data import synthetic
from machine import describe

LIMIT_SECONDS = 180.0
SHOTS, DRAWS = (1, 4, 16), 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--people", type=int, default=480)
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--dim", type=int, default=512)
    args = parser.parse_args()
    world = synthetic.embedding_world(
        people=args.people, images=args.images, dim=args.dim, rank=64, seed=0
    )
    split = efface.split(world.samples, fit=2 / 3, calibration=1 / 6, test=1 / 6, seed=0)
    start = time.perf_counter()
    report = efface.audit(
        world.samples, split=split, protections=[efface.ISP(rank=192)], far=1e-3, mode="paper",
        shots=SHOTS, resamples=DRAWS, sweep=(), seed=0,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    return tell(report, seconds, f"{len(world.samples):,} x {args.dim}")


def tell(report: efface.results.Report, seconds: float, data: str) -> int:
    played = [m for m in report.measurements if m.status == "measured"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mb = peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    print(f"{describe()}\n\n| paper-mode audit of {data} | |\n|---|---|")
    print(
        f"| cases measured, each over {DRAWS} draws | {len(played)} of {len(report.measurements)} |"
    )
    print(f"| raw, worst case | {report.worst('raw').tar} by {report.worst('raw').attacker} |")
    print(f"| erased, worst case | {report.worst().tar} by {report.worst().attacker} |")
    print(f"| seconds (at most {LIMIT_SECONDS:.0f}) | {seconds:.0f} |")
    print(f"| peak MB | {mb:.0f} |")
    return 0 if seconds <= LIMIT_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
