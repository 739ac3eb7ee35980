"""Face geometry at 224 pixels beside what one would write with Pillow and scipy.ndimage.

Crop, ellipse mask, search for the ring of equal area, and the two feathered blurs, one core. The
peer follows the paper picture by picture: Pillow crops and resizes, draws the turned ellipse and
pastes; SciPy measures each pixel's distance to the face, which a binary search cuts off, and
blurs. (Dilating by a disc in each step of the search, as the paper words it, takes SciPy seconds a
picture.) Both get the same faces, and the blurred pictures must agree. Seconds are those of the
processor, in one thread, so that other work on the machine counts little.

    python bench/bench_faces.py [--pictures 64] [--size 224] [--repeats 5]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from efface.faces.annulus import equal_area_annuli
from efface.faces.blur import blur_inside
from efface.faces.crop import crops
from efface.faces.face import Face, Finding, Outcome
from efface.faces.landmarks import TEMPLATE
from efface.faces.mask import ellipses, face_runs
from machine import describe

LIMIT_RATE, LIMIT_RATIO = 150.0, 5.0
_SIDE = 250

Result = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Face areas, ring areas, and both blurred pictures: n, n, n x 2 x size x size x 3."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pictures", type=int, default=64)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    pictures, findings = made_up(args.pictures)
    with threadpool_limits(limits=1):
        ours, fast = best(lambda: efface(pictures, findings, args.size), args.repeats)
        theirs, slow = best(lambda: peer(pictures, findings, args.size), 1)
    return report(ours, fast, theirs, slow, args)


def made_up(count: int) -> tuple[list[np.ndarray], list[Finding]]:
    """Pictures of 250 pixels, all soft spots, and faces of about 95 x 130, a little tilted."""
    from PIL import Image

    rng = np.random.default_rng(0)
    pictures, findings = [], []
    for _ in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        pictures.append(np.asarray(coarse.resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)))
        centre, sides = rng.normal(_SIDE / 2, 4, 2), np.array([95, 130]) * rng.uniform(0.8, 1.1)
        angle, middle = rng.normal(0, 0.15), TEMPLATE.mean(axis=0)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        points = (TEMPLATE - middle) @ turn.T * (sides[0] / 90) + centre
        face = Face(np.concatenate([centre - sides / 2, centre + sides / 2]), points)
        findings.append(Finding(Outcome.ONE, face, (face,)))
    return pictures, findings


def efface(pictures: list[np.ndarray], findings: list[Finding], size: int) -> Result:
    made = crops(pictures, findings, size)
    runs = face_runs(made.landmarks, (size, size))
    rings = equal_area_annuli(runs).masks
    faces = runs.masks()
    both = blur_inside(made.pictures, faces, rings)
    return runs.areas, rings.sum(axis=(1, 2)), np.stack(both, axis=1)


def peer(pictures: list[np.ndarray], findings: list[Finding], size: int) -> Result:
    done = [_by_hand(p, f.face, size) for p, f in zip(pictures, findings, strict=True) if f.face]
    faces, rings, both = zip(*done, strict=True)
    return np.array(faces), np.array(rings), np.stack(both)


def _by_hand(picture: np.ndarray, face: Face, size: int) -> tuple[int, int, np.ndarray]:
    from PIL import Image
    from scipy import ndimage

    side = round(np.sqrt(face.area / 0.33))
    left, top = (round(edge) for edge in face.centre - side / 2)
    mean = tuple(int(c) for c in picture.reshape(-1, 3).mean(axis=0).round())
    square = Image.new("RGB", (side, side), mean)
    square.paste(Image.fromarray(picture), (-left, -top))
    crop = np.asarray(square.resize((size, size), Image.Resampling.BILINEAR))
    mask = _ellipse(face.moved((left, top), size / side).landmarks, size)
    ring = _ring(mask)
    outs = []
    for part in (mask, ring):
        soft = ndimage.gaussian_filter(part.astype(np.float32), 3, truncate=3)[..., None]
        blurred = ndimage.gaussian_filter(
            crop.astype(np.float32), (8, 8, 0), mode="mirror", truncate=3
        )
        outs.append(np.rint(crop + soft * (blurred - crop)).astype(np.uint8))
    return int(mask.sum()), int(ring.sum()), np.stack(outs)


def _ellipse(landmarks: np.ndarray, size: int) -> np.ndarray:
    """The turned ellipse pixel by pixel, in NumPy: Pillow draws upright ones only."""
    (centre,), (axes,), (turn,) = ellipses(landmarks[None])
    y, x = np.mgrid[:size, :size].astype(np.float64)
    x, y = x - centre[0], y - centre[1]
    along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    return np.asarray((along / axes[0]) ** 2 + (across / axes[1]) ** 2 <= 1)


def _ring(mask: np.ndarray) -> np.ndarray:
    """Binary search over the distance, stopped as soon as the areas match within 2 %."""
    from scipy import ndimage

    away = ndimage.distance_transform_edt(~mask)
    low, high, area = 0.0, float(len(mask)), int(mask.sum())
    ring = mask & False
    for _ in range(30):
        width = (low + high) / 2
        ring = (away <= width) & ~mask
        if abs(ring.sum() - area) <= 0.02 * area:
            break
        low, high = (width, high) if ring.sum() < area else (low, width)
    return np.asarray(ring)


def best(work: Callable[[], Result], repeats: int) -> tuple[Result, float]:
    """The result, and the seconds of the quickest of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        out = work()
        seconds.append(time.process_time() - start)
    return out, min(seconds)


def report(ours: Result, fast: float, theirs: Result, slow: float, args: argparse.Namespace) -> int:
    rate, ratio = args.pictures / fast, slow / fast
    gaps = [np.abs(rings / faces - 1).max() for faces, rings, _ in (ours, theirs)]
    alike = float(np.abs(ours[2][:, 0].astype(int) - theirs[2][:, 0]).mean())
    print(f"{describe()}\n\n| {args.pictures} pictures at {args.size}, one core | pictures/s "
          "| largest area difference |\n|---|---|---|")  # fmt: skip
    print(f"| efface (at least {LIMIT_RATE:.0f}) | {rate:.0f} | {gaps[0]:.2%} |")
    print(f"| Pillow and scipy.ndimage | {args.pictures / slow:.1f} | {gaps[1]:.2%} |")
    print(f"| times faster (at least {LIMIT_RATIO:.0f}) | {ratio:.0f} | |")
    print(f"| mean difference of the blurred faces, in grey levels | {alike:.2f} | |")
    return 0 if rate >= LIMIT_RATE and ratio >= LIMIT_RATIO and alike < 2 else 1


if __name__ == "__main__":
    sys.exit(main())
