"""Pictures to a file of vectors: what ``efface encode`` does, step by step."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from efface.data.atomic import sweep
from efface.encoding import finish, kept
from efface.encoding.ahead import ahead
from efface.encoding.geometry import Geometry, Whole
from efface.encoding.parts import PART_ROWS, Note, Parts, Shape
from efface.encoding.prepare import Left, Made, Prepare, Row
from efface.encoding.spool import Spool, spooled
from efface.encoding.workers import prepared
from efface.errors import DataError, EffaceWarning, StoreError
from efface.facts import Encoding, PictureCounts
from efface.pictures.decode import Limits
from efface.pictures.entry import Source
from efface.stores import disk
from efface.stores.lock import Lock, locked
from efface.types import Encoder, Floats

Progress = Callable[[int, int], None]
BATCH = 32
_ALIKE = 0.99
"""Mean cosine between pictures of different people above which something is wrong with them: even
general encoders on aligned faces stay below."""


@dataclass(frozen=True, eq=False)
class Order:
    """What is wanted: which pictures, through which encoder, into which file."""

    source: Source
    encoder: Encoder
    out: Path
    geometry: Geometry | None = None
    """By default the whole picture, fitted as the encoder declares."""
    limits: Limits = field(default_factory=Limits)
    batch: int = BATCH
    dtype: str = "float32"
    workers: int = 1
    """Processes that decode."""
    keep: bool = False
    """Leave a note of the work beside the vectors; where it tells that they are this order's
    already, nothing is encoded."""

    @property
    def cut(self) -> Geometry:
        return self.geometry or Whole(self.encoder.facts.preprocessing)


def encode(order: Order, progress: Progress | None = None) -> Encoding:
    """Encode every picture that can be, list those that cannot, and write the vectors at once.

    Killed at any moment, the same order goes on behind the last part that was written.
    """
    _check(order)
    folder = order.out.with_name(f"{order.out.name}.efface-work")
    lock = _opened(folder, order.out)
    try:
        spool = spooled(order.source, folder / "listing.jsonl", order.batch)
        job = _job(order, spool)
        encoding = kept.held(order.out, job) if order.keep else None
        if encoding is None:
            with kept.noted(order.out, job) if order.keep else nullcontext():
                encoding = _encoded(order, spool, job, progress or (lambda done, total: None))
        shutil.rmtree(folder, ignore_errors=True)
        return encoding
    finally:
        lock.release()


def _encoded(order: Order, spool: Spool, job: dict[str, Any], progress: Progress) -> Encoding:
    """The parts that are missing, then all of them as one file."""
    folder = spool.path.parent
    parts = Parts(folder, _shape(order), max(1, PART_ROWS // order.batch))
    _take_up(job, parts)
    _encode_parts(order, spool, parts, progress)
    return _finished(order, spool, parts, -(-len(spool) // parts.batches))


# --- before the work ------------------------------------------------------------------------


def _check(order: Order) -> None:
    if order.out.suffix.lower() not in (".parquet", ".pq"):
        raise DataError(f"{order.out}: vectors are written as Parquet: name it .parquet")
    if order.batch < 1 or order.workers < 1:
        raise DataError("batch and workers are at least 1")
    if order.dtype not in ("float16", "float32"):
        raise DataError(f"vectors are written as float16 or float32, not {order.dtype}")
    clash = {*order.source.columns} & {*order.cut.columns}
    if clash:
        raise DataError(f"{order.source.place}: rename its column {sorted(clash)[0]!r}")
    check = getattr(order.cut, "check", None)
    if check is not None:
        check()


def _shape(order: Order) -> Shape:
    dimension = order.encoder.facts.dimension
    return Shape(dimension, order.dtype, order.source.columns, order.cut.columns)


def _opened(folder: Path, out: Path) -> Lock:
    """The work folder, locked by this process."""
    with disk.writing(out):
        while True:
            folder.mkdir(exist_ok=True)
            lock = locked(folder / "lock", out)
            if lock is not None:
                return lock


def _take_up(job: dict[str, Any], parts: Parts) -> None:
    """Parts of this very job stay; of another they are not thrown away without a word."""
    file = parts.folder / "job.json"
    try:
        before = msgspec.json.decode(file.read_bytes()) if file.exists() else None
    except (OSError, msgspec.DecodeError):
        before = None
    if before is not None and before != job and parts.held():
        other = ", ".join(name for name in job if before.get(name) != job[name])
        raise StoreError(
            f"{parts.folder}: holds unfinished work of another job (differs in: {other}): finish "
            "it with its own command, or remove that folder to start afresh"
        )
    with disk.writing(parts.folder):
        if before != job:
            parts.clear()
        disk.write_whole(file, msgspec.json.encode(job))


def _job(order: Order, spool: Spool) -> dict[str, Any]:
    """All that the vectors depend on, as JSON gives it back."""
    limits = {"max_pixels": order.limits.max_pixels, "min_side": order.limits.min_side}
    job = {
        "pictures": spool.digest, "encoder": order.encoder.facts, "geometry": order.cut.facts,
        "limits": limits, "batch": order.batch, "dtype": order.dtype, "format": 1,
    }  # fmt: skip
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(job))
    return plain


# --- the work -------------------------------------------------------------------------------


def _encode_parts(order: Order, spool: Spool, parts: Parts, progress: Progress) -> None:
    """Workers decode ahead while the network is busy; a part is written when it is full."""
    start = parts.held() * parts.batches
    done = min(start * order.batch, spool.total)
    progress(done, spool.total)
    rows: list[Row] = []
    vectors: list[Floats] = []
    note = Note()
    with ahead(_made(order, spool, start)) as batches:
        for made in batches:
            found, lost = _vectors(order, made)
            kept = [row for i, row in enumerate(made.rows) if i not in lost]
            rows += kept
            vectors.append(np.delete(found, list(lost), axis=0))
            note.left += made.left + [_no_vector(made.rows[i], why) for i, why in lost.items()]
            for row in kept:
                note.treated.update(row.treated)
            done += len(made.rows) + len(made.left)
            progress(done, spool.total)
            full = (made.index + 1) % parts.batches == 0
            if full or made.index + 1 == len(spool):
                table = parts.shape.table(rows, np.concatenate(vectors))
                parts.write(made.index // parts.batches, table, note)
                rows, vectors, note = [], [], Note()


def _made(order: Order, spool: Spool, start: int) -> Iterator[Made]:
    task = Prepare(order.limits, order.cut)
    return prepared(task, spool, start, order.workers)


def _vectors(order: Order, made: Made) -> tuple[Floats, dict[int, str]]:
    """The encoder's vectors in the type they are kept in; and rows that have none, with why."""
    dimension = order.encoder.facts.dimension
    if not made.rows:
        return np.empty((0, dimension), order.dtype), {}
    raw = order.encoder.encode(made.images)
    with np.errstate(over="ignore"):
        found = np.asarray(raw, order.dtype)
    lost = {}
    for row in np.flatnonzero(~np.isfinite(found).all(axis=1)).tolist():
        fine = bool(np.isfinite(raw[row]).all())
        lost[row] = "too large for float16" if fine else "the encoder gives numbers that are none"
    for row in np.flatnonzero(~found.any(axis=1)).tolist():
        lost[row] = "the encoder gives zeros only"
    return found, lost


