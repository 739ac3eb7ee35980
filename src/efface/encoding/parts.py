"""Parts of the result, each whole or not there: what a later run finds it does not do again."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from efface.encoding.prepare import Left, Row
from efface.stores import disk
from efface.types import Floats

PART_ROWS = 2048


@dataclass(frozen=True)
class Shape:
    """The columns of the result."""

    dimension: int
    dtype: str
    extra: tuple[str, ...]
    measured: tuple[str, ...]

    @property
    def schema(self) -> Any:
        number = {"float16": pa.float16(), "float32": pa.float32()}[self.dtype]
        return pa.schema(
            [
                ("name", pa.string()),
                ("identity", pa.string()),
                ("embedding", pa.list_(number, self.dimension)),
                ("width", pa.int32()),
                ("height", pa.int32()),
                ("phash", pa.binary(32)),
                *((name, pa.float32()) for name in self.measured),
                *((name, pa.string()) for name in self.extra),
            ]
        )

    def table(self, rows: Sequence[Row], vectors: Floats) -> Any:
        """Rows and their vectors as an Arrow table."""
        schema = self.schema
        flat = pa.array(np.ascontiguousarray(vectors, self.dtype).reshape(-1))
        columns = [
            pa.array([row.entry.name for row in rows], pa.string()),
            pa.array([row.entry.identity for row in rows], pa.string()),
            pa.FixedSizeListArray.from_arrays(flat, self.dimension),
            pa.array([row.width for row in rows], pa.int32()),
            pa.array([row.height for row in rows], pa.int32()),
            pa.array([row.phash for row in rows], pa.binary(32)),
        ]
        columns += [pa.array([row.measured[i] for row in rows], pa.float32())
                    for i in range(len(self.measured))]  # fmt: skip
        columns += [pa.array([row.entry.extra[i] for row in rows], pa.string())
                    for i in range(len(self.extra))]  # fmt: skip
        return pa.table(columns, schema=schema)


@dataclass
class Note:
    """What a part holds beside its rows."""

    left: list[Left] = field(default_factory=list)
    treated: Counter[str] = field(default_factory=Counter)


class Parts:
    """The folder of parts. Part k holds ``batches`` batches of the listing, from k * batches on."""

    def __init__(self, folder: Path, shape: Shape, batches: int) -> None:
        self.folder = folder
        self.shape = shape
        self.batches = batches

    def held(self) -> int:
        """How many parts there are, from the first on without a gap."""
        count = 0
        while self.file(count).exists() and self.note_file(count).exists():
            count += 1
        return count

    def clear(self) -> None:
        """Throw away what belongs to no job."""
        for path in self.folder.iterdir():
            if path.stem.isdigit():
                path.unlink()

    def write(self, index: int, table: Any, note: Note) -> None:
        """The note first: a part counts when its rows have their name."""
        plain = {"left": [asdict(one) for one in note.left], "treated": dict(note.treated)}
        with disk.writing(self.folder):
            disk.write_whole(self.note_file(index), msgspec.json.encode(plain))
            partial = self.file(index).with_suffix(".partial")
            pq.write_table(table, partial, compression="none", use_dictionary=False)
            disk.flush(partial)
            os.replace(partial, self.file(index))

    def note(self, index: int) -> Note:
        held = msgspec.json.decode(self.note_file(index).read_bytes())
        return Note([Left(**one) for one in held["left"]], Counter(held["treated"]))

    def file(self, index: int) -> Path:
        return self.folder / f"{index:08}.parquet"

    def note_file(self, index: int) -> Path:
        return self.folder / f"{index:08}.json"
