"""Crops with their faces on the disk, and what became of every picture given."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np

from efface.attributing.settings import Settings
from efface.attributing.stimuli import Place
from efface.attributions import Geometry, Pictures, Spread
from efface.faces.annulus import TOLERANCE, equal_area_annuli
from efface.faces.crop import Crops
from efface.faces.face import Face, Pixels, Points
from efface.faces.mask import box_shares, face_runs


class Row(msgspec.Struct, frozen=True):
    """A usable picture: who it is, and the face in its crop."""

    name: str
    identity: str
    digest: str
    """SHA-256 of crop and landmarks."""
    box: list[float]
    landmarks: list[list[float]]
    score: float
    coverage: float
    padding: float
    ellipse: float
    ring: float
    """Difference of areas between ring and face, as a share of the face."""
    phash: str = ""
    """Perceptual hash of the picture, in hexadecimal; empty where there is none."""

    @property
    def face(self) -> Face:
        return Face(np.array(self.box), np.array(self.landmarks), self.score)

    @property
    def matched(self) -> bool:
        return abs(self.ring) <= TOLERANCE


class Left(msgspec.Struct, frozen=True):
    """A picture that cannot be used."""

    name: str
    identity: str
    kind: str
    why: str


class Part(msgspec.Struct, frozen=True):
    """What one file of crops holds, row by row, and what was left out on the way."""

    rows: list[Row]
    left: list[Left] = []
    treated: dict[str, int] = {}


@dataclass(frozen=True, eq=False)
class Material:
    """All usable pictures; people are numbered by their names in order."""

    parts: Sequence[tuple[str, Part]]
    """Files of crops with what is in them."""
    dataset: str
    rendered: bool = False
    identity_rule: str = ""
    passed_over: tuple[tuple[str, int], ...] = ()
    detector: str = ""
    detector_weights: str | None = None

    @cached_property
    def rows(self) -> list[Row]:
        return [row for _, part in self.parts for row in part.rows]

    @cached_property
    def left(self) -> list[Left]:
        return [one for _, part in self.parts for one in part.left]

    @cached_property
    def people(self) -> list[str]:
        return sorted({row.identity for row in self.rows})

    @cached_property
    def codes(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        number = {name: code for code, name in enumerate(self.people)}
        return np.array([number[row.identity] for row in self.rows], np.int64)

    @cached_property
    def landmarks(self) -> Points:
        return np.array([row.landmarks for row in self.rows]).reshape(-1, 5, 2)

    def place(self, row: int) -> Place:
        file, index = self._where[row]
        return Place(file, index, self.rows[row].face)

    def summary(self) -> Pictures:
        """From found to usable; every picture is counted once."""
        sha = hashlib.sha256()
        for row in self.rows:
            sha.update(f"{row.identity}\0{row.digest}\n".encode())
        treated: Counter[str] = Counter()
        for _, part in self.parts:
            treated.update(part.treated)
        return Pictures(
            dataset=self.dataset,
            kind="rendered" if self.rendered else "photographs",
            digest=sha.hexdigest(),
            found=len(self.rows) + len(self.left),
            usable=len(self.rows),
            people=len(self.people),
            identity_rule=self.identity_rule,
            left_out=dict(Counter(one.kind for one in self.left).most_common()),
            treated=dict(treated.most_common()),
            passed_over=dict(self.passed_over),
            detector=self.detector,
            detector_weights=self.detector_weights,
        )

    def geometry(self, settings: Settings) -> Geometry:
        """The quality controls over usable pictures."""
        rows = self.rows
        return Geometry(
            canvas=settings.canvas,
            target=settings.coverage,
            coverage=spread([row.coverage for row in rows]),
            padding=spread([row.padding for row in rows]),
            ellipse=spread([row.ellipse for row in rows]),
            area_difference=spread([abs(row.ring) for row in rows]),
            unmatched_rings=sum(not row.matched for row in rows),
        )

    @cached_property
    def _where(self) -> list[tuple[str, int]]:
        return [(file, k) for file, part in self.parts for k in range(len(part.rows))]


def spread(values: Sequence[float]) -> Spread:
    """Mean, standard deviation and largest."""
    if not values:
        return Spread()
    x = np.array(values, np.float64)
    return Spread(
        count=len(x), mean=float(x.mean()), deviation=float(x.std()), largest=float(x.max())
    )


def described(made: Crops, names: Sequence[str], people: Sequence[str],
              hashes: Sequence[str]) -> list[Row]:  # fmt: skip
    """Crops as rows; ``names``, ``people`` and ``hashes`` are of the pictures that were given."""
    if not len(made):
        return []
    runs = face_runs(made.landmarks, made.pictures.shape[1:3])
    boxes = np.array([face.box for face in made.faces])
    shares, rings = box_shares(runs.masks(), boxes), equal_area_annuli(runs).difference
    return [
        Row(
            names[row], people[row], content(made.pictures[k], made.faces[k]),
            made.faces[k].box.tolist(), made.faces[k].landmarks.tolist(), made.faces[k].score,
            float(made.coverage[k]), float(made.padding[k]), float(shares[k]), float(rings[k]),
            hashes[row],
        )
        for k, row in enumerate(made.rows.tolist())
    ]  # fmt: skip


def content(crop: Pixels, face: Face) -> str:
    """SHA-256 of what the altered forms of a crop depend on."""
    sha = hashlib.sha256(f"{crop.shape} ".encode())
    sha.update(np.ascontiguousarray(crop).tobytes())
    sha.update(np.ascontiguousarray(np.vstack([face.landmarks, face.box.reshape(2, 2)])).tobytes())
    return sha.hexdigest()
