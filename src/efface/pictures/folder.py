"""A folder of pictures, with folders in it or not, listed in the order of names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from efface.errors import DataError
from efface.pictures.entry import Entry, ending_of, is_picture, printable
from efface.pictures.identity import Rule, settled

_SAMPLE = 1000


class Folder:
    """Folders are read one at a time, so that a million pictures need no list of a million."""

    columns: tuple[str, ...] = ()

    def __init__(self, path: Path, wanted: Rule) -> None:
        self.place = str(path)
        self.root = path
        self._passed: Counter[str] = Counter()
        sample = [relative for relative, _ in islice(self._walk(), _SAMPLE)]
        if not sample:
            seen = ", ".join(f"{n} {end}" for end, n in self._passed.most_common(5))
            raise DataError(f"{path}: holds no pictures{f' (but {seen})' if seen else ''}")
        self._rule = settled(wanted, sample, self.place)
        self.rule = self._rule.words

    def entries(self) -> Iterator[Entry]:
        self._passed.clear()
        for relative, file in self._walk():
            name = printable(relative)
            identity = self._rule.identity(name)
            problem = "" if identity else self._rule.problem
            yield Entry(name, identity, file, problem=problem)

    def passed_over(self) -> dict[str, int]:
        return dict(self._passed)

    def _walk(self) -> Iterator[tuple[str, str]]:
        yield from self._within(str(self.root), "", ())

    def _within(
        self, folder: str, relative: str, above: tuple[tuple[int, int], ...]
    ) -> Iterator[tuple[str, str]]:
        """Pictures in the order of names; a folder that a link leads back to is not entered."""
        here, found = self._listed(folder)
        if here in above:
            return
        for entry in found:
            inside = f"{relative}{entry.name}"
            if entry.is_dir():
                yield from self._within(entry.path, f"{inside}/", (*above, here))
            elif is_picture(entry.name):
                yield inside, entry.path
            else:
                self._passed[ending_of(entry.name)] += 1

    def _listed(self, folder: str) -> tuple[tuple[int, int], list[os.DirEntry[str]]]:
        try:
            stat = os.stat(folder)
            with os.scandir(folder) as found:
                return (stat.st_dev, stat.st_ino), sorted(found, key=lambda one: one.name)
        except OSError as error:
            raise DataError(
                f"{printable(folder)}: cannot be listed ({error.strerror}): without it nobody "
                "knows how many pictures are missing; give permission, or move it away"
            ) from error
