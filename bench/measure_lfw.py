"""Audit every embedding file of a folder, raw and erased by all five methods, in both modes.

    python bench/measure_lfw.py FOLDER --results results/ --page docs/real-data.md

One report per (file, mode, seed) goes to ``--results`` and is not measured again; the page is
made from the reports alone.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import efface
from efface.data.samples import curate
from efface.report.schema import read, to_json
from efface.results import Report
from efface.types import Protection

SEEDS = (0, 1, 2)
FAR = 1e-3
# The largest rank of the usual ladder at which every method still leaves 5 % of the variance.
RANKS = {"efficientnet_lite0": 128, "augnet_r50": 32, "face_mobile_512": 96, "dlib128": 48}
PAPER_RANK = 192
ATTACKS = ("cosine", "ridge", "lda", "mlp", "fusion")
METHODS = {
    "isp": efface.ISP,
    "leace": efface.LEACE,
    "sal": efface.SAL,
    "inlp": efface.INLP,
    "rlace": efface.RLACE,
}


def protections(name: str, dim: int) -> list[Protection]:
    rank = RANKS.get(name, dim // 4)
    made: list[Protection] = [method(rank=rank, force=True) for method in METHODS.values()]
    if dim > PAPER_RANK:
        made.append(efface.ISP(rank=PAPER_RANK, force=True))
    return made


def measure(path: Path, mode: str, seed: int, results: Path) -> Report:
    stored = results / f"{path.stem}-{mode}-{seed}.json"
    if stored.exists():
        return read(stored)
    samples = curate(efface.load(path), 5, seed=seed)
    samples = replace(samples, dataset=path.stem)
    paper = mode == "paper"
    split = efface.split(
        samples, fit=283 if paper else 203, shadow=0 if paper else 80, calibration=70, test=70,
        seed=seed,
    )  # fmt: skip
    report = efface.audit(
        samples, split=split, protections=protections(path.stem, samples.dim), far=FAR, mode=mode,
        shots=(1, 3), quota=None, seed=seed, sweep=(),
    )  # fmt: skip
    stored.write_bytes(to_json(report))
    print(
        path.stem, mode, seed, *(f"{w.release} {w.tar} {w.attacker};" for w in report.worst_cases)
    )
    return report


def cell(values: list[tuple[float, float, float]]) -> str:
    """Mean over seeds; the interval spans the lowest low and the highest high."""
    mean = statistics.mean(v for v, _, _ in values)
    return f"{mean:.3f} [{min(v[1] for v in values):.3f}, {max(v[2] for v in values):.3f}]"


def rows(reports: list[Report]) -> Iterator[list[str]]:
    for release in reports[0].releases:
        worst = [r.worst(release.name) for r in reports]
        if any(w.tar.value is None for w in worst):
            continue
        kept = statistics.mean(
            x.variance_kept for r in reports for x in r.releases if x.name == release.name
        )
        names = " / ".join(sorted({w.attacker for w in worst}))
        yield [
            release.name,
            f"{100 * kept:.1f} %",
            cell([(w.tar.value, w.tar.low, w.tar.high) for w in worst]),
            names,
            *(best(reports, release.name, attack) for attack in ATTACKS),
        ]


def best(reports: list[Report], release: str, attack: str) -> str:
    """Mean over seeds of the largest TAR of one attacker, naive or parrot, any k."""
    tops = []
    for report in reports:
        found = [
            m.tar.value
            for m in report.measurements
            if m.case.release == release
            and m.case.attack.name == attack
            and m.tar.value is not None
        ]
        if found:
            tops.append(max(found))
    return f"{statistics.mean(tops):.3f}" if tops else "-"


def table(header: list[str], body: Iterator[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + " --- |" * len(header)
    for row in body:
        yield "| " + " | ".join(row) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--tables", type=Path, help="write the tables here")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--modes", nargs="*", default=["strong", "paper"])
    args = parser.parse_args()
    args.results.mkdir(parents=True, exist_ok=True)
    lines = []
    for path in sorted(args.folder.glob("*.npz")):
        if args.only and path.stem not in args.only:
            continue
        for mode in args.modes:
            reports = [measure(path, mode, seed, args.results) for seed in SEEDS]
            lines += [f"### {path.stem}, {mode} mode", ""]
            header = ["release", "variance kept", "worst-case TAR", "by", *ATTACKS]
            lines += [*table(header, rows(reports)), ""]
    if args.tables:
        args.tables.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
