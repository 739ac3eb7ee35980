"""A part of a store as a small Parquet file of one row group, kept the way the source is kept.

Whole vectors are written as plain pages without a dictionary and without statistics, both of which
are a waste on random numbers: the bytes of the array behind levels that are known beforehand. Arrow
writes the other columns, and vectors among which some are missing.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from efface.stores.columns import column_of
from efface.stores.disk import write_all
from efface.stores.parquet_footer import (
    CODECS,
    MAGIC,
    Column,
    Footer,
    Leaf,
    Place,
    footer_bytes,
    group_of,
    moved,
    parsed,
    plain_chunk,
)
from efface.stores.parquet_levels import level_bytes
from efface.stores.parquet_pages import codec_name
from efface.stores.thrift import I32, STRUCT, Struct, packed

_PAGE_BYTES = 1 << 20
_LZ4_HADOOP, _LZ4_RAW = 5, 7


@dataclass(frozen=True)
class Style:
    """How a file is kept: its schema and, leaf by leaf, codecs and dictionaries."""

    schema: Any
    vector: str
    codecs: Sequence[int]
    dictionary: Sequence[bool]
    checksums: bool
    template: Footer
    """Of a file of this schema without rows, as Arrow writes it."""

    @property
    def rest(self) -> Any:
        fields = [field for field in self.schema if field.name != self.vector]
        return pa.schema(fields)

    def options(self, rest: bool) -> dict[str, Any]:
        """For Arrow's writer: all columns, or all but the vectors."""
        leaves = [
            (leaf, codec, dictionary)
            for leaf, codec, dictionary in zip(
                self.template.leaves, self.codecs, self.dictionary, strict=True
            )
            if not rest or leaf.names[0] != self.vector
        ]
        return {
            "compression": {leaf.path: _writable(codec) for leaf, codec, _ in leaves},
            "use_dictionary": [
                leaf.path for leaf, _, kept in leaves if kept and leaf.names[0] != self.vector
            ],
            "write_statistics": [
                leaf.path for leaf, _, _ in leaves if leaf.names[0] != self.vector
            ],
            "write_page_checksum": self.checksums,
        }


def style_of(footer: Footer, schema: Any, vector: str, checksums: bool) -> Style:
    """The style of a file with this footer."""
    template = empty_footer(schema)
    leaves = len(template.leaves)
    columns = list(footer.groups[0].columns) if footer.groups else []
    if len(columns) != leaves:  # lists of an older form, which Arrow writes in the present one
        columns = columns[:1] * leaves
    codecs = [column.codec for column in columns] or [0] * leaves
    dictionary = [column.dictionary for column in columns] or [True] * leaves
    return Style(schema, vector, codecs, dictionary, checksums, template)


def empty_footer(schema: Any) -> Footer:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema):
        pass
    data = sink.getvalue().to_pybytes()
    return _parsed(data)


def write_part(
    path: Path, style: Style, rest: Any, vectors: NDArray[Any], present: NDArray[np.bool_] | None
) -> None:
    """The rows as a file of their own; not flushed."""
    leaf = _plain_leaf(style, vectors)
    if leaf is None or present is not None or not len(vectors):
        _write_by_arrow(path, style, rest, vectors, present)
        return
    others = _encoded(style, rest, len(vectors))
    with path.open("wb", buffering=0) as file:
        _write_plain(file.fileno(), style, leaf, vectors, others)


def _plain_leaf(style: Style, vectors: NDArray[Any]) -> int | None:
    found = [at for at, leaf in enumerate(style.template.leaves) if leaf.names[0] == style.vector]
    leaf = style.template.leaves[found[0]]
    usual = len(found) == 1 and leaf.repetitions == 1 and vectors.dtype.kind == "f"
    return found[0] if usual and vectors.dtype.itemsize in (2, 4, 8) else None


def _write_by_arrow(
    path: Path, style: Style, rest: Any, vectors: NDArray[Any], present: NDArray[np.bool_] | None
) -> None:
    column = column_of(vectors, style.schema.field(style.vector).type, present)
    columns = [column if name == style.vector else rest.column(name) for name in style.schema.names]
    table = pa.table(columns, schema=style.schema)
    with pq.ParquetWriter(path, style.schema, **style.options(rest=False)) as writer:
        if len(table):
            writer.write_table(table, row_group_size=len(table))


