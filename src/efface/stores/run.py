"""From addresses to a receipt: what ``efface apply`` does, step by step."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from efface.errors import EffaceError, EffaceWarning, StoreError
from efface.protect.linear.eraser import LinearEraser
from efface.scale.runner import Processes, Runner, Serial
from efface.stores import address as addresses
from efface.stores import receipt as receipts
from efface.stores.address import Address
from efface.stores.contract import Shape, Sink, Source
from efface.stores.engine import Clock, Progress, apply_store, default_part_rows
from efface.stores.erase import Null, reaching
from efface.stores.receipt import Pending, Receipt, Verify


@dataclass(frozen=True)
class Order:
    """What is wanted: from where to where, and how."""

    source: Address
    target: Address
    receipt: Path
    null: Null = "fail"
    resume: bool = False
    part_rows: int | None = None
    verify: Verify = "sample"
    swap: str | None = None
    """The live table, collection or path that the target takes over in the end."""
    workers: int | None = None
    scheduler: str | None = None
    date: str = ""


def run(
    order: Order,
    eraser: LinearEraser,
    *,
    made_for: str | None = None,
    progress: Progress | None = None,
    clock: Clock = time.monotonic,
) -> Receipt:
    """Erase a store into a new one, verify it, write the receipt, and make it live if asked.

    ``made_for`` is the type of release that the projector was fitted for, where that is known: a
    store of another type keeps its own, and a warning says so.
    """
    _other_file(order)
    _check_receipt(order)
    if order.scheduler:
        order = replace(order, source=_absolute(order.source), target=_absolute(order.target))
    with reaching(_shown(order.source), "opened"):
        source = addresses.open_source(order.source)
        shape = source.shape
    with reaching(_shown(order.target), "opened"):
        sink = addresses.open_sink(order.target, source)
    if (swapped := _done_before(order, sink, eraser.digest())) is not None:
        return _close(order, swapped)
    _check_live(order)
    _check_type(source, made_for)
    with _runner(shape, order, alone=_alone(source) or _alone(sink)) as runner:
        receipt = apply_store(
            eraser, source, sink, runner=runner, part_rows=order.part_rows, null=order.null,
            resume=order.resume, verify=order.verify, receipt=order.receipt, progress=progress,
            date=order.date, clock=clock,
        )  # fmt: skip
    receipts.write(receipt, order.receipt)
    if order.swap:
        receipt = _swap(order, order.swap, sink, receipt)
    return _close(order, receipt)


# --- who works ------------------------------------------------------------------------------


def _runner(shape: Shape, order: Order, *, alone: bool = False) -> Runner:
    """A cluster where one is named; else as many processes as there are cores and parts.

    ``alone``: the store lets one process in at a time, as embedded databases do.
    """
    if order.scheduler:
        if alone:
            raise StoreError(
                f"{_shown(order.source)}: only one process can open it or the target at a time: "
                "leave --scheduler out"
            )
        from efface.scale.dask import connect

        runner: Runner = connect(order.scheduler)
        return runner
    parts = -(-shape.rows // (order.part_rows or default_part_rows(shape)))
    workers = 1 if alone else min(order.workers or usable_cores(), parts)
    return Processes(workers) if workers > 1 else Serial()


def _alone(store: Source | Sink) -> bool:
    return bool(getattr(store, "local_only", False))


def usable_cores() -> int:
    """Cores that this process may use: fewer than the machine has, in a container or job."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --- the last steps -------------------------------------------------------------------------


def _swap(order: Order, live: str, sink: Sink, receipt: Receipt) -> Receipt:
    """Make the target the live one. The note says so first: a death in between is told apart."""
    swapped: Receipt = msgspec.structs.replace(receipt, swapped=live)
    note = Pending.read(order.receipt)
    Pending(job=note.job if note else "", swapping=live, receipt=swapped).write(order.receipt)
    with reaching(sink.place, "made the live one"):
        sink.swap(live)
    return _with_live(order, swapped)


def _with_live(order: Order, receipt: Receipt) -> Receipt:
    """The receipt once the swap is over, with what tells the live store from any later content."""
    with reaching(receipt.swapped, "read"):
        seen = addresses.open_source(_live(order, receipt.swapped)).fingerprint()
    done: Receipt = msgspec.structs.replace(receipt, live_fingerprint=seen)
    receipts.write(done, order.receipt)
    return done


