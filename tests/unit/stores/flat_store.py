"""A store of the tests' own: three arrays in a folder. It keeps the whole contract, slowly."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from efface.errors import StoreError
from efface.stores.contract import Chunk, Done, Job, Part, Shape

NAMES = ("vectors", "ids", "present")


def save(
    folder: Path, vectors: np.ndarray, ids: np.ndarray, present: np.ndarray | None = None
) -> Path:
    folder.mkdir()
    there = np.ones(len(vectors), bool) if present is None else present
    for name, array in zip(NAMES, (vectors, ids, there), strict=True):
        np.save(folder / f"{name}.npy", array)
    return folder


def load(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    vectors, ids, present = (np.load(folder / f"{name}.npy") for name in NAMES)
    return vectors, ids, present


@dataclass
class FlatSource:
    kind: ClassVar[str] = "flat"
    folder: Path

    @property
    def place(self) -> str:
        return str(self.folder)

    @property
    def shape(self) -> Shape:
        vectors = load(self.folder)[0]
        return Shape(*vectors.shape, str(vectors.dtype))

    def fingerprint(self) -> str:
        files = (self.folder / f"{name}.npy" for name in NAMES)
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

    def parts(self, rows: int) -> Sequence[Part]:
        total = self.shape.rows
        starts = range(0, total, rows)
        return [Part(i, start, min(rows, total - start)) for i, start in enumerate(starts)]

    def read(self, part: Part) -> Chunk:
        rows = slice(part.start, part.start + part.rows)
        vectors, ids, present = (array[rows] for array in load(self.folder))
        vectors[~present] = 0
        return Chunk(vectors, ids, ids.tolist(), None if present.all() else present)

    def select(self, chunk: Chunk, rows: np.ndarray) -> Chunk:
        present = None if chunk.present is None else chunk.present[rows]
        return Chunk(chunk.vectors[rows], chunk.rest[rows], chunk.rest[rows].tolist(), present)

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], np.ndarray]:
        vectors, ids, present = load(self.folder)
        there = np.flatnonzero(present)
        chosen = np.sort(rng.choice(there, min(rows, len(there)), replace=False))
        return ids[chosen].tolist(), vectors[chosen]


@dataclass
class FlatSink:
    folder: Path

    @property
    def place(self) -> str:
        return str(self.folder)

    @property
    def work(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.efface-work")

    def begin(self, job: Job, *, resume: bool) -> Sequence[Done]:
        text = json.dumps(asdict(job))
        held = self.folder if self.folder.exists() else self.work
        if held is self.folder and not (resume or self.work.exists()):
            raise StoreError(f"{self.place}: is there already: give --resume or another name")
        if not (held / "job").exists():
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir()
            _put(self.work / "job", text.encode())
        elif (held / "job").read_text() != text:
            raise StoreError(f"{self.place}: holds other work")
        return self._journal(held)

    def _journal(self, held: Path) -> list[Done]:
        files = sorted(held.glob("done-*"), key=lambda path: int(path.name[5:]))
        return [Done(**json.loads(path.read_text())) for path in files]

    def prepare(self, part: Part, chunk: Chunk, vectors: np.ndarray) -> str:
        there = np.ones(len(vectors), bool) if chunk.present is None else chunk.present
        for name, array in zip(NAMES, (vectors, chunk.rest, there), strict=True):
            np.save(self.work / f"{name}-{part.index}.npy", array)
        return f"{part.index}"

    def commit(self, part: Part, prepared: str, done: Done) -> None:
        if prepared != str(part.index) or len(list(self.work.glob("done-*"))) != part.index:
            raise AssertionError("out of order")
        _put(self.work / f"done-{part.index}", json.dumps(asdict(done)).encode())

    def finish(self) -> None:
        if not self.folder.exists():
            shown = self.work / "shown"
            shutil.rmtree(shown, ignore_errors=True)
            shown.mkdir()
            count = len(self._journal(self.work))
            for name in NAMES:
                pieces = [np.load(self.work / f"{name}-{i}.npy") for i in range(count)]
                whole = np.concatenate(pieces, dtype=pieces[0].dtype)  # keeps the byte order
                np.save(shown / f"{name}.npy", whole)
            for path in (self.work / "job", *self.work.glob("done-*")):
                shutil.copy(path, shown)
            shown.rename(self.folder)
        shutil.rmtree(self.work, ignore_errors=True)

    def written(self, part: Part, done: Done) -> np.ndarray:
        vectors, _, present = load(self.folder)
        start = sum(d.rows for d in self._journal(self.folder)[: part.index])
        rows = slice(start, start + done.rows)
        return vectors[rows][present[rows]]

    def source(self) -> FlatSource:
        return FlatSource(self.folder)

    def swap(self, live: str) -> None:
        raise StoreError(f"{live}: a flat store has no live name")


def _put(path: Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(data)
    os.replace(partial, path)
