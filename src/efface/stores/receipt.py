"""The receipt of a whole store's erasure: ``efface.receipt/1``, one JSON file beside the output.

While the last steps are under way (finish, verification, swap) a note lies beside it,
``<receipt>.pending``: so a command that died in them is known again as this very work.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
import numpy as np

from efface._version import __version__
from efface.errors import StoreError
from efface.protect.linear.eraser import LinearEraser
from efface.stores import digest
from efface.stores.address import Address
from efface.stores.contract import Done, Job
from efface.stores.disk import flush
from efface.stores.erase import reaching

FORMAT = "efface.receipt/1"
Verify = Literal["sample", "full", "none"]


class StoreRead(msgspec.Struct, frozen=True, kw_only=True):
    place: str
    fingerprint: str
    rows: int
    dim: int
    dtype: str


class ProjectorUsed(msgspec.Struct, frozen=True, kw_only=True):
    digest: str
    method: str
    rank: int
    dim: int
    normalise: bool


class RowCounts(msgspec.Struct, frozen=True, kw_only=True):
    read: int
    written: int
    null_kept: int
    null_dropped: int


class VectorDigests(msgspec.Struct, frozen=True, kw_only=True):
    """BLAKE3 over the BLAKE3 of each part's vectors, in the order of the parts."""

    before: str
    after: str


class PartSizes(msgspec.Struct, frozen=True, kw_only=True):
    count: int
    rows: int
    """Rows per part that were asked for; a store may cut at its own borders."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What was read again from the finished store and compared with what was computed."""

    how: Verify
    parts: int
    rows: int


class Duration(msgspec.Struct, frozen=True, kw_only=True):
    """Of the run that finished; parts of earlier runs that were cut short are not in it."""

    seconds: float
    rows: int
    rows_per_second: float


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """Which vectors became which, through what. Equal work gives equal receipts but for time."""

    format: str = FORMAT
    source: StoreRead
    target: str
    projector: ProjectorUsed
    rows: RowCounts
    vectors: VectorDigests
    null: str
    parts: PartSizes
    verified: Verification
    swapped: str = ""
    """The live name this store took over; empty where none was asked for."""
    live_fingerprint: str = ""
    """Of the store under that name, right after: the same command does nothing to it again."""
    versions: dict[str, str]
    time: Duration
    date: str = ""

    def to_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


def write(receipt: Receipt, path: Path) -> None:
    _put(path, receipt.to_json().encode())


def _put(path: Path, data: bytes) -> None:
    """Whole or not at all. Always by the same way: a death leaves nothing that the next run does
    not use up, and the target's lock keeps two runs apart."""
    partial = path.with_name(f"{path.name}.partial")
    with reaching(str(path), "written"):
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        flush(path.parent)


def read(path: Path) -> Receipt:
    """A receipt that was written before; a damaged one or another format is refused."""
    try:
        receipt = msgspec.json.decode(path.read_bytes(), type=Receipt)
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(f"{path}: is no receipt of efface ({error})") from error
    if receipt.format != FORMAT:
        raise StoreError(f"{path}: is a receipt of format {receipt.format!r}, not {FORMAT!r}")
    return receipt


def default_path(target: Address) -> Path:
    """Beside a file or folder; for a table in the current folder, named after it."""
    if target.table:
        return Path(f"{target.table.replace('/', '_')}.receipt.json")
    place = Path(target.location)
    return place.with_name(f"{place.name}.receipt.json")


def projector_used(eraser: LinearEraser, known: str) -> ProjectorUsed:
    return ProjectorUsed(
        digest=known, method=eraser.method, rank=eraser.rank, dim=eraser.dim,
        normalise=eraser.normalise,
    )  # fmt: skip


def row_counts(job: Job, done: Sequence[Done]) -> RowCounts:
    written = sum(part.rows for part in done)
    return RowCounts(
        read=job.shape.rows, written=written, null_kept=sum(part.nulls for part in done),
        null_dropped=job.shape.rows - written,
    )  # fmt: skip


def vector_digests(done: Sequence[Done]) -> VectorDigests:
    return VectorDigests(
        before=digest.of_parts(part.before for part in done),
        after=digest.of_parts(part.after for part in done),
    )


def versions() -> dict[str, str]:
    return {"efface": __version__, "numpy": np.__version__, "python": platform.python_version()}


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """The note beside a receipt that is still to come."""

    job: str
    swapping: str = ""
    """The live name that is being taken over; then ``receipt`` is what will be written."""
    receipt: Receipt | None = None

    @staticmethod
    def path(receipt: Path) -> Path:
        return receipt.with_name(f"{receipt.name}.pending")

    @classmethod
    def read(cls, receipt: Path) -> Self | None:
        """The note of a command that was cut short; None without one that can be read."""
        try:
            return msgspec.json.decode(cls.path(receipt).read_bytes(), type=cls)
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, receipt: Path) -> None:
        _put(self.path(receipt), msgspec.json.encode(self))


def job_digest(job: Job) -> str:
    """Two runs with one digest are the same work."""
    plain: dict[str, Any] = asdict(job)
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()
