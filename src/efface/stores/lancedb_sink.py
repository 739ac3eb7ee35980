"""A new LanceDB table, written in a work folder beside it and shown by one rename.

The table grows by one of Lance's own versions per part. The journal notes the version after each
part; what a death left behind the last noted one is undone by going back to that version.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from efface.errors import EffaceError, EffaceWarning, StoreError
from efface.extras import need
from efface.stores import disk, swapping
from efface.stores.contract import Chunk, Done, Job, Part
from efface.stores.filesink import FileSink
from efface.stores.lancedb import LanceSource, source_of
from efface.stores.lancedb_table import folder_of, open_table, reaching, with_values
from efface.stores.workfolder import Entry

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_EMBEDDING_FUNCTIONS = b"embedding_functions"
_HIDDEN = "data"


class LanceSink(FileSink):
    """``target`` is the folder in which LanceDB keeps the table."""

    kind: ClassVar[str] = "lancedb"

    def __init__(self, target: Path, read_from: LanceSource) -> None:
        super().__init__(target, read_from)
        self._open: Any = None
        self._seen: set[Path] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_open": None, "_seen": set()}

    @property
    def place(self) -> str:
        return f"lancedb:{self.target.parent}#{self.target.name.removesuffix('.lance')}"

    @property
    def hidden(self) -> Path:
        """The database in the work folder; its only table is the one to be."""
        return self.work.path / "db"

    @property
    def prepared(self) -> Path:
        return self.work.path / "parts"

    # --- begin and go on ----------------------------------------------------------------------

    def start(self, job: Job) -> None:
        self._say_what_stays_behind()
        self.prepared.mkdir(exist_ok=True)
        schema = self.read_from.schema()
        metadata = dict(schema.metadata or {})
        metadata.pop(_EMBEDDING_FUNCTIONS, None)
        with reaching(self.place):
            database = need("lancedb", "lancedb").connect(str(self.hidden))
            self._open = database.create_table(_HIDDEN, schema=schema.with_metadata(metadata))

    def _say_what_stays_behind(self) -> None:
        found = self.read_from.indexes()
        if found:
            warnings.warn(
                f"{self.place}: indexes are not carried over, for they were trained on raw "
                f"vectors or their settings are not known: {', '.join(found)}; make them again "
                "with create_index",
                EffaceWarning,
                stacklevel=2,
            )
        if _EMBEDDING_FUNCTIONS in (self.read_from.schema().metadata or {}):
            warnings.warn(
                f"{self.place}: the table's embedding functions are not carried over: they would "
                "add raw vectors to it",
                EffaceWarning,
                stacklevel=2,
            )

    def resume(self, entries: Sequence[Entry]) -> None:
        """Back to the version of the last part that counts, if there is anything behind it."""
        shutil.rmtree(self.prepared, ignore_errors=True)
        self.prepared.mkdir()
        wanted = int(entries[-1].extra["version"]) if entries else 1
        try:
            with reaching(self.place):
                table = self._table()
                if table.version != wanted:
                    table.checkout(wanted)
                    table.restore()
                sound = table.count_rows() == sum(entry.done.rows for entry in entries)
        except EffaceError:
            sound = False
        if not sound:
            raise StoreError(
                f"{self.work.path}: what an earlier run left is damaged: remove that folder to "
                "start afresh"
            )

    # --- parts --------------------------------------------------------------------------------

    def prepare(self, part: Part, chunk: Chunk, vectors: NDArray[Any]) -> Any:
        """As an Arrow file in the work folder, so that parts in waiting take no memory."""
        import pyarrow as pa

        rows = with_values(chunk.rest, self.read_from.vectors, vectors, chunk.present)
        path = self.prepared / f"{part.index}.arrow"
        partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
        with disk.writing(self.place):
            with pa.ipc.new_file(str(partial), rows.schema) as file:
                file.write_table(rows)
            os.replace(partial, path)
        return path.name

    def absorb(self, part: Part, prepared: Any) -> tuple[dict[str, Any], list[Path]]:
        import pyarrow as pa

        path = self.prepared / str(prepared)
        table = self._table()
        with reaching(self.place), pa.memory_map(str(path)) as mapped:
            rows = pa.ipc.open_file(mapped).read_all()
            if len(rows):
                table.add(rows)
            version = int(table.version)
        path.unlink()
        return {"version": version}, self._new_files()

    def _new_files(self) -> list[Path]:
        """What Lance wrote since the last part; it does not flush by itself."""
        now = {path for path in self.hidden.rglob("*") if path.is_file()}
        new, self._seen = now - self._seen, now
        return sorted(new)

    def written(self, part: Part, done: Done) -> NDArray[Any]:
        chunk = self.source().read(Part(part.index, self.start_of(part), done.rows))
        return np.asarray(chunk.vectors if chunk.present is None else chunk.vectors[chunk.present])

    # --- the end ------------------------------------------------------------------------------

    def complete(self) -> Path:
        made = folder_of(self.hidden, _HIDDEN)
        for path in self._new_files():
            disk.flush(path)
        disk.flush(made)
        self._open = None
        return made

    def open(self, path: Path) -> LanceSource:
        read_from = self.read_from
        return source_of(
            path.parent, path.name.removesuffix(".lance"), read_from.vectors.name, read_from.key
        )

    def swap(self, live: str) -> None:
        """By exchanging two folders. Who has the live table open has to open it again."""
        swapping.swap(self.target, folder_of(self.target.parent, check_name(live)))

    def _table(self) -> Any:
        if self._open is None:
            self._open = open_table(self.hidden, _HIDDEN)
        return self._open


def check_name(table: str) -> str:
    if not _NAME.fullmatch(table) or table.startswith("."):
        raise StoreError(
            f"lancedb: {table!r} is no name for a table: use letters, digits, _ - and ."
        )
    return table
