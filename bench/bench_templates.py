"""Template schemes beside plain Python: verify with a cached basis, E8, Argon2id, a filled pool.

At the paper's m = 180. Babai's nearest plane in plain Python works from the same orthogonalised
basis, lists of floats and loops; where fpylll is installed its own Babai decodes the same targets.
The scalar E8 decoder is Conway and Sloane's, a block at a time. All in one process, in turn.

    python bench/bench_templates.py [--m 180] [--l 60]
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import efface
from efface.data.synthetic import embedding_world
from efface.hazmat import e8
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis, nearest_plane
from efface.protect.template import Argon2id, Blake2b, L2FEHash, Pool
from machine import describe

LIMIT_SINGLE_MS, LIMIT_BATCH, LIMIT_BLOCKS, LIMIT_E8 = 2.0, 10_000, 1_000_000, 50.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--m", type=int, default=180)
    parser.add_argument("--l", type=int, default=60)
    parser.add_argument("--probes", type=int, default=10_000)
    args = parser.parse_args()
    warnings.simplefilter("ignore", efface.errors.EffaceWarning)
    print(f"{describe()}\n\nL2FE-Hash, m = {args.m}, l = {args.l}, q = 130003, 512 elements\n")
    shape = Shape(args.m, args.l, 130003)
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(folder, shape, size=3)
        seconds = best(lambda: pool.prepare(len(pool.waiting()) + 1), 3)
        scheme, template = enrolled(pool, args)
        print(f"reducing a basis {seconds:.1f} s; enrolling from a filled pool "
              f"{enrolment(scheme):.1f} ms\n")  # fmt: skip
        missed = verifying(scheme, template, args.probes)
        basis = pool.known(Lattice(shape, template.helper["seed"].tobytes()), b"")
        decoding(basis, args.probes)
    missed += blocks()
    hashing()
    return 1 if missed else 0


def enrolled(pool: Pool, args: Any) -> tuple[L2FEHash, Any]:
    samples = embedding_world(people=100, images=4, dim=512, seed=0).samples
    scheme = L2FEHash(m=args.m, l=args.l, bases=pool).fit(samples)
    return scheme, scheme.enrol(samples.data[0], np.random.default_rng(0))


def enrolment(scheme: L2FEHash) -> float:
    """Milliseconds of one enrolment whose basis was ready."""
    vector = np.random.default_rng(2).standard_normal(512)
    start = time.perf_counter()
    scheme.enrol(vector, np.random.default_rng(2))
    return (time.perf_counter() - start) * 1e3


def verifying(scheme: L2FEHash, template: Any, count: int) -> int:
    probes = np.random.default_rng(1).standard_normal((count, 512))
    one = median(lambda i: scheme.verify(template, probes[i % count]), 300) * 1e3
    many = count / best(lambda: scheme.verify_many(template, probes), 5)
    print("| verify, basis cached | measured | limit |")
    print("|---|---|---|")
    print(f"| one probe, ms | {one:.2f} | {LIMIT_SINGLE_MS} |")
    print(f"| {count:,} probes, per second | {many:,.0f} | {LIMIT_BATCH:,} |\n")
    return int(one > LIMIT_SINGLE_MS) + int(many < LIMIT_BATCH)


def decoding(basis: Basis, count: int) -> None:
    """Babai alone, ours and others', on the same targets."""
    shape = basis.lattice.shape
    targets = np.random.default_rng(3).integers(0, shape.q, (count, shape.m))
    few = targets[: max(20, count // 500)]
    ours = best(lambda: nearest_plane(basis, targets), 5) / count
    one = median(lambda i: nearest_plane(basis, targets[i % count, None]), 200)
    rows: list[tuple[str, float]] = [("efface, in batch", ours), ("efface, one", one)]
    rows.append(("plain Python, one", best(plain_python(basis, few), 2) / len(few)))
    theirs = fpylll(basis, few)
    if theirs is not None:
        rows.append(("fpylll, one", best(theirs, 3) / len(few)))
    print("| nearest plane | microseconds | times efface in batch |")
    print("|---|---|---|")
    for name, seconds in rows:
        print(f"| {name} | {seconds * 1e6:,.1f} | {seconds / ours:,.1f} |")
    print("" if theirs is not None else "\nfpylll is not installed: not compared.\n")


def plain_python(basis: Basis, targets: np.ndarray) -> Callable[[], object]:
    mu, frame, rows = basis.mu.tolist(), basis.frame.T.tolist(), targets.tolist()

    def work() -> None:
        for target in rows:
            place = [sum(t * f for t, f in zip(target, axis, strict=True)) for axis in frame]
            for i in range(len(mu) - 1, -1, -1):
                step, shares = round(place[i]), mu[i]
                for j in range(i):
                    place[j] -= step * shares[j]

    return work


def fpylll(basis: Basis, targets: np.ndarray) -> Callable[[], object] | None:
    try:
        library: Any = importlib.import_module("fpylll")
    except ImportError:
        return None
    matrix = library.GSO.Mat(library.IntegerMatrix.from_matrix(basis.rows.tolist()))
    matrix.update_gso()
    rows = targets.tolist()
    return lambda: [matrix.babai(row) for row in rows]


def blocks() -> int:
    x = np.random.default_rng(4).standard_normal((1_000_000, 8)) * 2
    ours = len(x) / best(lambda: e8.decode(x), 5)
    few = x[:20_000].tolist()
    slow = len(few) / best(lambda: [scalar_e8(row) for row in few], 3)
    print("\n| E8 | blocks per second | limit |")
    print("|---|---|---|")
    print(f"| efface | {ours:,.0f} | {LIMIT_BLOCKS:,} |")
    print(f"| scalar reference | {slow:,.0f} | |")
    print(f"| ratio | {ours / slow:.0f} | {LIMIT_E8:.0f} |\n")
    return int(ours < LIMIT_BLOCKS) + int(ours / slow < LIMIT_E8)


def scalar_e8(x: list[float]) -> list[float]:
    whole = scalar_d8(x)
    half = [v + 0.5 for v in scalar_d8([v - 0.5 for v in x])]
    off = [sum((a - b) ** 2 for a, b in zip(x, p, strict=True)) for p in (whole, half)]
    return whole if off[0] <= off[1] else half


def scalar_d8(x: list[float]) -> list[float]:
    point: list[float] = [round(v) for v in x]
    if sum(point) % 2:
        worst = max(range(8), key=lambda i: abs(x[i] - point[i]))
        point[worst] += 1 if x[worst] >= point[worst] else -1
    return point


def hashing() -> None:
    """What a guess costs who has to hash it; the thief of a sketch in the clear has not."""
    key, message = bytes(32), bytes(240)
    print("| key derivation | milliseconds | memory |")
    print("|---|---|---|")
    quick = median(lambda i: Blake2b().derive(key, message), 1000) * 1e3
    print(f"| BLAKE2b, keyed | {quick:.4f} | |")
    for kdf in (Argon2id(), Argon2id(passes=1, memory_kib=262144)):
        slow = median(lambda i, kdf=kdf: kdf.derive(key, message), 7) * 1e3
        how = f"passes {kdf.passes}, lanes {kdf.lanes}"
        print(f"| Argon2id, {how} | {slow:.0f} | {kdf.memory_kib // 1024} MiB |")


def best(work: Callable[[], object], repeats: int) -> float:
    found = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - start)
    return found


def median(work: Callable[[int], object], repeats: int) -> float:
    seconds = []
    for i in range(repeats):
        start = time.perf_counter()
        work(i)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


if __name__ == "__main__":
    sys.exit(main())
