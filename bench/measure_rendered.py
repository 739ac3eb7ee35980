"""Do rendered people look like people? To detectors, and to recognisers that only know real faces.

Detection: one picture each of many people; found is a face whose middle lies within a third of the
true box. Recognition: several pictures of each person in other places and poses, true landmarks;
TAR is the share of mated pairs above the threshold that 0.1 % or 1 % of the others exceed.

    python bench/measure_rendered.py [--yunet FILE] [--recogniser FILE] [--people 1000]
        [--known 150] [--images 5]
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from efface.data.rendered.world import RenderedFaces, World, rendered_faces, stream
from efface.faces.align import aligned
from efface.faces.dlib_chips import open_chips
from efface.faces.dlib_detector import open_dlib
from efface.faces.face import Face
from efface.faces.find import Detector
from efface.faces.onnx_detector import open_detector
from machine import describe

SIZES = (64, 128, 256)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--yunet", help="an ONNX file of YuNet (or another detector)")
    parser.add_argument("--recogniser", help="an ONNX file: 112 x 112, RGB, (x - 127.5) / 128")
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--known", type=int, default=150)
    parser.add_argument("--images", type=int, default=5)
    args = parser.parse_args()
    print(describe(), "\n")
    detection(args)
    recognition(args)
    return 0


def detection(args: argparse.Namespace) -> None:
    detectors: list[Detector] = [open_detector(args.yunet)] if args.yunet else []
    print("| size | detector | found | 95 % interval | landmark error | other faces |")
    print("|---|---|---|---|---|---|")
    for size in SIZES:
        for detector in [*detectors, open_dlib(upsample=2 if size < 128 else 1)]:
            hits, errors, others = [], [], 0
            for batch in stream(World(args.people, 1, contexts=200, size=size, seed=100)):
                for row, faces in enumerate(detector.detect(list(batch.pictures))):
                    error = nearest(faces, batch, row)
                    hits.append(error is not None)
                    others += len(faces) - hits[-1]
                    errors += [] if error is None else [error]
            low, high = wilson(sum(hits), len(hits))
            print(f"| {size} | {detector.name} | {np.mean(hits):.1%} | {low:.1%} to {high:.1%} "
                  f"| {np.median(errors):.1%} | {others} |")  # fmt: skip


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Wilson's score interval; every picture is of another person."""
    z, share = 1.96, hits / count
    middle = share + z * z / (2 * count)
    half = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count**2))
    return (middle - half) / (1 + z * z / count), (middle + half) / (1 + z * z / count)


def nearest(faces: tuple[Face, ...], truth: RenderedFaces, row: int) -> float | None:
    """Mean distance of the landmarks, in distances between the eyes, of a face in the right place;
    None if there is none."""
    box, points = truth.boxes[row], truth.landmarks[row]
    middle, room = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 3
    eyes = np.linalg.norm(points[1] - points[0])
    near = [face for face in faces if (np.abs(face.centre - middle) < room).all()]
    away = [np.linalg.norm(face.landmarks - points, axis=1).mean() / eyes for face in near]
    return min(map(float, away), default=None)


def recognition(args: argparse.Namespace) -> None:
    world = rendered_faces(args.known, args.images, contexts=100, size=128, seed=101)
    vectors = {"dlib": dlib_vectors(world)}
    if args.recogniser:
        vectors["recogniser"] = onnx_vectors(world, args.recogniser)
    print(f"\n| {args.known} people x {args.images}, 128 pixels | AUC | TAR at FAR 1e-2 | 1e-3 |")
    print("|---|---|---|---|")
    for name, found in vectors.items():
        same, others = scores(found, world.identity)
        auc = np.searchsorted(others, same).mean() / len(others)
        tar = [(same > np.quantile(others, 1 - far)).mean() for far in (1e-2, 1e-3)]
        print(f"| {name} | {auc:.3f} | {tar[0]:.2f} | {tar[1]:.2f} |")


def scores(vectors: np.ndarray, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minus the distances of mated pairs and, sorted, of all others."""
    square = (vectors**2).sum(axis=1)
    near = 2 * vectors @ vectors.T - square - square[:, None]
    pairs = np.triu_indices(len(who), 1)
    same = (who[:, None] == who)[pairs]
    return near[pairs][same], np.sort(near[pairs][~same])


def dlib_vectors(world: RenderedFaces) -> np.ndarray:
    import dlib

    from efface.encoders.dlib import package_file

    faces = [Face(b, p) for b, p in zip(world.boxes, world.landmarks, strict=True)]
    chips = open_chips()(list(world.pictures), faces)
    weights = str(package_file("dlib_face_recognition_resnet_model_v1.dat"))
    return np.array(dlib.face_recognition_model_v1(weights).compute_face_descriptor([*chips]))


def onnx_vectors(world: RenderedFaces, path: str) -> np.ndarray:
    import onnxruntime

    network = onnxruntime.InferenceSession(path)
    taken = network.get_inputs()[0].name
    numbers = (aligned(list(world.pictures), world.landmarks).astype(np.float32) - 127.5) / 128
    batches = numbers.transpose(0, 3, 1, 2)
    out = np.concatenate([network.run(None, {taken: one[None]})[0] for one in batches])
    return out / np.linalg.norm(out, axis=1, keepdims=True)


if __name__ == "__main__":
    sys.exit(main())
