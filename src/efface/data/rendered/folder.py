"""A rendered world as a folder of pictures, for whatever reads folders."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from efface.data.atomic import atomic_write
from efface.data.rendered.png import write_png
from efface.data.rendered.world import RenderedFaces, World, stream

COLUMNS = (
    "file", "identity", "context", "yaw", "pitch", "roll", "x1", "y1", "x2", "y2",
    "right_eye_x", "right_eye_y", "left_eye_x", "left_eye_y", "nose_x", "nose_y",
    "right_mouth_x", "right_mouth_y", "left_mouth_x", "left_mouth_y",
)  # fmt: skip


def write_faces(world: World, folder: str | os.PathLike[str]) -> int:
    """One folder per person in the manner of LFW (``person_0007/person_0007_0001.png``) and
    ``truth.csv`` with the labels of every picture. Returns how many pictures there are."""
    place = Path(folder)
    rows: list[list[str]] = []
    for batch in stream(world):
        for row in range(len(batch)):
            who = int(batch.identity[row])
            name = f"person_{who:04d}/person_{who:04d}_{len(rows) % world.images + 1:04d}.png"
            write_png(batch.pictures[row], place / name)
            rows.append([name, *_truth(batch, row)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    with atomic_write(place / "truth.csv", parents=True) as partial:
        partial.write_text(text.getvalue(), encoding="utf-8")
    return len(rows)


def _truth(batch: RenderedFaces, row: int) -> list[str]:
    numbers = [*batch.pose[row], *batch.boxes[row], *batch.landmarks[row].ravel()]
    return [f"person_{batch.identity[row]:04d}", str(batch.context[row]),
            *(f"{number:.4f}" for number in numbers)]  # fmt: skip
