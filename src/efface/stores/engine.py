"""Every vector of a store through a projector into a new store: resumable, verified, receipted.

Parts are read, erased and prepared by a runner, on any number of workers; they are committed here,
in their order. So what the target holds is always a run of parts from the first on, whatever kills
the work, and the next run goes on behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from efface.errors import DataError, StoreError
from efface.protect.linear.eraser import LinearEraser
from efface.scale.runner import Runner, Serial
from efface.stores import receipt as receipts
from efface.stores.contract import Done, Job, Part, Shape, Sink, Source
from efface.stores.erase import NULLS, Erase, Null, Ready, Reread, reaching
from efface.stores.receipt import Pending, Receipt, Verification, Verify

T = TypeVar("T")
Progress = Callable[[int, int], None]
Clock = Callable[[], float]
_PART_BYTES = 64 << 20
_MOST_ROWS = 1 << 17
_MOST_PARTS = 1 << 20
_REREAD = 8


@dataclass
class Work:
    """One run over a store: what is done to each part, and what the target holds so far."""

    task: Erase
    job: Job
    parts: Sequence[Part]
    runner: Runner
    progress: Progress
    done: list[Done] = field(default_factory=list)

    @property
    def sink(self) -> Sink:
        return self.task.sink


def apply_store(
    eraser: LinearEraser,
    source: Source,
    sink: Sink,
    *,
    runner: Runner | None = None,
    part_rows: int | None = None,
    null: Null = "fail",
    resume: bool = False,
    verify: Verify = "sample",
    seed: int = 0,
    receipt: Path | None = None,
    progress: Progress | None = None,
    projector_digest: str | None = None,
    date: str = "",
    clock: Clock = time.monotonic,
) -> Receipt:
    """Erase every row of ``source`` into ``sink`` and say what was done.

    Run again after a death, it goes on behind the last part that was committed. ``receipt`` is
    where the receipt will be: with it a death after the last part is told from a target that was
    there before. It is not written here. ``seed`` draws the parts that are verified.
    """
    started, shape = clock(), source.shape
    _check(eraser, source, sink, null)
    rows = part_rows or default_part_rows(shape)
    job, parts = _job(eraser, source, rows, null, projector_digest)
    work = Work(
        Erase(eraser, source, sink, null), job, parts, runner or Serial(),
        progress or (lambda done, total: None),
    )  # fmt: skip
    work.done += _held(work, resume or _was_finishing(receipt, job))
    before = sum(part.rows for part in parts[: len(work.done)])
    _commit_all(work, before)
    _finish(work, receipt)
    verified = _verify(work, verify, seed)
    seconds = clock() - started
    return Receipt(
        source=_source_read(job), target=sink.place,
        projector=receipts.projector_used(eraser, job.projector),
        rows=receipts.row_counts(job, work.done), vectors=receipts.vector_digests(work.done),
        null=null, parts=receipts.PartSizes(count=len(parts), rows=rows), verified=verified,
        versions=receipts.versions(), time=_duration(shape.rows - before, seconds), date=date,
    )  # fmt: skip


def default_part_rows(shape: Shape) -> int:
    """Rows of about 64 MB. Never by the number of workers: another one goes on with the work."""
    row = max(1, shape.dim * np.dtype(shape.dtype).itemsize)
    return max(1, min(_PART_BYTES // row, _MOST_ROWS))


def parts_of(source: Source, rows: int) -> Sequence[Part]:
    """The source in parts, if these are not beyond all reason: a damaged file may claim any number
    of rows in a few bytes, and each part has an entry in memory and in the journal."""
    total = source.shape.rows
    if total > rows * _MOST_PARTS:
        raise DataError(
            f"{source.place}: says it has {total:,} rows, more than {_MOST_PARTS:,} parts of "
            f"{rows:,}: give --part-rows {-(-total // _MOST_PARTS)} or more, if that can be so"
        )
    return source.parts(rows)


# --- before the work ------------------------------------------------------------------------


def _check(eraser: LinearEraser, source: Source, sink: Sink, null: str) -> None:
    shape, place = source.shape, source.place
    if not shape.rows:
        raise DataError(f"{place}: the store has no rows: give at least one vector")
    if shape.dim != eraser.dim:
        raise DataError(
            f"{place}: the projector was fitted on {eraser.dim}-dimensional vectors, these have "
            f"{shape.dim}: give the projector of this encoder"
        )
    if np.dtype(shape.dtype).kind != "f":
        raise DataError(
            f"{place}: vectors of type {shape.dtype} cannot hold unit rows: convert them to "
            "float32 first"
        )
    if place == sink.place:
        raise StoreError(f"{place}: is the store that is read: give the target another name")
    if null not in NULLS:
        raise StoreError(f"no policy {null!r} for rows without a vector: one of {', '.join(NULLS)}")


def _job(
    eraser: LinearEraser, source: Source, rows: int, null: Null, known: str | None
) -> tuple[Job, Sequence[Part]]:
    with reaching(source.place, "read"):
        fingerprint, parts = source.fingerprint(), parts_of(source, rows)
    held = sum(part.rows for part in parts)
    if held != source.shape.rows:
        raise StoreError(
            f"{source.place}: has {source.shape.rows} rows and then {held}: leave the store alone "
            "while it is read, and run the command again"
        )
    job = Job(
        source.place, fingerprint, known or eraser.digest(), source.shape, len(parts), rows, null
    )
    return job, parts


def _held(work: Work, resume: bool) -> Sequence[Done]:
    with reaching(work.sink.place, "opened"):
        held = work.sink.begin(work.job, resume=resume)
    if [done.index for done in held] != list(range(len(held))) or len(held) > len(work.parts):
        raise StoreError(
            f"{work.sink.place}: what it holds of an earlier run is no run of parts from the first "
            "on: remove the unfinished target and run the command again"
        )
    return held


def _was_finishing(receipt: Path | None, job: Job) -> bool:
    note = Pending.read(receipt) if receipt else None
    return note is not None and note.job == receipts.job_digest(job)


# --- the work -------------------------------------------------------------------------------


def _commit_all(work: Work, before: int) -> None:
    """Parts that are still to do, from the runner into the sink."""
    total, rows = work.job.shape.rows, before
    work.progress(rows, total)
    with _closing(_in_order(work)) as ready_parts:
        for part, ready in ready_parts:
            with reaching(work.sink.place, "written"):
                work.sink.commit(part, ready.prepared, ready.done)
            work.done.append(ready.done)
            rows += part.rows
            work.progress(rows, total)


def _in_order(work: Work) -> Iterator[tuple[Part, Ready]]:
    """Parts in their own order, whatever the order in which workers finish them.

    Those that wait for their turn are few: a runner never goes far ahead of its oldest item.
    """
    todo = work.parts[len(work.done) :]
    waiting: dict[int, Ready] = {}
    due = 0
    with _closing(work.runner.imap(work.task, todo)) as results:
        for index, ready in results:
            waiting[index] = ready
            while due in waiting:
                yield todo[due], waiting.pop(due)
                due += 1
    if due != len(todo):
        raise StoreError(
            f"{work.sink.place}: {len(todo) - due} parts were lost on their way: run the same "
            "command again"
        )


def _finish(work: Work, receipt: Path | None) -> None:
    """Show the target, once it is sure that one content of the source went into it."""
    with reaching(work.job.source, "read"):
        now = work.task.source.fingerprint()
    if now != work.job.fingerprint:
        raise StoreError(
            f"{work.job.source}: changed while it was read: remove the unfinished "
            f"{work.sink.place} and run the command again"
        )
    if receipt:
        Pending(job=receipts.job_digest(work.job)).write(receipt)
    with reaching(work.sink.place, "finished"):
        work.sink.finish()


def _verify(work: Work, how: Verify, seed: int) -> Verification:
    """Count the rows of the finished target and read parts of it again."""
    with reaching(work.sink.place, "read again"):
        found, wanted = work.sink.source().shape, work.job.shape
    rows = sum(done.rows for done in work.done)
    if (found.rows, found.dim) != (rows, wanted.dim) or not _same_type(found, wanted):
        raise StoreError(
            f"{work.sink.place}: holds {found.rows} rows of {found.dim} {found.dtype}, not {rows} "
            f"of {wanted.dim} {wanted.dtype}: remove it and run the command again"
        )
    chosen = _chosen(len(work.parts), how, seed)
    items = [(work.parts[index], work.done[index]) for index in chosen]
    with _closing(work.runner.imap(Reread(work.sink), items)) as results:
        for index, digest in results:
            part, done = items[index]
            _compare(work.sink, part, done, digest)
    return Verification(how=how, parts=len(items), rows=sum(done.rows for _, done in items))


def _chosen(parts: int, how: Verify, seed: int) -> list[int]:
    """Parts to read again: the first, the last, and some in between."""
    if how == "none":
        return []
    if how == "full" or parts <= _REREAD:
        return list(range(parts))
    inner = np.random.default_rng(seed).choice(parts - 2, _REREAD - 2, replace=False) + 1
    return [0, *sorted(inner.tolist()), parts - 1]


def _compare(sink: Sink, part: Part, done: Done, digest: str) -> None:
    if digest != done.after:
        raise StoreError(
            f"{sink.place}: part {part.index} ({done.rows} rows, from row {part.start} of the "
            "source on) does not hold what was written: remove the target and run the command "
            "again"
        )


def _same_type(found: Shape, wanted: Shape) -> bool:
    return np.dtype(found.dtype).newbyteorder("=") == np.dtype(wanted.dtype).newbyteorder("=")


def _source_read(job: Job) -> receipts.StoreRead:
    return receipts.StoreRead(
        place=job.source, fingerprint=job.fingerprint, rows=job.shape.rows, dim=job.shape.dim,
        dtype=job.shape.dtype,
    )  # fmt: skip


def _duration(rows: int, seconds: float) -> receipts.Duration:
    rate = rows / seconds if seconds > 0 else 0.0
    return receipts.Duration(seconds=round(seconds, 3), rows=rows, rows_per_second=round(rate, 1))


@contextmanager
def _closing(results: Iterator[T]) -> Iterator[Iterator[T]]:
    """What a runner still has under way is given up as soon as nobody waits for it."""
    try:
        yield results
    finally:
        if isinstance(results, Generator):
            results.close()
