"""How much an attacker gains by knowing more people than the eraser was fitted on.

The people of FOLDER/embeddings/NAME.npz, five pictures each, are fitted, calibrated and tested on;
everybody else in the population file with two pictures or more is the attacker's own.

    python bench/measure_people.py FOLDER [--ranks 96 256] [--table people.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import efface
from efface.data.samples import curate
from efface.results import Estimate, Report, Sweep
from efface.types import Samples, Split

NAME, FAR, SEED = "face_mobile_512", 1e-3, 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, nargs="*", default=[96, 256])
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    samples, split = world(args.folder)
    attacks = ("ridge", "lda")
    header = ["rank", "attacker", "people it knows", "TAR at FAR 1e-3"]
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    for rank in args.ranks:
        for attack in attacks:
            report = efface.audit(
                samples, split=split, protections=[efface.ISP(rank=rank, force=True)],
                attacks=[attack], far=FAR, seed=SEED, sweep=("people",), bootstrap=1000,
            )  # fmt: skip
            lines += rows(rank, attack, report)
    text = "\n".join(lines) + "\n"
    print(text)
    if args.table:
        args.table.write_text(text, encoding="utf-8")


def world(folder: Path) -> tuple[Samples, Split]:
    """Population with the split: 283 people fitted, 70 calibrate, 70 test, the rest attack."""
    everyone = efface.load(folder / f"population_{NAME}.npz")
    known = curate(efface.load(folder / "embeddings" / f"{NAME}.npz"), 5, seed=SEED)
    files = set(known.attributes["name"].tolist())
    is_known = np.isin(everyone.names[everyone.identity], known.names)
    size = np.bincount(everyone.identity)[everyone.identity]
    listed = np.array([name in files for name in everyone.attributes["name"]])
    kept = everyone.take(np.flatnonzero((is_known & listed) | (~is_known & (size > 1))))
    order = np.random.default_rng(SEED).permutation(np.unique(kept.identity[_in(kept, known)]))
    parts = {"fit": order[:283], "calibration": order[283:353], "test": order[353:423]}
    rows = {part: np.flatnonzero(np.isin(kept.identity, who)) for part, who in parts.items()}
    shadow = np.flatnonzero(~np.isin(kept.identity, order))
    split = Split(
        rows["fit"], shadow, rows["calibration"], rows["test"], kept.identity, kept.names, SEED,
        "283 fit, 70 calibration, 70 test; all others shadow",
    )  # fmt: skip
    return replace(kept, dataset=f"population of {NAME}"), split


def _in(kept: Samples, known: Samples) -> np.ndarray:
    return np.isin(kept.names[kept.identity], known.names)


def rows(rank: int, attack: str, report: Report) -> Iterator[str]:
    swept: Sweep = next(s for s in report.sweeps if s.axis == "people attacking")
    raw = report.worst("raw").tar
    yield line(0, attack, "all of them", raw)
    for point in swept.points:
        yield line(rank, point.attacker, f"{point.x:,}", point.tar)


def line(rank: int, attack: str, people: str, tar: Estimate) -> str:
    return f"| {rank} | {attack} | {people} | {shown(tar)} |"


def shown(tar: Estimate) -> str:
    if tar.value is None or tar.low is None or tar.high is None:
        return "insufficient data"
    return f"{tar.value:.3f} [{tar.low:.3f}, {tar.high:.3f}]"


if __name__ == "__main__":
    main()