def _done_before(order: Order, sink: Sink, projector: str) -> Receipt | None:
    """The receipt of this very command where the target is the live one already.

    Its work is under the live name then, which is often the source too. To start over would take
    clean vectors for raw ones and put them in the place of the same.
    """
    if not order.swap:
        return None
    note = Pending.read(order.receipt)
    if note is not None and note.swapping == order.swap and note.receipt is not None:
        return _after_death(order, sink, note.receipt)
    try:
        found = receipts.read(order.receipt)
        seen = addresses.open_source(_live(order, order.swap)).fingerprint()
    except (EffaceError, OSError):
        return None
    same = (found.target, found.projector.digest, found.swapped, found.live_fingerprint)
    return found if same == (sink.place, projector, order.swap, seen) else None


def _after_death(order: Order, sink: Sink, receipt: Receipt) -> Receipt | None:
    """The command died while it swapped: None where the target still has its own name."""
    if receipt.target != sink.place or _opens(order.target):
        return None
    if not _opens(_live(order, receipt.swapped)):
        raise StoreError(
            f"{sink.place}: neither it nor {receipt.swapped!r} can be opened, and an earlier run "
            f"was about to swap them: see to them, then remove {Pending.path(order.receipt)}"
        )
    return _with_live(order, receipt)


def _close(order: Order, receipt: Receipt) -> Receipt:
    Pending.path(order.receipt).unlink(missing_ok=True)
    return receipt


def _live(order: Order, live: str) -> Address:
    if order.target.table:
        return replace(order.target, table=live.rpartition("#")[2])
    return replace(order.target, location=live)


def _opens(address: Address) -> bool:
    try:
        return addresses.open_source(address).shape.rows >= 0
    except (EffaceError, OSError):
        return False


def _other_file(order: Order) -> None:
    """A file is never read and written at once, whatever it is called."""
    if order.source.table or order.target.table:
        return
    old, new = Path(order.source.location), Path(order.target.location)
    if old.exists() and new.exists() and new.samefile(old):
        raise StoreError(f"{new}: is the store that is read: give --out another name")


def _check_receipt(order: Order) -> None:
    """It replaces what has its name; that may be an older receipt and nothing else."""
    path = order.receipt
    targets = [Path(address.location) for address in (order.source, order.target)]
    if os.path.abspath(path) in map(os.path.abspath, targets):
        raise StoreError(f"{path}: is a store of this command: give another name with --receipt")
    if os.path.lexists(path):
        try:
            receipts.read(path)
        except StoreError as error:
            raise StoreError(f"{error}: give another name with --receipt, or remove it") from error


def _check_live(order: Order) -> None:
    """Before the work, and not after it: there has to be something to take over. A database looks
    itself, under its own lock, when it swaps."""
    if order.swap and not order.target.table and not Path(order.swap).exists():
        raise StoreError(
            f"{order.swap}: is not there, so nothing can take its place: check --swap, or leave it "
            "out and give the target this name"
        )


def _check_type(source: Source, made_for: str | None) -> None:
    """Vectors are released in the type of their store; rank and audit speak of one type only."""
    kept = source.shape.dtype
    if made_for is None or np.dtype(kept) == np.dtype(made_for):
        return
    finer = np.dtype(kept).itemsize > np.dtype(made_for).itemsize
    why = "finer numbers keep traces that rounding hides" if finer else "they round more coarsely"
    warnings.warn(
        f"{source.place}: holds {kept} and keeps it, but the projector was fitted for a release in "
        f"{made_for} ({why}): audit the vectors in {kept}, convert the store first, or fit "
        f"with --dtype {kept}", EffaceWarning, stacklevel=3,
    )  # fmt: skip


def _absolute(address: Address) -> Address:
    """As workers elsewhere find it: they do not stand in our folder."""
    if "://" in address.location:
        return address
    return replace(address, location=os.path.abspath(address.location))


def _shown(address: Address) -> str:
    """Without the location of a database: it may hold a password."""
    return f"{address.kind} {address.table}" if address.table else address.location
