"""Write an exported file whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from efface.errors import ArtefactError

PathLike = str | os.PathLike[str]


def write_whole(path: PathLike, blob: bytes) -> None:
    """Beside the target, flushed, then put in its place: a crash leaves the old file or the new."""
    with whole_file(path) as partial:
        partial.write_bytes(blob)


@contextmanager
def whole_file(path: PathLike) -> Iterator[Path]:
    """A path beside the target to write to; it takes the target's name if the body succeeds."""
    target = Path(os.path.realpath(path))  # through a link, so that the link stays one
    partial = target.with_name(f"{target.name[:40]}.{secrets.token_hex(8)}.partial")
    try:
        partial.open("xb").close()
        yield partial
        flush(partial)
        os.replace(partial, target)
    except OSError as error:
        raise ArtefactError(
            f"{path}: cannot be written ({error.strerror or error}): choose another folder, or "
            "make room and give write permission"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Make the bytes of a file survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
