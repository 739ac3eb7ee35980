"""How far a stronger basis reaches on real faces, for docs/templates-measured.md.

    python bench/measure_bkz.py faces.npz population.npz [--lattices 2] [--block 10 --block 20]

L2FE-Hash at m = 180, l = 60, q = 130003. For each basis: core seconds of its reduction, how far it
corrects noise of one length in every direction, and the share of people whom the mean of the
population opens where the service decodes by LLL. Then the same at the radius of each service's
basis that accepts 90 % of genuine tries. Needs the extra audit-gpl (fpylll, GPL).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.lattice_reduction import bkz
from efface.auditing.curve_borders import Crowd, direction
from efface.auditing.curve_rules import Way
from efface.auditing.meter_scene import apart
from efface.data.readers import load
from efface.errors import EffaceWarning
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis, reduced
from efface.judge.template import share
from efface.protect.template import L2FEHash
from efface.protect.template.projection import shortened
from efface.report.words import interval
from machine import describe

SHAPE = Shape(180, 60, 130003)
RADII = (0.99, 0.5, 0.1)
Matrix = NDArray[np.float64]


def main() -> int:
    typed = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    typed.add_argument("faces", type=Path)
    typed.add_argument("population", type=Path)
    typed.add_argument("--lattices", type=int, default=2)
    typed.add_argument("--block", type=int, action="append")
    typed.add_argument("--images", type=int, default=1)
    given = typed.parse_args()
    warnings.simplefilter("ignore", EffaceWarning)
    users, others, _ = apart(load(given.faces), load(given.population), 0)
    scheme = L2FEHash(m=SHAPE.m, l=SHAPE.l, q=SHAPE.q).fit(others)
    crowd = Crowd.of(users, given.images, None, 0)
    scales = chosen(scheme, others)
    print(
        f"{describe()}\n\n{len(crowd)} people, {given.lattices} lattices, {given.images} enrolled\n"
    )
    print("| basis | core s | corrects 99 / 50 / 10 % | " + " | ".join(
        f"mean opens at {s:.4f}" for s in scales) + " |")  # fmt: skip
    print("|---|---|---|" + "---|" * len(scales))
    every: dict[int, list[Basis]] = {}
    for block in [0, *(given.block or (10, 20))]:
        every[block], spent = reductions(block, given.lattices)
        far = apart_from_mean(scheme, crowd, others, given.images)
        print(row(block, every[block], spent, far, scales), flush=True)
    print_sides(scheme, crowd, others, every, given.images)
    return 0


def print_sides(
    scheme: Any, crowd: Crowd, others: Any, every: dict[int, list[Basis]], images: int
) -> None:
    """What the mean opens by each thief's basis, where each service's accepts 90 %."""
    print(f"\n| service | radius at TPR 90 % | {' | '.join(map(named, every))} |")
    print("|---|---|" + "---|" * len(every))
    tries, far = genuine(scheme, crowd, images), apart_from_mean(scheme, crowd, others, images)
    for service, bases in every.items():
        own = [bases[i % len(bases)].reach(rows) for i, rows in enumerate(tries)]
        radius = float(np.quantile(np.concatenate(own), 0.1))
        cells = [opened(thief, far, radius) for thief in every.values()]
        print(f"| {named(service)} | {radius:.4f} | {' | '.join(cells)} |")


def genuine(scheme: Any, crowd: Crowd, images: int) -> list[Matrix]:
    """How far the tries of each person are from what is enrolled, at scale 1."""
    way, found = Way(images, images), []
    for i, x in enumerate(crowd.enrolled(way)):
        tries = [direction(crowd.data[rows]) - x for rows in crowd.genuine(i, way)]
        found.append(at_one(scheme, np.stack(tries)))
    return found


def apart_from_mean(scheme: Any, crowd: Crowd, others: Any, images: int) -> Matrix:
    return at_one(scheme, crowd_mean(others) - crowd.enrolled(Way(images, images)))


def at_one(scheme: Any, differences: Matrix) -> Matrix:
    return shortened(differences, SHAPE.m) * (SHAPE.q / scheme.quantiser_.width)


def opened(bases: list[Basis], far: Matrix, radius: float) -> str:
    hits = [bases[i % len(bases)].reach(d[None])[0] > radius for i, d in enumerate(far)]
    rng = np.random.default_rng(0)
    return interval(share(np.array(hits), np.ones(len(far)), rng), "percent")


def named(block: int) -> str:
    return f"BKZ-{block}" if block else "LLL"


def chosen(scheme: Any, others: Any) -> list[float]:
    """The published scale, and those for 1 % and 0.1 % of strangers."""
    known = others.take(np.flatnonzero(np.isin(others.identity, others.people[:700])))
    return [0.0014, *(scheme.calibrate(known, fmr).radius_ for fmr in (0.01, 0.001))]


def reductions(block: int, lattices: int) -> tuple[list[Basis], float]:
    made, begun = [], time.process_time()
    for seed in range(lattices):
        basis = reduced(Lattice(SHAPE, seed.to_bytes(32, "little")))
        made.append(bkz(basis, block) if block else basis)
    return made, (time.process_time() - begun) / lattices


def row(block: int, bases: list[Basis], spent: float, far: Matrix, scales: list[float]) -> str:
    cells = [opened(bases, far, scale) for scale in scales]
    reach = " / ".join(f"{r:.0f}" for r in corrected(bases))
    return f"| {named(block)} | {spent:.1f} | {reach} | {' | '.join(cells)} |"


def crowd_mean(others: Any) -> Matrix:
    x = others.data.astype(np.float64)
    return np.asarray((x / np.linalg.norm(x, axis=1, keepdims=True)).mean(axis=0))


def corrected(bases: list[Basis]) -> list[float]:
    """Lengths of noise, in levels, that decode to zero for these shares of random directions."""
    rng = np.random.default_rng(0)
    found = []
    for basis in bases:
        noise = rng.standard_normal((4000, SHAPE.m))
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        found.append(basis.reach(noise))
    return [float(np.quantile(np.concatenate(found), 1 - share)) for share in RADII]


if __name__ == "__main__":
    sys.exit(main())
