"""Parts into one file of vectors, with the record of how it came to be, and two lists beside it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from efface.data.atomic import atomic_write
from efface.data.parquet import ENCODING_KEY
from efface.encoding.parts import Parts
from efface.facts import Encoding
from efface.pictures.likeness import HASH_BYTES, near_pairs

LEFT_HEAD = ("name", "identity", "kind", "why")
NEAR_HEAD = ("name", "identity", "other", "other_identity", "bits")


def left_out_path(out: Path) -> Path:
    """The list of pictures that were not encoded, beside the vectors."""
    return out.with_name(f"{out.stem}.left-out.csv")


def near_path(out: Path) -> Path:
    """The list of near-duplicates across people, beside the vectors."""
    return out.with_name(f"{out.stem}.near-duplicates.csv")


@dataclass
class Gathered:
    """What the parts say together, without their vectors."""

    encoded: int = 0
    left: Counter[str] = field(default_factory=Counter)
    treated: Counter[str] = field(default_factory=Counter)
    people: dict[str, int] = field(default_factory=dict)
    achieved: dict[str, tuple[float, float, float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Near:
    """Pairs of rows that hardly differ: of one person, and across people."""

    within: int
    across: NDArray[np.int64]
    """Row, other row, bits."""


def gather(parts: Parts, count: int) -> Gathered:
    """Counts and spreads over all parts."""
    found = Gathered()
    sums = {name: np.zeros(3) for name in parts.shape.measured}
    largest = dict.fromkeys(parts.shape.measured, -np.inf)
    for index in range(count):
        note = parts.note(index)
        found.left.update(one.kind for one in note.left)
        found.treated.update(note.treated)
        table = pq.read_table(parts.file(index), columns=["identity", *parts.shape.measured])
        found.encoded += table.num_rows
        for name in table.column("identity").unique().to_pylist():
            found.people.setdefault(name, len(found.people))
        for name in parts.shape.measured if table.num_rows else ():
            x = table.column(name).to_numpy().astype(np.float64)
            sums[name] += (len(x), x.sum(), (x * x).sum())
            largest[name] = max(largest[name], x.max())
    found.achieved = {name: _spread(sums[name], largest[name]) for name in sums if found.encoded}
    return found


def near_duplicates(parts: Parts, count: int, people: dict[str, int]) -> Near:
    """Compared over all pictures by their perceptual hashes; only these are held."""
    hashes, codes = [np.empty((0, HASH_BYTES), np.uint8)], [np.empty(0, np.int64)]
    for index in range(count):
        table = pq.read_table(parts.file(index), columns=["phash", "identity"])
        packed = b"".join(table.column("phash").to_pylist())
        hashes.append(np.frombuffer(packed, np.uint8).reshape(-1, HASH_BYTES))
        codes.append(np.array([people[p] for p in table.column("identity").to_pylist()], np.int64))
    pairs, code = near_pairs(np.concatenate(hashes)), np.concatenate(codes)
    across = code[pairs[:, 0]] != code[pairs[:, 1]]
    return Near(int((~across).sum()), pairs[across])


def write_vectors(parts: Parts, count: int, out: Path, encoding: Encoding) -> None:
    """One file, a row group for each part, with the record among its metadata."""
    schema = parts.shape.schema.with_metadata({ENCODING_KEY: msgspec.json.encode(encoding)})
    with (
        atomic_write(out) as partial,
        pq.ParquetWriter(
            partial, schema, compression="none", use_dictionary=["identity"],
            write_statistics=["identity", "name"], write_page_checksum=True,
        ) as writer,
    ):  # fmt: skip
        for index in range(count):
            table = pq.read_table(parts.file(index))
            if table.num_rows:
                writer.write_table(table.replace_schema_metadata(schema.metadata))


def write_left_out(parts: Parts, count: int, out: Path) -> None:
    rows = ((one.name, one.identity, one.kind, one.why)
            for index in range(count) for one in parts.note(index).left)  # fmt: skip
    _write_list(left_out_path(out), LEFT_HEAD, rows)


def write_near(parts: Parts, count: int, out: Path, near: Near) -> None:
    wanted = np.unique(near.across[:, :2])
    told = dict(zip(wanted.tolist(), _named(parts, count, wanted), strict=True))
    rows = ((*told[i], *told[j], str(bits)) for i, j, bits in near.across.tolist())
    _write_list(near_path(out), NEAR_HEAD, rows)


def _named(parts: Parts, count: int, rows: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
    """Name and identity of some rows, in ascending order."""
    start = 0
    for index in range(count):
        table = pq.read_table(parts.file(index), columns=["name", "identity"])
        here = rows[(rows >= start) & (rows < start + table.num_rows)] - start
        some = table.take(here)
        yield from zip(*(some.column(c).to_pylist() for c in ("name", "identity")), strict=True)
        start += table.num_rows


def likeness_of_people(parts: Parts, most: int = 256) -> float | None:
    """Mean cosine between pictures of different people in the first part; None for one person."""
    table = pq.read_table(parts.file(0), columns=["identity", "embedding"]).slice(0, most)
    names = np.array(table.column("identity").to_pylist())
    flat = table.column("embedding").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    x = flat.astype(np.float64).reshape(len(names), -1) if len(names) else np.empty((0, 1))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    others = names[:, None] != names
    return float((x @ x.T)[others].mean()) if others.any() else None


def _write_list(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with atomic_write(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)


def _spread(sums: NDArray[np.float64], largest: float) -> tuple[float, float, float]:
    """Mean, standard deviation and largest."""
    count, total, squares = sums
    mean = total / count
    return (float(mean), float(np.sqrt(max(squares / count - mean * mean, 0.0))), float(largest))
