"""Do the 95 % intervals cover the truth? Many small audits of a world whose TAR is known.

In the Gaussian world a vector is strength x person + noise, brought to unit length. Vectors of
two people are independent and point anywhere, so the threshold of every FAR is known in closed
form. Three intervals stand side by side: ours (threshold and people resampled), the same with the
threshold held fixed, and a Wilson interval that takes every pair for an independent trial.

    python bench/bench_coverage.py [--replicates 1000] [--bootstrap 1000] [--only NUMBER]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from threadpoolctl import threadpool_limits

from efface.judge.verification import Trials, Verification
from efface.measure import intervals
from efface.types import Claim
from machine import describe

LOW, HIGH = 0.93, 0.97
DIM = 32
TRUTH_PAIRS = 4_000_000
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Setting:
    people: int
    images: tuple[int, int]
    """Fewest and most images of a person."""
    far: float
    strength: float

    def __str__(self) -> str:
        few, many = self.images
        images = f"{few}" if few == many else f"{few}-{many}"
        return f"{self.people} people x {images}, FAR {self.far:g}"


SETTINGS = (
    Setting(70, (5, 5), 1e-2, 0.61),
    Setting(70, (5, 5), 1e-2, 1.00),
    Setting(70, (5, 5), 1e-3, 0.80),
    Setting(100, (5, 5), 1e-2, 0.35),
    Setting(100, (5, 5), 1e-3, 0.95),
    Setting(100, (2, 10), 1e-2, 0.70),
    Setting(150, (8, 8), 1e-3, 1.20),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--bootstrap", type=int, default=1000)
    parser.add_argument("--only", type=int, help="one setting, by its number from 0")
    args = parser.parse_args()
    chosen = SETTINGS if args.only is None else SETTINGS[args.only : args.only + 1]
    print(f"{describe()}\n\n{args.replicates:,} audits per setting; coverage % / mean width\n")
    print("| setting | true TAR | ours | threshold fixed | Wilson per pair | seconds |")
    print("|---|---|---|---|---|---|", flush=True)
    # The matrices are small: one BLAS thread is the quickest.
    with threadpool_limits(1, user_api="blas"):
        covered = [row(s, args.replicates, args.bootstrap) for s in chosen]
    return 0 if all(LOW <= c <= HIGH for c in covered) else 1


def row(setting: Setting, replicates: int, bootstrap: int) -> float:
    """Print one line of the table; the coverage of ours."""
    start = time.perf_counter()
    truth = true_tar(setting)
    found = np.array(list(audits(setting, replicates, bootstrap)))
    inside = ((found[:, :, 0] <= truth) & (truth <= found[:, :, 1])).mean(axis=0)
    width = (found[:, :, 1] - found[:, :, 0]).mean(axis=0)
    cells = [f"{100 * c:.1f} / {w:.3f}" for c, w in zip(inside, width, strict=True)]
    seconds = time.perf_counter() - start
    print(f"| {setting} | {truth:.3f} | {' | '.join(cells)} | {seconds:.0f} |", flush=True)
    return float(inside[0])


def audits(setting: Setting, replicates: int, bootstrap: int) -> Iterator[tuple[Bounds, ...]]:
    """The three intervals of every replicate: fresh calibration and test people each time."""
    for seed in range(replicates):
        rng = np.random.default_rng([seed, setting.people])
        yield audit(setting, Verification(setting.far, bootstrap, seed=seed), rng)


def audit(setting: Setting, judge: Verification, rng: np.random.Generator) -> tuple[Bounds, ...]:
    known, test = world(setting, rng), world(setting, rng)
    calibration = judge.calibrate(known)
    evidence = judge.examine(test, calibration)
    ours = judge.tar(calibration, evidence)
    mated, accepted = int(evidence.mated.sum()), int(evidence.accepted.sum())
    weights = intervals.draw(len(evidence.mated), judge.bootstrap, rng)
    draws = intervals.rate_draws(evidence.accepted, evidence.mated, weights)
    fixed = intervals.interval(
        accepted / mated, draws, reach=intervals.reach(evidence.accepted, evidence.mated), n=mated,
        clusters=len(evidence.mated), method="threshold fixed",
    )  # fmt: skip
    naive = stats.binomtest(accepted, mated).proportion_ci(0.95, method="wilson")
    return (
        (float(ours.low or 0), float(ours.high or 0)),
        (float(fixed.low or 0), float(fixed.high or 0)),
        (float(naive.low), float(naive.high)),
    )


def world(setting: Setting, rng: np.random.Generator) -> Trials:
    few, many = setting.images
    who = np.repeat(np.arange(setting.people), rng.integers(few, many + 1, setting.people))
    people = rng.standard_normal((setting.people, DIM))
    vectors = setting.strength * people[who] + rng.standard_normal((len(who), DIM))
    return Trials(Claim(_unit(vectors).astype(np.float32)), who)


def true_tar(setting: Setting) -> float:
    """TAR at the population's threshold, by simulating mated pairs of the average person.

    The cosine t of two independent directions has (t + 1) / 2 ~ Beta((d - 1) / 2, (d - 1) / 2).
    A person with n images weighs n (n - 1) / 2 pairs, but all people have one TAR on average.
    """
    half = (DIM - 1) / 2
    threshold = 2 * stats.beta.isf(setting.far, half, half) - 1
    rng = np.random.default_rng(99)
    hits, step = 0, 200_000
    for _ in range(TRUTH_PAIRS // step):
        person = setting.strength * rng.standard_normal((step, DIM))
        left, right = (_unit(person + rng.standard_normal((step, DIM))) for _ in range(2))
        hits += int(np.count_nonzero(np.einsum("ij,ij->i", left, right) > threshold))
    return hits / TRUTH_PAIRS


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


if __name__ == "__main__":
    sys.exit(main())
