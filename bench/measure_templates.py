"""Template schemes on real faces: who is accepted, and what a thief has of what is stored.

Of the people 283 are the public population, on which schemes are fitted; the others are tested.
Every tested person is enrolled with one picture. Columns: genuine and other pictures accepted; the
mean of the population accepted; PIPE's surrogate within 1.1 of the person (the paper's Table 2);
and, for extractors, whether the sketch alone tells accepted probes from refused ones, so that no
guess has to be hashed.

    python bench/measure_templates.py EMBEDDINGS.npz [--m 180] [--l 60]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import efface
from efface.hazmat import e8
from efface.hazmat.lattice import Lattice
from efface.hazmat.reduction import nearest_point
from efface.protect.template import MRP, BioHash, FacialFE, L2FEHash, Shared
from efface.protect.template.biohash import orthonormal
from efface.protect.template.mrp import directions
from machine import describe

NEAR = 1.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("embeddings", type=Path)
    parser.add_argument("--m", type=int, default=180)
    parser.add_argument("--l", type=int, default=60)
    args = parser.parse_args()
    warnings.simplefilter("ignore", efface.errors.EffaceWarning)
    with np.load(args.embeddings, allow_pickle=False) as z:
        samples = efface.samples(z["embedding"], z["identity"], dataset=args.embeddings.stem)
    people = np.random.default_rng(0).permutation(samples.people)
    population = take(samples, people[:283])
    tested = take(samples, people[283:])
    print(f"{describe()}\n\n{samples.dataset}: {len(tested.people)} people tested\n")
    print("| scheme | genuine | others | mean of the population | surrogate near | told apart |")
    print("|---|---|---|---|---|---|")
    for name, scheme in subjects(args, population):
        row = measured(scheme, population, tested)
        print("| " + name + " | " + " | ".join("" if v is None else f"{v:.3f}" for v in row) + " |")
    return 0


def subjects(args: Any, population: Any) -> list[tuple[str, Any]]:
    bases = Shared(2)
    lattice = {"m": args.m, "l": args.l, "bases": bases}
    found: list[tuple[str, Any]] = [
        ("MRP", MRP().fit(population)),
        ("BioHash", BioHash().fit(population)),
        ("Facial-FE, FNR 0.7", FacialFE().fit(population)),
        ("Facial-FE, FNR 0.1", FacialFE(fnr=0.1).fit(population)),
    ]
    for scale in (0.0014, 0.0017):
        made = L2FEHash(scale=scale, **lattice).fit(population)
        found.append((f"L2FE-Hash, scale {scale}", made))
    for fmr in (0.1, 0.01, 0.001):
        made = L2FEHash(**lattice).fit(population).calibrate(population, fmr, bases=2)
        found.append((f"L2FE-Hash, FMR {fmr}, scale {made.scale:.4f}", made))
    return found


def measured(scheme: Any, population: Any, tested: Any) -> list[float | None]:
    rng = np.random.default_rng(1)
    mean = population.data.mean(axis=0, dtype=np.float64)[None]
    rows, apart = [], []
    for person in tested.people:
        own = np.flatnonzero(tested.identity == person)
        others = rng.choice(np.flatnonzero(tested.identity != person), 40, replace=False)
        template = scheme.enrol(tested.data[own[0]], rng)
        answers = [scheme.verify_many(template, tested.data[r]) for r in (own[1:], others)]
        guess = surrogate(scheme, template)
        near = None if guess is None else np.linalg.norm(guess - tested.data[own[0]]) < NEAR
        rows.append([*(a.mean() for a in answers), scheme.guess(template, mean)[0], near])
        left = leftover(scheme, template, tested.data[np.concatenate([own[1:], others])])
        accepted = np.concatenate(answers)
        if left is not None and accepted.any() and not accepted.all():
            apart.append(left[accepted].max() < left[~accepted].min())
    columns = list(zip(*rows, strict=True))
    shares = [None if None in c else float(np.mean(c)) for c in columns]
    return [*shares, float(np.mean(apart)) if apart else None]


def surrogate(scheme: Any, template: Any) -> Any:
    """PIPE, step 1 (paper, section 5.2.1); against L2FE-Hash it has none."""
    if isinstance(scheme, L2FEHash):
        return None
    if isinstance(scheme, FacialFE):
        found = -template.helper["sketch"].astype(float)
    elif isinstance(scheme, MRP):
        rows = directions(template.helper["seed"].tobytes(), scheme.n, scheme.dim_)
        found = rows.T @ np.linalg.solve(rows @ rows.T, template.record["projection"])
    else:
        rows = orthonormal(template.helper["seed"].tobytes(), scheme.n, scheme.dim_)
        found = (2.0 * np.unpackbits(template.record["bits"]) - 1) @ rows
    return found / np.linalg.norm(found)


def leftover(scheme: Any, template: Any, x: Any) -> Any:
    """How far each probe's target is from the lattice point it decodes to: no hash involved."""
    if isinstance(scheme, L2FEHash):
        lattice = Lattice(scheme.shape, template.helper["seed"].tobytes())
        basis = scheme.bases.known(lattice, b"")
        targets = template.helper["sketch"].astype(np.int64) - scheme.quantised(x)
        return np.linalg.norm(targets - nearest_point(basis, targets), axis=1)
    if isinstance(scheme, FacialFE):
        targets = scheme.radius_ * x + template.helper["sketch"]
        return np.linalg.norm(targets - e8.decode(targets), axis=1)
    return None


def take(samples: Any, people: Any) -> Any:
    return samples.take(np.flatnonzero(np.isin(samples.identity, people)))


if __name__ == "__main__":
    sys.exit(main())
