"""How far a stronger basis reaches on real faces, for docs/templates-measured.md.

    python bench/measure_bkz.py faces.npz population.npz [--lattices 2] [--block 10 --block 20]

L2FE-Hash at m = 180, l = 60, q = 130003. For each basis: core seconds of its reduction, how far it
corrects noise of one length in every direction, and the share of people whom the mean of the
population opens where the service decodes by LLL. Needs the extra audit-gpl (fpylll, GPL).
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
from efface.auditing.curve_borders import Crowd
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
    for block in [0, *(given.block or (10, 20))]:
        bases, spent = reductions(block, given.lattices)
        print(row(block, bases, spent, scheme, crowd, others, scales, given.images), flush=True)
    return 0


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


def row(
    block: int, bases: list[Basis], spent: float, scheme: Any, crowd: Crowd, others: Any,
    scales: list[float], images: int,
) -> str:  # fmt: skip
    mean = crowd_mean(others)
    apart_by = shortened(mean - crowd.enrolled(Way(images, images)), SHAPE.m)
    borders = np.array(
        [
            bases[i % len(bases)].reach(d[None] * (SHAPE.q / scheme.quantiser_.width))[0]
            for i, d in enumerate(apart_by)
        ]
    )
    one, rng = np.ones(len(borders)), np.random.default_rng(0)
    cells = [interval(share(borders > s, one, rng), "percent") for s in scales]
    reach = " / ".join(f"{r:.0f}" for r in corrected(bases))
    name = f"BKZ-{block}" if block else "LLL"
    return f"| {name} | {spent:.1f} | {reach} | {' | '.join(cells)} |"


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
