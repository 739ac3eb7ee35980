"""The footer of a Parquet file: what is needed of it, and footers of files put together.

Column chunks are moved from file to file as bytes. Only the places in the footer change, so nothing
is decoded or encoded again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from efface.data.parquet import REMEDY
from efface.data.table import readable
from efface.errors import DataError
from efface.stores.thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Items,
    Reader,
    Struct,
    get,
    packed,
    whole,
)

MAGIC = b"PAR1"
CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4_hadoop", 6: "zstd", 7: "lz4"}
_PLAIN, _RLE = 0, 3
_DICTIONARY = {2, 8}
_DENSEST = 1 << 20
"""More values to a byte than any run of one value has; beyond it a footer lies."""
_REPEATED = 2
_REQUIRED = 0


@dataclass(frozen=True)
class Column:
    """A column chunk: where its pages are and how they are kept."""

    codec: int
    values: int
    start: int
    size: int
    dictionary: bool
    raw: Struct


@dataclass(frozen=True)
class Group:
    """A row group: its rows, and its chunks in the order of the leaves of the schema."""

    rows: int
    columns: Sequence[Column]
    raw: Struct


@dataclass(frozen=True)
class Leaf:
    """A leaf of the schema: its levels, and the column of the table it belongs to."""

    names: tuple[str, ...]
    physical: int
    definitions: int
    repetitions: int
    width: int
    """Bytes of a value of fixed length; 0 for other types."""

    @property
    def path(self) -> str:
        return ".".join(self.names)


@dataclass(frozen=True)
class Place:
    """Where a chunk's pages are, and their bytes before compression."""

    start: int
    size: int
    unpacked: int


@dataclass(frozen=True)
class Footer:
    rows: int
    groups: Sequence[Group]
    leaves: Sequence[Leaf]
    raw: Struct


def read_footer(path: Path) -> Footer:
    """Refuses what is cut short, encrypted, or points outside of the file."""
    with readable(str(path), REMEDY), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - 8))
        tail = file.read(8)
        if tail[4:] == b"PARE":
            raise DataError(f"{path}: is encrypted: decrypt it first")
        length = int.from_bytes(tail[:4], "little")
        if size < 12 or tail[4:] != MAGIC or length > size - 12:
            raise ValueError("it has no footer")
        file.seek(size - 8 - length)
        return parsed(file.read(length), size)


def parsed(data: bytes, size: int) -> Footer:
    """The footer in these bytes, of a file of ``size`` bytes."""
    raw = Reader(data).struct()
    leaves = list(_leaves(get(raw, 2, LIST, [])))
    # Of an empty row group writers say what they like.
    filled = [group for group in get(raw, 4, LIST, []) if whole(group, 3)]
    groups = [_group(group, len(leaves), size) for group in filled]
    rows = whole(raw, 3)
    if any(group.rows > column.values for group in groups for column in group.columns):
        raise ValueError("a column has fewer values than its row group has rows")
    if sum(group.rows for group in groups) != rows:
        raise ValueError("its row groups have other rows than the file")
    return Footer(rows, groups, leaves, raw)


def _group(raw: Struct, leaves: int, size: int) -> Group:
    columns = [_column(chunk, size) for chunk in get(raw, 1, LIST, [])]
    if len(columns) != leaves:
        raise ValueError("a row group has other columns than the schema")
    return Group(whole(raw, 3), columns, raw)


def _column(chunk: Struct, size: int) -> Column:
    if get(chunk, 1, BINARY):
        raise ValueError("a column lies in another file")
    meta = get(chunk, 3, STRUCT)
    if meta is None:
        raise ValueError("a column is encrypted or has no place")
    start, bytes_ = whole(meta, 9), whole(meta, 7)
    start = min(start, whole(meta, 11, 0) or start)
    if start < len(MAGIC) or start + bytes_ > size:
        raise ValueError("a column lies outside of the file")
    if whole(meta, 5) > bytes_ * _DENSEST:
        raise ValueError("a column has more values than its bytes could hold")
    codec = whole(meta, 4)
    if codec not in CODECS:
        raise ValueError(f"compression {codec} is not known")
    encodings = set(get(meta, 2, LIST, []))
    return Column(codec, whole(meta, 5), start, bytes_, bool(encodings & _DICTIONARY), chunk)


