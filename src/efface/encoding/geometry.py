"""What is cut out of a picture for the encoder: the whole of it, or the face in it.

A geometry is called with upright RGB pixels, in worker processes, and says what it did. Anything
callable of this shape will do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from efface.encoders.fit import fitted
from efface.encoders.weights import file_digest
from efface.encoding.given import given_faces_of
from efface.errors import DataError
from efface.facts import GeometryFacts, Preprocessing
from efface.types import Picture

Cut = Literal["crop", "arcface", "dlib"]
_NAMES: dict[Cut, Any] = {
    "crop": "FCR crop",
    "arcface": "ArcFace alignment",
    "dlib": "dlib chip",
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """A picture at the encoder's size; None where ``outcome`` says why there is none."""

    image: Picture | None
    outcome: str = ""
    """With an image: what is worth counting about it, as ``several faces``."""
    detail: str = ""
    measured: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Geometry(Protocol):
    """Picklable; ``columns`` are the names of what is measured on every picture encoded."""

    @property
    def facts(self) -> GeometryFacts: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def __call__(self, pixels: Picture, name: str = "", /) -> Prepared: ...


@dataclass(frozen=True)
class Whole:
    """All of the picture, by the encoder's own way to its size."""

    wanted: Preprocessing

    @property
    def facts(self) -> GeometryFacts:
        return GeometryFacts(name="whole picture")

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def __call__(self, pixels: Picture, name: str = "", /) -> Prepared:
        return Prepared(fitted(pixels, self.wanted))


@dataclass(frozen=True)
class FaceCut:
    """The face that ``detector`` finds, cut as ``cut`` says to exactly what the network takes."""

    cut: Cut
    wanted: Preprocessing
    detector: str = "dlib"
    """``dlib``, or the path of an ONNX file."""
    policy: str = "largest"
    coverage: float = 0.33
    most_padding: float = 0.15
    faces: str | None = None
    """A file of faces that were found already, in place of a detector."""

    def check(self) -> None:
        """Load the detector, so that what is wrong with it shows before any work."""
        if self.size < 32:
            raise DataError(f"a face of {self.size} pixels is too small for any encoder")
        if self.wanted.fixed and self.wanted.height != self.wanted.width:
            raise DataError(
                f"faces are cut to squares, the encoder takes {self.wanted.height} x "
                f"{self.wanted.width}: encode whole pictures with --face none"
            )
        self(np.zeros((64, 64, 3), np.uint8))
        if self.cut == "dlib":
            _chips()

    @property
    def size(self) -> int:
        return self.wanted.height if self.wanted.fixed else self.wanted.shorter or 0

    @property
    def facts(self) -> GeometryFacts:
        settings: dict[str, str | int | float] = {"size": self.size, "policy": self.policy}
        if self.cut == "crop":
            settings |= {"coverage": self.coverage, "most_padding": self.most_padding}
        if self.faces is not None:
            found, digest = "given faces", file_digest(Path(self.faces))
        else:
            found, digest = _detector(self.detector).name, _detector(self.detector).digest
        return GeometryFacts(
            name=_NAMES[self.cut], settings=settings, detector=found, detector_weights=digest
        )

    @property
    def columns(self) -> tuple[str, ...]:
        cropped = ("face_coverage", "face_padding", "face_ellipse") if self.cut == "crop" else ()
        return ("face_score", "faces_seen", *cropped)

    def __call__(self, pixels: Picture, name: str = "", /) -> Prepared:
        from efface.faces.face import Outcome

        finding = self._found(pixels, name)
        if finding.face is None:
            return Prepared(None, finding.outcome.value, finding.detail)
        seen = {"face_score": finding.face.score, "faces_seen": float(len(finding.faces))}
        remark = "several faces" if finding.outcome is Outcome.SEVERAL else ""
        if self.cut == "crop":
            return self._cropped(pixels, finding, seen, remark)
        return Prepared(self._aligned(pixels, finding.face), remark, measured=seen)

    def _found(self, pixels: Picture, name: str) -> Any:
        from efface.faces.find import find_faces, given_faces

        if self.faces is not None:
            return given_faces([pixels], [given_faces_of(self.faces).of(name)])[0]
        finder = _detector(self.detector)
        return find_faces([pixels], finder, self.policy)[0]  # type: ignore[arg-type]

    def _cropped(
        self, pixels: Picture, finding: Any, seen: Mapping[str, float], remark: str
    ) -> Prepared:
        from efface.faces.crop import crops
        from efface.faces.mask import box_shares, face_masks

        made = crops(
            [pixels], [finding], self.size, coverage=self.coverage, most_padding=self.most_padding
        )
        if not len(made):
            return Prepared(None, made.findings[0].outcome.value, made.findings[0].detail)
        ellipse = face_masks(made.landmarks, (self.size, self.size))
        achieved = {
            "face_coverage": made.coverage[0], "face_padding": made.padding[0],
            "face_ellipse": box_shares(ellipse, made.faces[0].box[None])[0],
        }  # fmt: skip
        return Prepared(made.pictures[0], remark, measured={**seen, **achieved})

    def _aligned(self, pixels: Picture, face: Any) -> Picture:
        from efface.faces.align import aligned

        cut: Picture = (
            _chips()([pixels], [face])
            if self.cut == "dlib"
            else aligned([pixels], face.landmarks[None], self.size)
        )[0]
        return cut


@lru_cache(maxsize=4)
def _detector(named: str) -> Any:
    """Loaded once in each process, on one thread: workers share the cores."""
    if named == "dlib":
        from efface.faces.dlib_detector import open_dlib

        return open_dlib()
    from efface.faces.onnx_detector import open_detector

    return open_detector(named, threads=1)


@lru_cache(maxsize=1)
def _chips() -> Any:
    from efface.faces.dlib_chips import open_chips

    return open_chips()
