"""``.npz`` files: one member is replaced, every other one is copied, also those efface would never
load. Vectors that are not compressed are read where they lie."""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import IO, Any, ClassVar

from efface.data.npz import REMEDY, NpzTable, read_header
from efface.data.readers import existing
from efface.data.table import choose_vectors, decoded, readable
from efface.errors import DataError
from efface.stores import disk
from efface.stores.address import Address
from efface.stores.arrays import ArraySink
from efface.stores.contract import Shape
from efface.stores.filesource import check_kind, check_target
from efface.stores.inflate import Inflated
from efface.stores.npy import NpySource, check_matrix, dtype_name
from efface.stores.npyfile import Plain

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_BLOCK = 1 << 20
# Bytes that one compressed byte may stand for at the most.
_DENSEST = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
_UNKNOWN = 1 << 20


class NpzSource(NpySource):
    """Rows of one array of an npz file."""

    kind: ClassVar[str] = "npz"

    def __init__(self, path: Path, embedding: str | None = None) -> None:
        self.path = path
        self.name = choose_vectors(NpzTable(path), embedding)

    @cached_property
    def array(self) -> Plain | Inflated:  # type: ignore[override]
        with readable(self.place, REMEDY), zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(f"{self.name}.npy")
            with archive.open(info) as stream:
                header = read_header(stream)
                offset = stream.tell()
        check_matrix(header, self.place, self.name)
        size = offset + math.prod(header.shape) * header.dtype.itemsize
        if size != info.file_size:
            raise DataError(f"{self.place}: array {self.name!r} is not as long as it says")
        if size - offset > info.compress_size * _DENSEST.get(info.compress_type, _UNKNOWN):
            raise DataError(
                f"{self.place}: cannot be read (array {self.name!r} says it has {size} bytes, of "
                f"{info.compress_size} compressed ones): {REMEDY}"
            )
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            return Inflated(self.path, info.filename, offset, header)
        return Plain(self.path, _data_at(self.path, info) + offset, header)

    @property
    def shape(self) -> Shape:
        return Shape(self.array.rows, self.array.dim, dtype_name(self.array.dtype))


class NpzSink(ArraySink):
    kind: ClassVar[str] = "npz"

    def complete(self) -> Path:
        """Only now is the archive put together: its members follow one another."""
        packed = self.work.path / "packed.npz"
        source = self.read_from
        with zipfile.ZipFile(source.path) as old, zipfile.ZipFile(packed, "w") as new:
            for member in old.infolist():
                with new.open(_like(member), "w", force_zip64=True) as out:
                    if member.filename == f"{source.name}.npy":
                        _copy_file(self.array, out)
                        # Parts were read where they lie: the checksum is compared only here.
                        _each_block(source.place, old, member, lambda block: None)
                    else:
                        _each_block(source.place, old, member, out.write)
        disk.flush(packed)
        return packed

    def open(self, path: Path) -> NpzSource:
        return NpzSource(path, self.read_from.name)


def open_source(address: Address) -> NpzSource:
    return NpzSource(existing(address.location), address.embedding)


def open_sink(address: Address, source: Any) -> NpzSink:
    check_kind("npz", source)
    target = Path(address.location)
    check_target(source.path, target)
    return NpzSink(target, source)


def _data_at(path: Path, info: zipfile.ZipInfo) -> int:
    """Where a member's bytes begin: behind its local header, whose length is its own."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        head = file.read(_LOCAL_HEADER.size)
    if len(head) < _LOCAL_HEADER.size or head[:4] != b"PK\3\4":
        raise DataError(f"{path}: cannot be read (a member has no header): {REMEDY}")
    _, name, extra = _LOCAL_HEADER.unpack(head)
    return int(info.header_offset + _LOCAL_HEADER.size + name + extra)


def _copy_file(path: Path, out: IO[bytes]) -> None:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            out.write(block)


def _each_block(
    place: str, old: zipfile.ZipFile, member: zipfile.ZipInfo, use: Callable[[bytes], object]
) -> None:
    with readable(place, REMEDY):
        stream = old.open(member)
    with stream:
        for block in decoded(iter(lambda: stream.read(_BLOCK), b""), place, REMEDY):
            use(block)


def _like(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(member.filename, member.date_time)
    info.compress_type = member.compress_type
    info.external_attr = member.external_attr
    return info
