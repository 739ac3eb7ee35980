"""The meter on one set of embeddings, scheme after scheme, for docs/templates-measured.md.

python bench/measure_meter.py faces.npz population.npz [--people 200] [--only mrp]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from efface.auditing.meter import meter
from efface.data.readers import load
from efface.errors import EffaceWarning
from efface.protect.template.bases import Shared
from efface.readings import Reading
from efface.registry import make
from efface.report.meter import to_text

BASES = Shared(1)
LATTICE: dict[str, Any] = {"m": 180, "l": 60, "q": 130003, "bases": BASES}
SCHEMES: dict[str, tuple[str, dict[str, Any], float | None]] = {
    "mrp": ("mrp", {}, None),
    "biohash": ("biohash", {}, None),
    "facial-fe": ("facial-fe", {}, None),
    "facial-fe-10": ("facial-fe", {"fnr": 0.1}, None),
    "l2fe-hash": ("l2fe-hash", {**LATTICE, "scale": 0.0014}, None),
    "l2fe-hash-1pc": ("l2fe-hash", LATTICE, 0.01),
    "l2fe-hash-01pc": ("l2fe-hash", LATTICE, 0.001),
}


def main() -> None:
    typed = argparse.ArgumentParser(description=__doc__)
    typed.add_argument("faces")
    typed.add_argument("population")
    typed.add_argument("--people", type=int, default=200)
    typed.add_argument("--only", action="append")
    typed.add_argument("--out", type=Path)
    given = typed.parse_args()
    users, population = load(given.faces), load(given.population)
    warnings.simplefilter("ignore", EffaceWarning)
    for name in given.only or SCHEMES:
        scheme, params, fmr = SCHEMES[name]
        reading = meter(
            users, make("scheme", scheme, **params), population=population, people=given.people,
            fmr=fmr,
        )  # fmt: skip
        print(f"\n## {name}\n{to_text(reading)}", flush=True)
        _keep(reading, given.out, name)


def _keep(reading: Reading, folder: Path | None, name: str) -> None:
    if folder is not None:
        reading.save(folder / name)


if __name__ == "__main__":
    main()