def _no_vector(row: Row, why: str) -> Left:
    return Left(row.entry.name, row.entry.identity, "no vector", why)


# --- the end --------------------------------------------------------------------------------


def _finished(order: Order, spool: Spool, parts: Parts, count: int) -> Encoding:
    """Lists first, vectors last: what has vectors has its lists."""
    for path in (order.out, finish.left_out_path(order.out), finish.near_path(order.out)):
        sweep(path)  # the lock is ours: what is half written there is of a run that was killed
    found = finish.gather(parts, count)
    finish.write_left_out(parts, count, order.out)
    if not found.encoded:
        kinds = ", ".join(f"{n} {kind}" for kind, n in found.left.most_common())
        raise DataError(
            f"{order.source.place}: none of {spool.total} pictures could be encoded ({kinds}): "
            f"see {finish.left_out_path(order.out)}"
        )
    near = finish.near_duplicates(parts, count, found.people)
    finish.write_near(parts, count, order.out, near)
    encoding = Encoding(
        encoder=order.encoder.facts,
        geometry=msgspec.structs.replace(order.cut.facts, achieved=found.achieved),
        pictures=PictureCounts(
            found=spool.total, encoded=found.encoded, people=len(found.people),
            left_out=_sorted(found.left), treated=_sorted(found.treated),
            passed_over=order.source.passed_over(), near_duplicates=near.within,
            near_duplicates_across=len(near.across),
        ),
        identity_rule=order.source.rule,
        limits={"max_pixels": order.limits.max_pixels, "min_side": order.limits.min_side},
        versions=_versions(),
    )  # fmt: skip
    finish.write_vectors(parts, count, order.out, encoding)
    _warn(order, parts, encoding)
    return encoding


def _sorted(counts: Any) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _versions() -> dict[str, str]:
    import importlib.metadata

    return {name: importlib.metadata.version(name) for name in ("efface", "numpy", "pillow")}


def _warn(order: Order, parts: Parts, encoding: Encoding) -> None:
    """What a careful user would want to know before trusting the vectors."""
    if encoding.pictures.people == 1:
        warnings.warn(
            f"{order.source.place}: all pictures are of one person by {order.source.rule}: an "
            "audit needs two at least; check how people are told apart", EffaceWarning,
            stacklevel=2,
        )  # fmt: skip
    alike = finish.likeness_of_people(parts)
    if alike is not None and alike > _ALIKE:
        warnings.warn(
            f"{order.out}: vectors of different people are nearly the same (mean cosine "
            f"{alike:.4f}): the declared preprocessing is probably not the encoder's",
            EffaceWarning, stacklevel=2,
        )  # fmt: skip