# --- by hand --------------------------------------------------------------------------------


def _encoded(style: Style, rest: Any, rows: int) -> tuple[Any, Sequence[Column]]:
    """The other columns as a Parquet file in memory, and its column chunks."""
    if rest is None:
        return b"", []
    sink = pa.BufferOutputStream()
    table = rest.select(style.rest.names).replace_schema_metadata(None)
    with pq.ParquetWriter(sink, style.rest, **style.options(rest=True)) as writer:
        writer.write_table(table.cast(style.rest), row_group_size=rows)
    data = memoryview(sink.getvalue())
    (group,) = _parsed(data).groups
    return data, group.columns


def _write_plain(
    file: int, style: Style, leaf: int, vectors: NDArray[Any], others: tuple[Any, Sequence[Column]]
) -> None:
    data, columns = others
    following = iter(columns)
    chunks: list[Struct] = []
    write_all(file, MAGIC, 0)
    at = len(MAGIC)
    for index, of in enumerate(style.template.leaves):
        if index == leaf:
            place = _write_vectors(file, at, style, of, style.codecs[index], vectors)
            codec = _LZ4_RAW if style.codecs[index] == _LZ4_HADOOP else style.codecs[index]
            chunks.append(plain_chunk(of, of.physical, codec, vectors.size, place))
            at += place.size
        else:
            column = next(following)
            write_all(file, data[column.start : column.start + column.size], at)
            chunks.append(moved(column.raw, at - column.start))
            at += column.size
    group = group_of(chunks, len(vectors))
    write_all(file, footer_bytes(style.template.raw, [group]), at)


def _write_vectors(
    file: int, start: int, style: Style, leaf: Leaf, codec: int, vectors: NDArray[Any]
) -> Place:
    rows, dim = vectors.shape
    step = max(1, _PAGE_BYTES // (dim * vectors.itemsize))
    flat = np.ascontiguousarray(vectors, vectors.dtype.newbyteorder("<"))
    at, unpacked = start, 0
    for first in range(0, rows, step):
        block = flat[first : first + step]
        levels = level_bytes(len(block), dim, leaf.definitions)
        values = block.reshape(-1).view(np.uint8).data
        pieces = _packed_page(levels, values, codec)
        header = _page_header(block.size, len(levels) + len(values), pieces, style.checksums)
        _write_pieces(file, [header, *pieces], at)
        unpacked += len(header) + len(levels) + len(values)
        at += len(header) + sum(map(len, pieces))
    return Place(start, at - start, unpacked)


def _packed_page(levels: bytes, values: memoryview, codec: int) -> list[Any]:
    """What goes on the disk, in pieces so that plain values are never copied."""
    name = _arrow_codec(codec)
    if name == "none":
        return [levels, values]
    # Not a memoryview of it: that one has the room the codec asked for, not what it needed.
    return [pa.Codec(name).compress(b"".join((levels, values)))]


def _page_header(values: int, unpacked: int, pieces: Sequence[Any], checksum: bool) -> bytes:
    body: Struct = {1: (I32, values), 2: (I32, 0), 3: (I32, 3), 4: (I32, 3)}
    header: Struct = {
        1: (I32, 0), 2: (I32, unpacked), 3: (I32, sum(map(len, pieces))), 5: (STRUCT, body),
    }  # fmt: skip
    if checksum:
        crc = 0
        for piece in pieces:
            crc = zlib.crc32(piece, crc)
        header[4] = I32, crc - (1 << 32) if crc >> 31 else crc
    return packed(header)


def _write_pieces(file: int, pieces: Sequence[Any], at: int) -> None:
    """All pieces in one call, where the system takes them in one."""
    wanted = sum(map(len, pieces))
    wrote = os.pwritev(file, pieces, at)
    if wrote != wanted:
        write_all(file, b"".join(pieces)[wrote:], at + wrote)


def _arrow_codec(codec: int) -> str:
    return codec_name(codec) or "lz4_raw"


def _writable(codec: int) -> str:
    """The codec as Arrow's Parquet writer calls it."""
    return "lz4" if codec == _LZ4_HADOOP else CODECS[codec]


def _parsed(data: Any) -> Footer:
    length = int.from_bytes(data[-8:-4], "little")
    return parsed(bytes(data[-8 - length : -8]), len(data))
