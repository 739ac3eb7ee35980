"""A CSV (or TSV) list of pictures: a path and an identity in each row, and columns to keep."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from efface.errors import DataError
from efface.pictures.entry import Entry
from efface.pictures.identity import clean
from efface.registry import nearest

_USUAL = ("path", "picture", "image", "file", "filename", "name")
_RESERVED = ("name", "identity", "embedding", "width", "height", "phash")


class Listing:
    """Relative paths start at the folder of the list."""

    rule = "a column of the list"

    def __init__(self, path: Path, identity: str = "identity", picture: str | None = None) -> None:
        self.place = str(path)
        self.path = path
        with self._reader() as rows:
            head: list[str] = next(rows, [])
        if not head or len(set(head)) < len(head):
            raise DataError(f"{path}: needs one row of distinct column names first")
        self._head = head
        self._identity = self._column(identity)
        usual = [name for name in head if name.lower() in _USUAL and name != identity]
        self._picture = self._column(picture or (usual[0] if usual else "path"))
        self._kept = [
            i for i, name in enumerate(head)
            if i not in (self._identity, self._picture) and name not in _RESERVED
        ]  # fmt: skip
        self.columns = tuple(head[i] for i in self._kept)
        self.rule = f"the column {identity!r} of the list"

    def entries(self) -> Iterator[Entry]:
        with self._reader() as rows:
            next(rows)
            for line, row in enumerate(rows, start=2):
                if len(row) != len(self._head):
                    raise DataError(
                        f"{self.place}: row {line} has {len(row)} cells where the first has "
                        f"{len(self._head)}: write the list again"
                    )
                yield self._entry(row, line)

    def passed_over(self) -> dict[str, int]:
        return {}

    def _entry(self, row: list[str], line: int) -> Entry:
        path, identity = row[self._picture].strip(), clean(row[self._identity])
        if not path:
            raise DataError(f"{self.place}: row {line} names no picture: fill it in or remove it")
        problem = "" if identity else f"row {line} of the list names nobody"
        file = str(self.path.parent / path)
        return Entry(path, identity, file, problem=problem, extra=tuple(row[i] for i in self._kept))

    def _column(self, name: str) -> int:
        if name not in self._head:
            raise DataError(f"{self.place}: no column {name!r}{nearest(name, self._head)}")
        return self._head.index(name)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        """Rows that are not empty; a file that is no such list is refused."""
        tabs = self.path.suffix.lower() == ".tsv"
        try:
            with open(self.path, newline="", encoding="utf-8-sig") as file:
                rows = csv.reader(file, delimiter="\t" if tabs else ",", strict=True)
                yield (row for row in rows if row)
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(
                f"{self.place}: is no CSV list in UTF-8 ({error}): save it as one"
            ) from error
        except OSError as error:
            raise DataError(f"{self.place}: cannot be read ({error.strerror}): check it") from error
