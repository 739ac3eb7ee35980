"""One face for every picture, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from efface.errors import DataError
from efface.faces.face import Face, Finding, Outcome, Pixels
from efface.faces.landmarks import landmark_faults
from efface.faces.pictures import picture_fault

Policy = Literal["largest", "central", "only"]
POLICIES = ("largest", "central", "only")
LEAST_FACE = 16.0
"""Faces whose box has a shorter side are not used: nobody could be told from so few pixels."""


class Detector(Protocol):
    """What :func:`find_faces` asks of a detector; ``digest`` is the SHA-256 of its weights."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    def detect(self, pictures: Sequence[Pixels]) -> list[tuple[Face, ...]]: ...


def find_faces(
    pictures: Sequence[Pixels],
    detector: Detector,
    policy: Policy = "largest",
    *,
    least_face: float = LEAST_FACE,
) -> list[Finding]:
    """A finding for every picture, in order. Of several faces the one with the largest box, or
    the one nearest to the picture's middle; with ``only`` such pictures are left out. Faces with
    a side below ``least_face`` pixels do not compete."""
    if policy not in POLICIES:
        raise DataError(f"no policy is called {policy!r}: choose one of {', '.join(POLICIES)}")
    seen = detector.detect(pictures)
    return [_finding(p, f, policy, least_face) for p, f in zip(pictures, seen, strict=True)]


def given_faces(pictures: Sequence[Pixels], faces: Sequence[Face | None]) -> list[Finding]:
    """The same from faces that are known already, one or none for each picture."""
    return [
        _finding(p, () if f is None else (f,), "largest", LEAST_FACE)
        for p, f in zip(pictures, faces, strict=True)
    ]


def _finding(
    picture: Pixels, faces: tuple[Face, ...], policy: Policy, least_face: float
) -> Finding:
    fault = picture_fault(picture)
    if fault is not None:
        return Finding(fault, detail=_shown(picture))
    if not faces:
        return Finding(Outcome.NONE)
    large = tuple(face for face in faces if face.size.min() >= least_face)
    if not large:
        return Finding(Outcome.SMALL_FACE, None, faces, f"{faces[0].size.min():.1f} pixels")
    several = len(large) > 1
    if several and policy == "only":
        return Finding(Outcome.SEVERAL, None, faces, f"{len(large)} faces")
    face = _chosen(picture, large, policy)
    bad = landmark_faults(face.landmarks[None])[0]
    if bad is not None:
        return Finding(bad, None, faces)
    return Finding(Outcome.SEVERAL if several else Outcome.ONE, face, faces)


def _chosen(picture: Pixels, faces: tuple[Face, ...], policy: Policy) -> Face:
    """The best by the policy; of equals the one with the better score, which comes first."""
    if policy == "central":
        middle = np.array(picture.shape[1::-1]) / 2
        return min(faces, key=lambda face: float(np.linalg.norm(face.centre - middle)))
    return max(faces, key=lambda face: face.area)


def _shown(picture: object) -> str:
    if isinstance(picture, np.ndarray):
        return f"{picture.dtype} of shape {picture.shape}"
    return type(picture).__name__
