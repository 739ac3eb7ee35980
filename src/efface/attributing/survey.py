"""The one pass over the pictures: find the face, cut the crop, keep both. Taken up again where it
stopped, and not made again for the same pictures."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from efface.attributing.material import Left, Material, Part, described
from efface.attributing.settings import Settings
from efface.attributing.stimuli import Tell, code_digest
from efface.encoders.weights import file_digest
from efface.encoding.ahead import ahead
from efface.encoding.given import given_faces_of
from efface.encoding.prepare import Batch
from efface.encoding.spool import spooled
from efface.errors import DataError, PictureError
from efface.faces.crop import Crops, crops
from efface.faces.face import Finding, Outcome, Pixels
from efface.faces.find import find_faces, given_faces
from efface.pictures.decode import Decoded, Limits, decode
from efface.pictures.entry import Entry, Source
from efface.pictures.likeness import perceptual_hash
from efface.scale.runner import Processes, Runner, Serial, in_order
from efface.stores import disk

BATCH = 64


@dataclass(frozen=True)
class Finder:
    """How the face in a picture is found."""

    detector: str = "dlib"
    """``dlib``, or the path of an ONNX file."""
    policy: str = "largest"
    faces: str | None = None
    """A file of faces that were found already, in place of a detector."""

    def check(self) -> None:
        """Load what finds faces, so that what is wrong with it shows before any work."""
        self.find(np.zeros((64, 64, 3), np.uint8), "")

    def find(self, pixels: Pixels, name: str) -> Finding:
        if self.faces is not None:
            return given_faces([pixels], [given_faces_of(self.faces).of(name)])[0]
        return find_faces([pixels], _detector(self.detector), self.policy)[0]  # type: ignore[arg-type]

    @property
    def named(self) -> tuple[str, str]:
        """Name and digest of what finds faces."""
        if self.faces is not None:
            return "given faces", file_digest(Path(self.faces))
        found = _detector(self.detector)
        return found.name, found.digest


@dataclass(frozen=True)
class Look:
    """The task that worker processes run on a batch of pictures."""

    finder: Finder
    settings: Settings
    limits: Limits = field(default_factory=Limits)

    def __call__(self, batch: Batch) -> tuple[Part, Pixels]:
        left: list[Left] = []
        used: list[Entry] = []
        made: list[Crops] = []
        hashes: list[str] = []
        treated: Counter[str] = Counter()
        for entry in batch.entries:
            try:
                crop, phash, remarks = self._one(entry)
            except PictureError as error:
                left.append(Left(entry.name, entry.identity, error.kind, str(error)))
                continue
            used.append(entry)
            made.append(crop)
            hashes.append(phash)
            treated.update(remarks)
        together = _joined(made, self.settings.canvas)
        names, people = [e.name for e in used], [e.identity for e in used]
        rows = described(together, names, people, hashes)
        return Part(rows, left, dict(treated)), together.pictures

    def _one(self, entry: Entry) -> tuple[Crops, str, tuple[str, ...]]:
        """The crop of one picture, its perceptual hash, and what is worth counting about it."""
        decoded = decode(entry.read(), self.limits)
        try:
            return self._cropped(entry, decoded)
        except PictureError:
            raise
        except DataError as error:  # the finder itself was checked before the work
            raise PictureError("refused", str(error)) from error

    def _cropped(self, entry: Entry, decoded: Decoded) -> tuple[Crops, str, tuple[str, ...]]:
        finding = self.finder.find(decoded.pixels, entry.name)
        if finding.face is None:
            raise PictureError(finding.outcome.value, finding.detail)
        want = self.settings
        made = crops(
            [decoded.pixels], [finding], want.canvas, coverage=want.coverage,
            most_padding=want.most_padding,
        )  # fmt: skip
        if not len(made):
            raise PictureError(made.findings[0].outcome.value, made.findings[0].detail)
        phash = perceptual_hash(decoded.pixels).tobytes().hex()
        several = ("several faces",) * (finding.outcome is Outcome.SEVERAL)
        return made, phash, (*decoded.remarks, *several)


def _joined(made: list[Crops], side: int) -> Crops:
    """Crops of single pictures as those of one batch: rings are searched for side by side."""
    return Crops(
        np.concatenate([np.zeros((0, side, side, 3), np.uint8), *(m.pictures for m in made)]),
        np.arange(len(made)),
        tuple(face for m in made for face in m.faces),
        np.array([m.coverage[0] for m in made]),
        np.array([m.padding[0] for m in made]),
        tuple(finding for m in made for finding in m.findings),
    )


def survey(source: Source, look: Look, folder: Path, workers: int, tell: Tell) -> Material:
    """Every picture of the source, looked at once; parts in a folder that is named after all they
    depend on."""
    with disk.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    batches = spooled(source, folder / "listing.jsonl", BATCH)
    place = folder / f"faces-{_key(look, batches.digest)[:32]}"
    with disk.writing(place):
        place.mkdir(exist_ok=True)
    held = _held(place)
    done = min(len(held) * BATCH, batches.total)
    tell("faces", done, batches.total)
    wanted = min(workers, len(batches) - len(held))
    runner: Runner = Processes(wanted) if wanted > 1 else Serial()
    with runner, ahead(in_order(runner, look, batches[len(held) :])) as results:
        for part, stack in results:
            held.append(_keep(place, len(held), part, stack))
            done += len(part.rows) + len(part.left)
            tell("faces", done, batches.total)
    name, weights = look.finder.named
    return Material(
        held, Path(source.place).name or source.place, False, source.rule,
        tuple(source.passed_over().items()), name, weights,
    )  # fmt: skip


def _key(look: Look, listing: str) -> str:
    limits = (look.limits.max_pixels, look.limits.min_side)
    want = look.settings
    asked: list[Any] = [
        listing, look.finder.named, look.finder.policy, limits, want.canvas, want.coverage,
        want.most_padding, code_digest(),
    ]  # fmt: skip
    return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()


def _held(place: Path) -> list[tuple[str, Part]]:
    """Parts of an earlier run, from the first on; a damaged one and what follows is made again."""
    found: list[tuple[str, Part]] = []
    while (place / f"{len(found):06}.json").exists():
        crops_file = place / f"{len(found):06}.npy"
        try:
            data = (place / f"{len(found):06}.json").read_bytes()
            part = msgspec.json.decode(data, type=Part)
            rows = len(np.load(crops_file, mmap_mode="r"))
        except (OSError, ValueError, EOFError, msgspec.MsgspecError):
            break
        if rows != len(part.rows):
            break
        found.append((str(crops_file), part))
    return found


def _keep(place: Path, index: int, part: Part, stack: Pixels) -> tuple[str, Part]:
    """Crops first: a part counts when its rows have their name."""
    file = place / f"{index:06}.npy"
    with disk.writing(place):
        partial = file.with_suffix(".partial")
        with partial.open("wb") as out:
            np.save(out, stack)
        partial.replace(file)
        disk.write_whole(place / f"{index:06}.json", msgspec.json.encode(part))
    return str(file), part


@lru_cache(maxsize=2)
def _detector(named: str) -> Any:
    """Loaded once in each process, on one thread: workers share the cores."""
    if named == "dlib":
        from efface.faces.dlib_detector import open_dlib

        return open_dlib()
    from efface.faces.onnx_detector import open_detector

    return open_detector(named, threads=1)
