"""One picture of a source: its name, who is on it, and where its bytes are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from efface.errors import PictureError

MAX_BYTES = 1 << 30
_USUAL = ".jpg .jpeg .jpe .jfif .mpo .png .webp .gif .bmp .dib .tif .tiff .jp2 .j2k .avif"
ENDINGS = frozenset(f"{_USUAL} .ppm .pgm .pbm .pnm .heic .heif".split(" "))
"""What is taken for a picture by its name. HEIC cannot be read here, and is listed as such."""


@dataclass(frozen=True)
class Entry:
    """``problem`` says why it cannot be used, where that shows without opening it."""

    name: str
    identity: str
    file: str
    start: int = 0
    size: int | None = None
    """Bytes of it, from ``start``; None for all of the file."""
    problem: str = ""
    extra: tuple[str, ...] = ()
    """Values of the source's further columns."""

    def read(self) -> bytes:
        """The bytes; PictureError where there are none, or too many to be a picture."""
        if self.problem:
            raise PictureError("no identity", self.problem)
        try:
            size = os.stat(self.file).st_size if self.size is None else self.size
            if size > MAX_BYTES:
                raise PictureError("too large", f"a file of {size:,} bytes")
            with open(self.file, "rb") as file:
                file.seek(self.start)
                data = file.read(size)
        except (OSError, ValueError) as error:  # ValueError for a name that no file can have
            raise PictureError(*_why(error)) from error
        if len(data) < size:
            raise PictureError(
                "damaged", f"the archive ends within it: {len(data)} of {size} bytes"
            )
        return data


@runtime_checkable
class Source(Protocol):
    """Pictures in an order that does not change; listed as often as one likes, never held."""

    place: str
    rule: str
    """How identities are told, in words."""
    columns: tuple[str, ...]
    """Names of the further columns."""

    def entries(self) -> Iterator[Entry]: ...

    def passed_over(self) -> dict[str, int]:
        """What the last listing did not take for pictures: how many files of each ending."""
        ...


def printable(name: str) -> str:
    """A file's name as UTF-8: bytes that are none become ``\\xNN``."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def ending_of(name: str) -> str:
    """What a file that is not taken for a picture is counted under."""
    ending = os.path.splitext(name)[1].lower()
    return "hidden" if name.startswith(".") else printable(ending or "no ending")


def is_picture(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in ENDINGS and not name.startswith(".")


def _why(error: OSError | ValueError) -> tuple[str, str]:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "missing", "there is no such file"
    if isinstance(error, IsADirectoryError):
        return "not a picture", "is a folder"
    if isinstance(error, PermissionError):
        return "no permission", "there is no permission to read it"
    return "cannot be read", getattr(error, "strerror", None) or str(error)
