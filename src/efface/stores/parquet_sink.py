"""Parquet files made of parts: a file of one part is renamed, of several they are put one behind
the other as bytes, and only the footer is written anew."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from efface.data.parquet import REMEDY
from efface.data.table import readable
from efface.errors import StoreError
from efface.stores import disk
from efface.stores.contract import Chunk, Done, Job, Part
from efface.stores.filesink import FileSink
from efface.stores.parquet_file import ParquetRows, opened
from efface.stores.parquet_footer import MAGIC, footer_bytes, moved_group, read_footer
from efface.stores.parquet_pages import scan
from efface.stores.parquet_part import Style, style_of, write_part
from efface.stores.parquet_source import ParquetSource, located
from efface.stores.thrift import Reader, Struct, packed
from efface.stores.workfolder import Entry


class ParquetSink(FileSink):
    """A file for a file; for a folder, a folder of the same layout."""

    kind: ClassVar[str] = "parquet"

    def __init__(self, target: Path, read_from: ParquetSource) -> None:
        super().__init__(target, read_from)
        self._several: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_several": set()}

    def prepare(self, part: Part, chunk: Chunk, vectors: NDArray[Any]) -> Any:
        _, name = located(part)
        style = _style(self._read_path(name), self.read_from.name)
        final = self._part(part)
        partial = final.with_name(f"{final.name}.{secrets.token_hex(4)}")
        with disk.writing(self.place):
            try:
                write_part(partial, style, chunk.rest, vectors, chunk.present)
                os.replace(partial, final)
            finally:
                partial.unlink(missing_ok=True)
        return None

    def _part(self, part: Part) -> Path:
        return self.work.path / "parts" / f"{part.index:08}.parquet"

    def _read_path(self, name: str) -> Path:
        path: Path = self.read_from.path
        return path / name if name else path

    def _hidden(self, name: str) -> Path:
        out = self.work.path / "out"
        return out / name if name else out

    # --- parts into files ---------------------------------------------------------------------

    def start(self, job: Job) -> None:
        (self.work.path / "parts").mkdir()
        self._plan(job)

    def _plan(self, job: Job) -> None:
        """Which files are made of several parts."""
        seen: set[str] = set()
        for part in self.read_from.parts(job.part_rows):
            _, name = located(part)
            (self._several if name in seen else seen).add(name)

    def resume(self, entries: Sequence[Entry]) -> None:
        if self._job is not None:
            self._plan(self._job)
        for name, end in {e.extra["file"]: e.extra.get("end") for e in entries}.items():
            path = self._hidden(name)
            size = path.stat().st_size if path.exists() else -1
            if size < (end or 0):
                raise StoreError(
                    f"{self.work.path}: what an earlier run left is damaged: remove that folder "
                    "to start afresh"
                )
            if end is not None:
                os.truncate(path, end)

    def absorb(self, part: Part, prepared: Any) -> tuple[dict[str, Any], list[Path]]:
        _, name = located(part)
        made, hidden = self._part(part), self._hidden(name)
        hidden.parent.mkdir(parents=True, exist_ok=True)
        if name not in self._several:
            os.replace(made, hidden)
            return {"file": name}, [hidden]
        end, groups = self._appended(made, hidden, name)
        made.unlink()
        packed_groups = [base64.b64encode(packed(group)).decode() for group in groups]
        return {"file": name, "end": end, "groups": packed_groups}, [hidden]

    def _appended(self, made: Path, hidden: Path, name: str) -> tuple[int, list[Struct]]:
        """The part's column chunks behind what is there; the row groups at their new place."""
        last = self._entries[-1].extra if self._entries else {}
        at = last["end"] if last.get("file") == name else len(MAGIC)
        footer = read_footer(made)
        size = sum(column.size for group in footer.groups for column in group.columns)
        with made.open("rb") as source, hidden.open("r+b" if at > len(MAGIC) else "wb") as target:
            disk.write_all(target.fileno(), MAGIC, 0)
            disk.copy_range(source.fileno(), target.fileno(), len(MAGIC), at, size)
        by = at - len(MAGIC)
        return at + size, [moved_group(group.raw, by) for group in footer.groups if group.rows]

    # --- the end ------------------------------------------------------------------------------

    def complete(self) -> Path:
        groups: dict[str, list[Struct]] = {}
        ends: dict[str, int] = {}
        for entry in self._entries:
            if "end" in entry.extra:
                name = entry.extra["file"]
                ends[name] = entry.extra["end"]
                groups.setdefault(name, []).extend(map(_unpacked, entry.extra["groups"]))
        for name, end in ends.items():
            self._end_file(name, end, groups[name])
        self._copy_empty()
        return self._hidden("")

    def _end_file(self, name: str, end: int, groups: Sequence[Struct]) -> None:
        style = _style(self._read_path(name), self.read_from.name)
        hidden = self._hidden(name)
        with hidden.open("r+b") as file:
            file.truncate(end)
            disk.write_all(file.fileno(), footer_bytes(style.template.raw, groups), end)
        disk.flush(hidden)

    def _copy_empty(self) -> None:
        """Files without rows are no part of anything; they are copied as they are."""
        for name in self.read_from.files:
            hidden = self._hidden(name)
            if not hidden.exists():
                hidden.parent.mkdir(parents=True, exist_ok=True)
                hidden.write_bytes(self._read_path(name).read_bytes())
                disk.flush(hidden)
                disk.flush(hidden.parent)

    def written(self, part: Part, done: Done) -> NDArray[Any]:
        _, name = located(part)
        path = self.target / name if name else self.target
        shape = self.read_from.shape
        start = self.start_of(part)
        found = opened(path).vectors(self.read_from.name, shape.dim, start, done.rows)
        return found.vectors if found.present is None else found.vectors[found.present]

    def open(self, path: Path) -> ParquetSource:
        return ParquetSource(path, self.read_from.name)


def _unpacked(text: str) -> Struct:
    return Reader(base64.b64decode(text)).struct()


def _style(path: Path, vector: str) -> Style:
    return _style_of(opened(path), vector)


@lru_cache(maxsize=4)
def _style_of(file: ParquetRows, vector: str) -> Style:
    return style_of(file.footer, file.schema, vector, _has_checksums(file, vector))


def _has_checksums(file: ParquetRows, vector: str) -> bool:
    """Does the first page of the vectors carry one?"""
    leaf = file.leaf(vector) or 0
    if not file.footer.groups:
        return False
    with readable(file.place, REMEDY), file.path.open("rb") as stream:
        first = next(scan(stream.fileno(), file.footer.groups[0].columns[leaf]), None)
        return first is not None and first.checksum is not None
