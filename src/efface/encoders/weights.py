"""What identifies an encoder: the SHA-256 of its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from efface.errors import ArtefactError

_CHUNK = 1 << 20


def digest(files: Sequence[Path]) -> str:
    """SHA-256 of one file. Of several: of the lines ``digest  name`` that ``sha256sum`` prints for
    them, sorted by name, so that anyone can compute it again."""
    if len(files) == 1:
        return file_digest(files[0])
    lines = [f"{file_digest(path)}  {path.name}\n" for path in sorted(files, key=_name)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file of any size."""
    sha = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                sha.update(chunk)
    except OSError as error:
        raise ArtefactError(
            f"{path}: the weights cannot be read ({error.strerror or error}): check the path"
        ) from error
    return sha.hexdigest()


def existing(path: str | Path) -> Path:
    """The path of a file of weights, if it is one."""
    file = Path(path)
    try:
        found, size = file.is_file(), file.stat().st_size if file.exists() else 0
    except OSError as error:  # a name too long for the disk, for example
        raise ArtefactError(f"{file}: cannot be read ({error.strerror}): check the path") from error
    if not found:
        raise ArtefactError(f"{file}: no such file of weights: check the path")
    if not size:
        raise ArtefactError(f"{file}: the file is empty: get a sound copy")
    return file


def _name(path: Path) -> str:
    return path.name


def refuse_other(place: Path, found: str, declared: str | None) -> None:
    """Weights are those that were declared, or they are not used."""
    if declared is not None and found != declared:
        raise ArtefactError(
            f"{place}: the weights have SHA-256 {found}, declared is {declared}: get the file that "
            "was declared, or correct the declaration"
        )
