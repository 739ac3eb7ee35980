"""A finished file or folder takes over a live name, at once; also when a death cuts it short."""

from __future__ import annotations

import os
from pathlib import Path

from efface.errors import StoreError
from efface.stores import disk
from efface.stores.workfolder import Record, is_made, read_record, record_path, write_record


def swap(target: Path, live: Path) -> None:
    """What was live is kept as ``<live>.before-efface``. Doing it twice is one swap: the record
    beside the target knows the file or folder by its inode."""
    if is_made(read_record(live), live):
        return
    record = read_record(target)
    if record is None or not is_made(record, target):
        raise StoreError(f"{target}: is not what this job made: nothing was swapped")
    _check(target, live)
    with disk.writing(live):
        going = Record(record.job, record.entries, record.made, str(live.absolute()))
        write_record(target, going)
        disk.take_over(target, live, before(live))
        settle(target)


def settle(target: Path) -> None:
    """End a swap that a death cut short, and move the record along with what it speaks of."""
    record = read_record(target)
    if record is None or not record.live or not is_made(record, Path(record.live)):
        return
    live = Path(record.live)
    with disk.writing(target):
        disk.settle(target, live, before(live))
        write_record(live, Record(record.job, record.entries, record.made))
        record_path(target).unlink(missing_ok=True)


def before(live: Path) -> Path:
    return live.with_name(f"{live.name}.before-efface")


def _check(target: Path, live: Path) -> None:
    word = "folder" if target.is_dir() else "file"
    if live.is_symlink() or not live.exists() or live.is_dir() != target.is_dir():
        raise StoreError(f"{live}: is no {word} that {target} could take over: rename by hand")
    if os.path.lexists(before(live)):
        raise StoreError(f"{before(live)}: is there from an earlier swap: remove or rename it")
    if live.stat().st_dev != target.stat().st_dev:
        raise StoreError(
            f"{live}: is on another disk than {target}, where no name changes at once: write the "
            "target beside it with --out"
        )