def _leaves(elements: Sequence[Struct]) -> Iterable[Leaf]:
    """Walk the schema, which is a tree in preorder."""
    if not elements:
        raise ValueError("it has no schema")
    at = 1
    for _ in range(whole(elements[0], 5, 0)):
        at, leaves = _subtree(elements, at, (), 0, 0)
        yield from leaves
    if at != len(elements):
        raise ValueError("its schema is no tree")


def _subtree(
    elements: Sequence[Struct], at: int, above: tuple[str, ...], definitions: int, repetitions: int
) -> tuple[int, list[Leaf]]:
    if at >= len(elements) or len(above) > 64:
        raise ValueError("its schema is no tree")
    element = elements[at]
    path = (*above, get(element, 4, BINARY, b"").decode())
    repetition = whole(element, 3, _REQUIRED)
    definitions += repetition != _REQUIRED
    repetitions += repetition == _REPEATED
    children = whole(element, 5, 0)
    if not children:
        leaf = Leaf(path, whole(element, 1), definitions, repetitions, whole(element, 2, 0))
        return at + 1, [leaf]
    at += 1
    found: list[Leaf] = []
    for _ in range(children):
        at, leaves = _subtree(elements, at, path, definitions, repetitions)
        found += leaves
    return at, found


# --- writing --------------------------------------------------------------------------------


def moved(chunk: Struct, by: int) -> Struct:
    """A column chunk whose bytes lie ``by`` further on. Indexes and Bloom filters, which lie
    elsewhere in the file, do not come along."""
    meta: Struct = {n: v for n, v in get(chunk, 3, STRUCT).items() if n not in (14, 15)}
    for number in (9, 10, 11):
        if number in meta:
            meta[number] = I64, meta[number][1] + by
    kept: Struct = {n: v for n, v in chunk.items() if n not in (4, 5, 6, 7)}
    offset = whole(chunk, 2, 0)
    return kept | {2: (I64, offset + by if offset else 0), 3: (STRUCT, meta)}


def group_of(chunks: Sequence[Struct], rows: int, like: Struct | None = None) -> Struct:
    """A row group of these chunks; what it says of sorting is kept from another one."""
    metas = [get(chunk, 3, STRUCT) for chunk in chunks]
    starts = [min(whole(m, 9), whole(m, 11, 0) or whole(m, 9)) for m in metas]
    group: Struct = {
        1: (LIST, Items(STRUCT, list(chunks))),
        2: (I64, sum(whole(meta, 6) for meta in metas)),
        3: (I64, rows),
        5: (I64, min(starts, default=len(MAGIC))),
        6: (I64, sum(whole(meta, 7) for meta in metas)),
    }
    if like is not None and 4 in like:
        group[4] = like[4]
    return group


def moved_group(group: Struct, by: int) -> Struct:
    chunks = [moved(chunk, by) for chunk in get(group, 1, LIST, [])]
    return group_of(chunks, whole(group, 3), group)


def footer_bytes(like: Struct, groups: Sequence[Struct]) -> bytes:
    """What ends a file of these row groups, with the schema and metadata of another footer."""
    raw = dict(like)
    raw[3] = I64, sum(whole(group, 3) for group in groups)
    raw[4] = LIST, Items(STRUCT, list(groups))
    body = packed(raw)
    return body + len(body).to_bytes(4, "little") + MAGIC


def plain_chunk(leaf: Leaf, physical: int, codec: int, values: int, place: Place) -> Struct:
    """The entry of a chunk of plain pages without statistics."""
    names = [name.encode() for name in leaf.names]
    return {
        2: (I64, 0),
        3: (STRUCT, {
            1: (I32, physical), 2: (LIST, Items(I32, [_PLAIN, _RLE])),
            3: (LIST, Items(BINARY, names)), 4: (I32, codec), 5: (I64, values),
            6: (I64, place.unpacked), 7: (I64, place.size), 9: (I64, place.start),
        }),
    }  # fmt: skip
