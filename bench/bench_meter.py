"""The meter on 5,000 users with three attacks: it has to end within three minutes.

python bench/bench_meter.py [--people 5000] [--scheme l2fe-hash]

Made-up embeddings of 512 elements; what is measured is time. L2FE-Hash at m = 180 is the slowest
scheme: every try is a nearest-plane decoding.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from efface.auditing.meter import meter
from efface.protect.template.bases import Shared
from efface.registry import make
from efface.types import Samples
from machine import describe

ATTACKS = ("pipe", "centre-query", "dictionary")
LIMIT = 180.0


def crowd(people: int, each: int, dim: int, seed: int) -> Samples:
    """Pictures of a person lie at about 0.85 from each other, people at 1.4."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), each)
    x = rng.standard_normal((people, dim))[who] * 1.3 + rng.standard_normal((len(who), dim))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    names = np.array([f"{seed} {i}" for i in range(people)])
    return Samples(x.astype(np.float32), who, names)


def main() -> None:
    typed = argparse.ArgumentParser(description=__doc__)
    typed.add_argument("--people", type=int, default=5000)
    typed.add_argument("--scheme", default="l2fe-hash")
    typed.add_argument("--guesses", type=int, default=50)
    given = typed.parse_args()
    users, others = crowd(given.people, 3, 512, 1), crowd(2000, 2, 512, 2)
    params: dict[str, Any] = {"bases": Shared(1)} if given.scheme == "l2fe-hash" else {}
    start, work = time.perf_counter(), time.process_time()
    reading = meter(
        users, make("scheme", given.scheme, **params), population=others, attacks=ATTACKS,
        leakage=("full",), guesses=given.guesses,
    )  # fmt: skip
    took, cpu = time.perf_counter() - start, time.process_time() - work
    print(
        f"{given.people} users x {len(ATTACKS)} attacks on {given.scheme}, {given.guesses} guesses"
    )
    print(f"{took:.1f} s elapsed, {cpu:.1f} s of CPU, limit {LIMIT:.0f} s")
    print(f"{reading.verdict.headline} {describe()}")


if __name__ == "__main__":
    main()
