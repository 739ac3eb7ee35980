"""Face or surroundings? Attribution of a general and two face encoders on real photographs.

    python bench/measure_attribution.py LFW MODELS --out results/ --tables tables.md

LFW holds ``images``, ``landmarks.npz``, ``label_noise.txt`` and ``embeddings``; MODELS the two ONNX
files. Projectors are fitted on the stored embeddings of people who take no part in the
attribution. What was found or encoded once stays in ``--out``.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np

import efface
from efface.attributing.settings import Settings
from efface.attributing.survey import Finder
from efface.attributions import Attribution, Finding
from efface.encoders.choose import open_encoder
from efface.encoders.declared import Declared, Sheet
from efface.protect.linear.eraser import LinearEraser
from efface.report.attribution import save
from efface.results import Estimate
from efface.threads import cores

FITTED = 200
"""People the projectors are fitted on; the others are measured."""
GENERAL, FACE, DLIB = "efficientnet_lite0", "face_mobile_512", "dlib128"
RANKS = {GENERAL: (128, 192), FACE: (96, 192), DLIB: (48,)}
Made = dict[str, list[LinearEraser]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lfw", type=Path)
    parser.add_argument("models", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--people", type=int)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    fitted, measured = divided(args.lfw, args.seed)
    listing = args.out / "pictures.csv"
    write_list(args.lfw, measured, listing)
    found = efface.attribution(
        listing, encoders(args.models),
        projectors={name: projectors(args.lfw, stem, fitted) for name, stem in NAMES.items()},
        settings=Settings(seed=args.seed, people=args.people),
        finder=Finder(faces=str(args.lfw / "landmarks.npz")), cache=args.out / "cache",
        workers=cores(), tell=tell,
    )  # fmt: skip
    save(found, args.out)
    text = "\n".join(tables(found))
    print(text)
    if args.tables:
        args.tables.write_text(text + "\n", encoding="utf-8")


NAMES = {GENERAL: GENERAL, f"{FACE} (arcface)": FACE, "dlib_face_recognition_resnet_model_v1": DLIB}


def encoders(models: Path) -> list[object]:
    """The face encoder twice: on aligned faces, and on the whole crop it was not made for."""
    general = open_encoder(
        str(models / f"{GENERAL}.onnx"), Sheet(preprocessing=Declared(normalise="imagenet"))
    )
    face = open_encoder(
        f"arcface:{models / f'{FACE}.onnx'}",
        Sheet(preprocessing=Declared(colour="RGB", normalise="half-128")),
    )
    return [general, face, (face, "crop"), open_encoder("dlib")]


def divided(lfw: Path, seed: int) -> tuple[set[str], set[str]]:
    """People to fit on and people to measure, by lot."""
    with np.load(lfw / "embeddings" / f"{GENERAL}.npz") as held:
        people = np.unique(held["identity"])
    order = np.random.default_rng(seed).permutation(people)
    return set(order[:FITTED].tolist()), set(order[FITTED:].tolist())


def write_list(lfw: Path, people: set[str], path: Path) -> None:
    """A list of the pictures of these people, without those whose label is doubtful."""
    doubtful = set((lfw / "label_noise.txt").read_text(encoding="utf-8").split())
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["picture", "identity"])
        for picture in sorted((lfw / "images").glob("*.jpg")):
            who = picture.stem.rpartition("_")[0]
            if who in people and picture.name not in doubtful:
                writer.writerow([str(picture.resolve()), who])


def projectors(lfw: Path, stem: str, people: set[str]) -> list[LinearEraser]:
    samples = efface.load(lfw / "embeddings" / f"{stem}.npz")
    rows = np.flatnonzero(np.isin(samples.names[samples.identity], sorted(people)))
    mine = samples.take(rows)
    made = [efface.ISP(rank=rank, force=True).fit(mine).eraser_ for rank in RANKS[stem]]
    return [*made, efface.LEACE(rank=RANKS[stem][0], force=True).fit(mine).eraser_]


_told = {"stage": "", "percent": -1}


def tell(stage: str, done: int, total: int) -> None:
    percent = 100 * done // max(total, 1)
    if stage != _told["stage"] or percent >= int(_told["percent"]) + 5:
        print(f"{stage}: {done} of {total}", file=sys.stderr, flush=True)
        _told.update(stage=stage, percent=percent)


# --- tables ---------------------------------------------------------------------------------


def tables(found: Attribution) -> list[str]:
    return [*_sides(found), "", *_preferences(found), "", *_losses(found), "", *_series(found)]


def _sides(found: Attribution) -> list[str]:
    head = ["encoder", "vectors", "FII over strangers", "FII as published", "CPI, no blur",
            "ΔCPI", "crossover σ*", "median B*", "so"]  # fmt: skip
    rows = [
        [
            f.encoder, f.release, _cell(f.importance and f.importance.specific),
            _cell(f.importance and f.importance.fii), _cell(f.preference and f.preference.cpi[0]),
            _cell(f.preference and f.preference.delta), _crossing(f),
            _cell(f.revelation and f.revelation.median), f.side,
        ]
        for f in found.findings
    ]  # fmt: skip
    return _table(head, rows)


def _preferences(found: Attribution) -> list[str]:
    sigmas = next(f.preference.sigmas for f in found.findings if f.preference)
    head = ["encoder", "vectors", *(f"σ = {sigma:g}" for sigma in sigmas)]
    rows = [
        [f.encoder, f.release, *map(_cell, f.preference.cpi)]
        for f in found.findings
        if f.preference
    ]
    return _table(head, rows)


def _losses(found: Attribution) -> list[str]:
    head = ["encoder", "vectors", "similarity of pairs", "lost with the face", "lost with the ring",
            "FII of strangers"]  # fmt: skip
    rows = [
        [f.encoder, f.release, _cell(f.importance.similarity), _cell(f.importance.face),
         _cell(f.importance.ring), _cell(f.importance.strangers)]
        for f in found.findings
        if f.importance
    ]  # fmt: skip
    return _table(head, rows)


def _series(found: Attribution) -> list[str]:
    first = next(f.revelation for f in found.findings if f.revelation)
    levels = [f"at {level:.0%}" for level in first.levels]
    head = ["encoder", "vectors", *levels, "never", "context rises", "identity flat"]
    rows = [
        [f.encoder, f.release, *map(str, f.revelation.counts), str(f.revelation.never),
         _cell(f.revelation.context_rises), _cell(f.revelation.identity_flat)]
        for f in found.findings
        if f.revelation
    ]  # fmt: skip
    return _table(head, rows)


def _crossing(f: Finding) -> str:
    if f.preference is None:
        return "-"
    x = f.preference.crossover
    if x.crossing != "crossed" or x.sigma is None:
        return x.crossing
    low, high = ("open" if end is None else f"{end:.2f}" for end in (x.low, x.high))
    return f"{x.sigma:.2f} [{low}, {high}]"


def _cell(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return "-"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


if __name__ == "__main__":
    main()
