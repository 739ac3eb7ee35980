"""Vectors that were computed already, by the content of the altered picture: on the disk, in parts
that are whole or not there."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from efface.attributing.lens import Lens
from efface.attributing.stimuli import code_digest
from efface.faces.face import Outcome
from efface.facts import EncoderFacts
from efface.stores import disk
from efface.types import Floats

KEY = 16


def key_of(strip: str, form: str) -> bytes:
    """The name of one altered picture: 128 bits of its content's SHA-256."""
    return hashlib.sha256(f"{strip} {form}".encode()).digest()[:KEY]


def folder_of(cache: Path, facts: EncoderFacts, lens: Lens) -> Path:
    """One folder for each encoder, lens and state of the code that alters pictures."""
    told = [facts, lens.seen, lens.size, code_digest()]
    digest = hashlib.sha256(msgspec.json.encode(told)).hexdigest()
    return cache / f"vectors-{digest[:32]}"


class Vectors:
    """float32 rows by key. Parts are read through the page cache; only keys are held."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self.folder, self.dimension = folder, dimension
        with disk.writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._parts: list[Any] = []
        self._place: dict[bytes, tuple[int, int]] = {}
        self._keys: list[bytes] = []
        self._fresh: list[Floats] = []
        self._next = 0
        for file in sorted(folder.glob("*.keys")):
            self._next = max(self._next, int(file.stem) + 1)
            self._read(file)

    def __contains__(self, key: bytes) -> bool:
        return key in self._place

    def add(self, keys: Sequence[bytes], vectors: Floats) -> None:
        """Held until the next flush."""
        self._keys += keys
        self._fresh.append(np.asarray(vectors, np.float32))

    @property
    def waiting(self) -> int:
        return len(self._keys)

    def flush(self) -> None:
        """Write what waits as one part: vectors first, it counts when its keys are there."""
        if not self._keys:
            return
        name, stack = f"{self._next:08}", np.concatenate(self._fresh)
        with disk.writing(self.folder):
            partial = self.folder / f"{name}.partial"
            with partial.open("wb") as file:
                np.save(file, stack)
            partial.replace(self.folder / f"{name}.npy")
            disk.write_whole(self.folder / f"{name}.keys", b"".join(self._keys))
        self._next += 1
        self._keys, self._fresh = [], []
        self._read(self.folder / f"{name}.keys")

    def take(self, keys: Sequence[bytes | None]) -> Floats:
        """One row for each key; NaN where there is none."""
        out = np.full((len(keys), self.dimension), np.nan, np.float32)
        by_part: dict[int, list[tuple[int, int]]] = {}
        for at, key in enumerate(keys):
            place = None if key is None else self._place.get(key)
            if place is not None:
                by_part.setdefault(place[0], []).append((at, place[1]))
        for part, pairs in by_part.items():
            ats, rows = zip(*pairs, strict=True)
            out[list(ats)] = self._parts[part][list(rows)]
        return out

    def _read(self, file: Path) -> None:
        """A part that is damaged is passed over: its vectors are computed again."""
        try:
            names = file.read_bytes()
            stack = np.load(file.with_suffix(".npy"), mmap_mode="r")
        except (OSError, ValueError, EOFError):
            return
        if stack.shape != (len(names) // KEY, self.dimension) or stack.dtype != np.float32:
            return
        number = len(self._parts)
        self._parts.append(stack)
        for row in range(len(stack)):
            self._place[names[row * KEY : (row + 1) * KEY]] = (number, row)


class Swaps:
    """What became of every context match that was tried: outcome and share covered, by key."""

    def __init__(self, cache: Path) -> None:
        self.file = cache / f"swaps-{code_digest()[:32]}.json"
        try:
            held = msgspec.json.decode(self.file.read_bytes(), type=dict[str, tuple[str, float]])
        except (OSError, msgspec.MsgspecError):
            held = {}
        self.held: dict[str, tuple[str, float]] = held
        self._dirty = False

    def put(self, key: str, outcome: Outcome, covered: float) -> None:
        self.held[key] = (outcome.value, covered)
        self._dirty = True

    def failed(self, key: str) -> bool:
        return key in self.held and self.held[key][0] != Outcome.ONE.value

    def flush(self) -> None:
        if self._dirty:
            with disk.writing(self.file):
                disk.write_whole(self.file, msgspec.json.encode(self.held))
            self._dirty = False
