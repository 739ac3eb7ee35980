"""Rendered triplets as material: the context match is exact, and so are face and landmarks."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np

from efface.attributing.drawing import EXACT, Plan, Query
from efface.attributing.material import Left, Material, Part, Row, described
from efface.attributing.settings import Settings
from efface.data.rendered.world import RenderedFaces, Triplets
from efface.errors import DataError
from efface.faces.crop import Crops, crops
from efface.faces.face import Face, Finding, Pixels
from efface.faces.find import given_faces
from efface.stores import disk

UNUSABLE = "a picture of the triplet cannot be used"


def rendered_material(made: Triplets, settings: Settings, folder: Path) -> tuple[Material, Plan]:
    """Crops of all three, the context match through the very window of its query."""
    if not len(made.query):
        raise DataError("no rendered triplets were given: make some with rendered.world.triplets")
    parts = [
        _cut(made.query, made.query, settings),
        _cut(made.identity_match, made.identity_match, settings),
        _cut(made.context_match, made.query, settings),
    ]
    held: list[tuple[str, Part]] = []
    rows: list[dict[int, int]] = []
    for role, (found, which) in zip(("query", "identity", "context"), parts, strict=True):
        start = sum(len(part.rows) for _, part in held)
        held.append(_kept(found, which, role, folder))
        rows.append({int(row): start + k for k, row in enumerate(found.rows)})
    material = Material(held, "rendered faces", True, "the rendered truth", (), "rendered truth")
    code = {name: number for number, name in enumerate(material.people)}
    queries = tuple(
        Query(
            code[f"person_{made.query.identity[k]:04d}"], rows[0][k], rows[1][k], rows[2][k], True
        )
        for k in range(len(made.query))
        if all(k in part for part in rows)
    )
    if not queries:
        raise DataError("none of the rendered triplets can be used: raise their size")
    lost = len(made.query) - len(queries)
    passed = Counter({UNUSABLE: lost} if lost else {})
    return material, Plan(queries, EXACT, "rendered", passed=passed)


def _name(faces: RenderedFaces, row: int) -> str:
    return f"person_{int(faces.identity[row]):04d}"


def _cut(
    faces: RenderedFaces, windows: RenderedFaces, settings: Settings
) -> tuple[Crops, RenderedFaces]:
    """Own landmarks, but the window around the face of ``windows``."""
    pictures: list[Pixels] = list(faces.pictures)
    known = [Face(b, p) for b, p in zip(windows.boxes, faces.landmarks, strict=True)]
    findings: list[Finding] = given_faces(pictures, known)
    made = crops(
        pictures, findings, settings.canvas, coverage=settings.coverage,
        most_padding=settings.most_padding,
    )  # fmt: skip
    return made, faces


def _kept(made: Crops, faces: RenderedFaces, role: str, folder: Path) -> tuple[str, Part]:
    """The crops in a file that is named after them."""
    names = [f"{role} {k}" for k in range(len(faces))]
    people = [_name(faces, k) for k in range(len(faces))]
    rows: list[Row] = described(made, names, people, [""] * len(faces))
    left = [
        Left(names[k], people[k], finding.outcome.value, finding.detail)
        for k, finding in enumerate(made.findings)
        if finding.face is None
    ]
    digest = hashlib.sha256("".join(row.digest for row in rows).encode()).hexdigest()
    file = folder / f"rendered-{digest[:32]}.npy"
    with disk.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        with partial.open("wb") as out:
            np.save(out, made.pictures)
        partial.replace(file)
    return str(file), Part(rows, left)
