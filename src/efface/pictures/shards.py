"""Pictures in tar archives, as WebDataset keeps them: read in place, never unpacked.

Files of one name up to the first dot belong together: ``a/0001.jpg`` with ``a/0001.cls`` (its
label) or ``a/0001.json``.
"""

from __future__ import annotations

import json
import os
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from efface.errors import DataError
from efface.pictures.entry import Entry, is_picture, printable
from efface.pictures.identity import Rule, clean, settled

_SAMPLE = 1000
_LABEL = 1 << 20
_LABELS = (".cls", ".txt", ".json")


class Shards:
    """Archives in the order of their names; members in their own."""

    columns: tuple[str, ...] = ()

    def __init__(self, files: Sequence[Path], place: str, wanted: Rule, field: str) -> None:
        self.place = place
        self.files = files
        self.field = field
        self._passed: Counter[str] = Counter()
        self._rule = wanted
        sample = [self._path(one) for one in islice(self._pictures(), _SAMPLE)]
        if not sample:
            raise DataError(f"{place}: the archives hold no pictures")
        self._rule = self._settled(wanted, sample)
        self.rule = self._rule.words

    def entries(self) -> Iterator[Entry]:
        self._passed.clear()
        for shard, member, label in self._pictures():
            path = self._path((shard, member, label))
            identity = label if self._rule.by == "label" else self._rule.identity(path)
            problem = "" if identity else self._rule.problem
            if not member.isreg():
                problem = "is a link within its archive: pack the file itself"
            yield Entry(f"{printable(shard.name)}/{path}", identity, str(shard),
                        member.offset_data, member.size, problem)  # fmt: skip

    def passed_over(self) -> dict[str, int]:
        return dict(self._passed)

    def _settled(self, wanted: Rule, sample: list[str]) -> Rule:
        """Labels, if the archives have them and nothing else is asked for."""
        labelled = any(label for _, _, label in islice(self._pictures(), 1))
        if wanted.by == "auto" and labelled:
            return Rule("label")
        return settled(wanted, sample, self.place)

    @staticmethod
    def _path(one: tuple[Path, tarfile.TarInfo, str]) -> str:
        return printable(one[1].name.removeprefix("./"))

    def _pictures(self) -> Iterator[tuple[Path, tarfile.TarInfo, str]]:
        """Every picture with its archive and its label, "" where it has none."""
        for shard in self.files:
            with _opened(shard) as archive:
                members = (m for m in _members(shard, archive) if not m.isdir())
                for _, group in groupby(members, key=_key):
                    yield from self._sample(shard, archive, list(group))

    def _sample(
        self, shard: Path, archive: tarfile.TarFile, group: list[tarfile.TarInfo]
    ) -> Iterator[tuple[Path, tarfile.TarInfo, str]]:
        pictures = [m for m in group if is_picture(os.path.basename(m.name))]
        others = {os.path.splitext(m.name)[1].lower(): m for m in group if m not in pictures}
        self._passed.update(printable(end) for end in others if end not in _LABELS)
        if not pictures:
            self._passed.update(printable(end) for end in others if end in _LABELS)
            return
        label = self._label(shard, archive, others)
        yield from ((shard, member, label) for member in pictures)

    def _label(
        self, shard: Path, archive: tarfile.TarFile, others: dict[str, tarfile.TarInfo]
    ) -> str:
        member = next((others[end] for end in _LABELS if end in others), None)
        if member is None or not member.isreg() or member.size > _LABEL:
            return ""
        held = archive.extractfile(member)
        text = held.read() if held is not None else b""
        try:
            plain = text.decode("utf-8")
            return clean(self._of_json(plain) if member.name.endswith(".json") else plain)
        except ValueError as error:
            raise DataError(
                f"{shard}: {printable(member.name)} is no label in UTF-8 ({error}): write it again"
            ) from error

    def _of_json(self, text: str) -> str:
        found: Any = json.loads(text)
        value = found.get(self.field, "") if isinstance(found, dict) else ""
        return str(value)


def _key(member: tarfile.TarInfo) -> str:
    folder, _, file = member.name.rpartition("/")
    return f"{folder}/{file.split('.')[0]}"


def _opened(shard: Path) -> tarfile.TarFile:
    """An archive that can be read from the middle: a compressed one cannot."""
    try:
        return tarfile.open(shard, "r:")
    except tarfile.ReadError as error:
        raise DataError(
            f"{shard}: is no plain tar archive ({error}): unpack a compressed one with gunzip first"
        ) from error
    except OSError as error:
        raise DataError(f"{shard}: cannot be read ({error.strerror}): check it") from error


def _members(shard: Path, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Headers one after another; what tarfile keeps of them is let go."""
    size = os.stat(shard).st_size
    try:
        while (member := archive.next()) is not None:
            yield member
            archive.members.clear()  # type: ignore[attr-defined]
    except (tarfile.TarError, OSError) as error:
        raise DataError(f"{shard}: is damaged ({error}): get a sound copy") from error
    if archive.offset > size:
        raise DataError(f"{shard}: ends in the middle of a member: get a sound copy")
