"""Encode LFW through the public command and compare with embeddings that others made of it.

    python bench/measure_encode_lfw.py IMAGES --models DIR --published DIR --faces landmarks.npz \
      --results results/ [--tables tables.md]

Files of vectors go to ``--results`` and are not made again. ``--published`` holds one .npz for each
network with ``embedding`` and ``name``; ``--faces`` are the faces that they were made from.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import efface
from efface.encoders.choose import open_encoder
from efface.encoders.declared import Declared, Sheet
from efface.encoding.given import GivenFaces
from efface.faces.align import arcface_template, similarity, warped
from efface.faces.resample import as_pixels
from efface.types import Samples

FAR = 1e-3
NEAR = 0.999
SAMPLE = 100
NETWORKS = {
    "efficientnet_lite0": ("{}/efficientnet_lite0.onnx", "--normalise imagenet --face crop"),
    "face_mobile_512": ("arcface:{}/face_mobile_512.onnx", "--colour RGB --normalise half-128"),
    "dlib128": ("dlib", ""),
}


def runs(args: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
    """Network, where the faces come from, and the options of the command."""
    yunet = str(args.models / "yunet_2023mar.onnx")
    for name, (encoder, options) in NETWORKS.items():
        base = ["--encoder", encoder.format(args.models), *options.split()]
        yield name, "published", [*base, "--faces", str(args.faces)]
        finder = "dlib" if encoder == "dlib" else yunet
        for policy in ("largest",) if encoder == "dlib" else ("largest", "central"):
            found = [*base, "--detector", finder, "--policy", policy]
            yield name, f"{Path(finder).stem}, {policy}", found


def encoded(images: Path, out: Path, options: list[str]) -> Samples:
    if not out.exists():
        command = [sys.executable, "-m", "efface.cli.main", "encode", str(images), *options]
        subprocess.run([*command, "--out", str(out)], check=True)
    return efface.load(out)


def published(folder: Path, name: str, samples: Samples) -> np.ndarray:
    """The unit vectors that others made of the same pictures, in the same order."""
    with np.load(folder / f"{name}.npz") as held:
        row = {picture: i for i, picture in enumerate(held["name"].tolist())}
        rows = [row[picture] for picture in samples.attributes["name"].tolist()]
        theirs = held["embedding"][rows].astype(np.float32)
    return np.asarray(theirs / np.linalg.norm(theirs, axis=1, keepdims=True))


def tar(vectors: np.ndarray, person: np.ndarray) -> float:
    """TAR at FAR 1e-3 over all pairs of all people, by cosine."""
    pairs = np.triu_indices(len(vectors), 1)
    scores, same = (vectors @ vectors.T)[pairs], (person[:, None] == person)[pairs]
    strangers = np.sort(scores[~same])
    threshold = strangers[len(strangers) - int(FAR * len(strangers)) - 1]
    return float((scores[same] > threshold).mean())


def audited(samples: Samples) -> str:
    """The cosine attacker on test people, with its interval."""
    report = efface.audit(samples, far=FAR, attacks=["cosine"], sweep=())
    found = report.worst().tar
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def agreement(name: str, faces: str, samples: Samples, theirs: np.ndarray) -> list[str]:
    cosines = (samples.data * theirs).sum(axis=1)
    low, first, middle = np.quantile(cosines, [0, 0.01, 0.5])
    return [
        name, faces, f"{len(samples):,}", f"{(cosines > NEAR).mean():.1%}", f"{low:.3f}",
        f"{first:.3f}", f"{middle:.5f}", f"{tar(theirs, samples.identity):.4f}",
        f"{tar(samples.data, samples.identity):.4f}", audited(samples.replace(theirs)),
        audited(samples),
    ]  # fmt: skip


# --- why some differ --------------------------------------------------------------------------


def points_left_out(
    images: Path, faces: GivenFaces, encoder: Any, samples: Samples, theirs: np.ndarray
) -> np.ndarray:
    """The best cosine of those below 0.999 if one or two landmarks do not count, as in an alignment
    that looks for outlying points."""
    template = arcface_template(112)
    kept = [k for n in (3, 4) for k in itertools.combinations(range(5), n)]
    best = []
    for row in _apart(samples, theirs):
        face, picture = _of(images, faces, samples, row)
        maps = [similarity(face.landmarks[None, list(k)], template[list(k)])[0] for k in kept]
        cuts = [as_pixels(warped(picture, matrix, (112, 112))) for matrix in maps]
        best.append(_unit(encoder.encode(cuts)) @ theirs[row])
    return np.max(best, axis=1)


def other_enlargement(
    images: Path, faces: GivenFaces, encoder: Any, samples: Samples, theirs: np.ndarray
) -> np.ndarray:
    """The cosine of those below 0.999 if the crop is resized by OpenCV's INTER_AREA, which
    interpolates where it enlarges."""
    import cv2

    from efface.faces import crop

    found = []
    for row in _apart(samples, theirs):
        face, picture = _of(images, faces, samples, row)
        window = crop._around(face, crop.COVERAGE)
        square = np.ascontiguousarray(crop._cut(picture, window))
        enlarged = cv2.resize(square, (224, 224), interpolation=cv2.INTER_AREA)
        found.append(float(_unit(encoder.encode([enlarged]))[0] @ theirs[row]))
    return np.array(found)


def _apart(samples: Samples, theirs: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero((samples.data * theirs).sum(axis=1) <= NEAR)
    return np.random.default_rng(0).permutation(rows)[:SAMPLE]


def _of(images: Path, faces: GivenFaces, samples: Samples, row: int) -> tuple[Any, np.ndarray]:
    name = str(samples.attributes["name"][row])
    with Image.open(images / name) as picture:
        return faces.of(name), np.asarray(picture.convert("RGB"))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def reasons(args: argparse.Namespace, held: dict[str, tuple[Samples, Any]]) -> Iterator[list[str]]:
    faces = GivenFaces(args.faces)
    for name, numbers, change, words in (
        ("efficientnet_lite0", Declared(normalise="imagenet"), other_enlargement,
         "OpenCV's enlargement"),
        ("face_mobile_512", Declared(colour="RGB", normalise="half-128"), points_left_out,
         "one or two landmarks left out"),
    ):  # fmt: skip
        encoder = open_encoder(NETWORKS[name][0].format(args.models), Sheet(preprocessing=numbers))
        samples, theirs = held[name]
        apart = int(((samples.data * theirs).sum(axis=1) <= NEAR).sum())
        found = change(args.images, faces, encoder, samples, theirs)
        yield [name, f"{apart:,}", words, f"{len(found)}", f"{(found > NEAR).mean():.1%}",
               f"{found.min():.6f}"]  # fmt: skip


def table(header: list[str], body: Iterator[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + " --- |" * len(header)
    for row in body:
        yield "| " + " | ".join(row) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", type=Path)
    for name in ("models", "published", "faces", "results"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--tables", type=Path, help="write the tables here")
    args = parser.parse_args()
    args.results.mkdir(parents=True, exist_ok=True)
    held: dict[str, tuple[Samples, Any]] = {}
    rows = []
    for name, faces, options in runs(args):
        out = args.results / f"{name}-{faces.replace(', ', '-')}.parquet"
        samples = encoded(args.images, out, options)
        theirs = published(args.published, name, samples)
        if faces == "published":
            held[name] = samples, theirs
        rows.append(agreement(name, faces, samples, theirs))
        print(*rows[-1], flush=True)
    head = ["network", "faces", "pictures", "cosine above 0.999", "lowest", "1 %", "median",
            "TAR, theirs", "TAR, ours", "test people, theirs", "test people, ours"]  # fmt: skip
    why = ["network", "below 0.999", "changed", "tried", "then above 0.999", "lowest"]
    lines = [*table(head, iter(rows)), "", *table(why, reasons(args, held))]
    print("\n".join(lines))
    if args.tables:
        args.tables.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
