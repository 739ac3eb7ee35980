"""``.npz``: named arrays in a zip. Pickled objects are never loaded."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from efface.data.table import readable
from efface.errors import DataError

REMEDY = "the file is damaged or not what its name says: write it again"
_ENDING = ".npy"


@dataclass(frozen=True)
class Header:
    """The first bytes of a stored array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


class NpzTable:
    """Arrays of one npz file; their kinds are known from the headers alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)

    def vector_columns(self) -> dict[str, bool]:
        return {
            name: header.dtype.kind == "f"
            for name, header in self.headers.items()
            if len(header.shape) == 2 and header.dtype.kind in "fiu"
        }

    def label_columns(self) -> list[str]:
        # An array of another length than the vectors (a version, a list of classes) is no column.
        lengths = {self.headers[name].shape[0] for name in self.vector_columns()}
        return [
            name
            for name, header in self.headers.items()
            if len(header.shape) == 1
            and header.dtype.kind in "biufUS"
            and (header.shape[0] in lengths or not lengths)
        ]

    def names(self) -> list[str]:
        return list(self.headers)

    def vectors(self, name: str) -> NDArray[Any]:
        return self._read(name)

    def columns(self, names: Sequence[str], identity: str) -> dict[str, NDArray[Any]]:
        return {name: self._read(name) for name in names}

    @cached_property
    def headers(self) -> dict[str, Header]:
        with readable(self.place, REMEDY), zipfile.ZipFile(self.path) as archive:
            return {
                member.removesuffix(_ENDING): self._header(archive, member)
                for member in archive.namelist()
                if member.endswith(_ENDING)
            }

    def _header(self, archive: zipfile.ZipFile, member: str) -> Header:
        with archive.open(member) as stream:
            return read_header(stream)

    def _read(self, name: str) -> NDArray[Any]:
        refuse_objects(self.headers[name].dtype, self.place, name)
        with (
            readable(self.place, REMEDY),
            zipfile.ZipFile(self.path) as archive,
            archive.open(name + _ENDING) as stream,
        ):
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
            # The checksum is compared at the end of the member, and only if one gets there.
            if stream.read(1):
                raise DataError(f"{self.place}: array {name!r} has more bytes than it says")
            return array


def read_header(stream: IO[bytes]) -> Header:
    """Shape, order and type of the array that starts here."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return Header(*np.lib.format.read_array_header_1_0(stream))
    if version == (2, 0):
        return Header(*np.lib.format.read_array_header_2_0(stream))
    raise ValueError(f"array format {version} is only used for tables with named fields")


def refuse_objects(dtype: np.dtype[Any], place: str, name: str) -> None:
    if dtype.hasobject:
        raise DataError(
            f"{place}: array {name!r} holds pickled Python objects, which are never loaded: save "
            "it as numbers or text, for example np.asarray(values, dtype=str)"
        )
