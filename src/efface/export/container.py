"""The bytes of a projector: a safetensors file that is sealed and has one form only.

The seal is the SHA-256 of the whole file with 64 zeros where the seal stands. So a changed byte is
noticed wherever it is, and any language can check it in a few lines.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import ArtefactError
from efface.export import strict_json

Tensors = Mapping[str, NDArray[np.float64]]
PathLike = str | os.PathLike[str]

REMEDY = "get a sound copy, or fit again"
MAX_HEADER = 100_000_000
"""The limit of the safetensors library; a million fitted people take a fifth of it."""
MAX_BYTES = 4 << 30
_BLANK = "0" * 64


def read_file(path: PathLike) -> bytes:
    """The bytes of an ordinary file whose header may be what it claims to be.

    Looks before it reads: a device, a pipe or another kind of file costs no memory.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ArtefactError(f"{path}: cannot be read (no ordinary file): check the path")
            _check_length(path, file.read(8), found.st_size)
            file.seek(0)
            return file.read(found.st_size)
    except OSError as error:
        raise ArtefactError(
            f"{path}: cannot be read ({error.strerror or error}): check the path"
        ) from error


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_length(path: PathLike, start: bytes, size: int) -> None:
    header = int.from_bytes(start, "little")
    if len(start) < 8 or header > size - 8:
        raise ArtefactError(f"{path}: is truncated or no safetensors file: {REMEDY}")
    if header > MAX_HEADER or size > MAX_BYTES:
        raise ArtefactError(f"{path}: is too large for a projector: {REMEDY}")


def pack(tensors: Tensors, strings: Mapping[str, str]) -> bytes:
    """The sealed file: the same bytes for the same content. The library alone shuffles."""
    from safetensors.numpy import save

    blob = save(dict(tensors))
    size = int.from_bytes(blob[:8], "little")
    entries = json.loads(blob[8 : 8 + size])
    words = dict(sorted({**strings, "seal": _BLANK}.items()))
    header = json.dumps(
        {"__metadata__": words, **entries}, separators=(",", ":"), ensure_ascii=False
    ).encode()
    header += b" " * (-len(header) % 8)
    blank = len(header).to_bytes(8, "little") + header + blob[8 + size :]
    return blank.replace(_mark(_BLANK), _mark(hashlib.sha256(blank).hexdigest()), 1)


def strings_of(path: PathLike, blob: bytes) -> dict[str, str]:
    """The metadata in the header."""
    _check_length(path, blob[:8], len(blob))
    try:
        header = strict_json.parse(blob[8 : 8 + int.from_bytes(blob[:8], "little")])
        strings = header.get("__metadata__", {})
        sound = all(isinstance(value, str) for value in strings.values())
    except (ValueError, AttributeError):
        sound = False
    if not sound:
        raise ArtefactError(f"{path}: is no safetensors file: {REMEDY}")
    return dict(strings)


def check_seal(path: PathLike, blob: bytes, seal: str) -> None:
    """Every byte of the file must be the one that was sealed."""
    mark = _mark(seal)
    # Quotes inside a string are escaped, so the mark can stand nowhere but in its own place.
    if not re.fullmatch("[0-9a-f]{64}", seal) or blob.count(mark) != 1:
        raise damaged(path, "it has no seal")
    if hashlib.sha256(blob.replace(mark, _mark(_BLANK), 1)).hexdigest() != seal:
        raise damaged(path, "its seal does not match its content")


def _mark(seal: str) -> bytes:
    return f'"seal":"{seal}"'.encode()


def tensors_of(path: PathLike, blob: bytes) -> dict[str, NDArray[np.float64]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors: dict[str, NDArray[Any]] = load(blob)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(path, f"its tensors cannot be read ({error})") from error
    for name, tensor in tensors.items():
        if tensor.dtype != np.float64:
            raise ArtefactError(f"{path}: tensor {name!r} is {tensor.dtype}, not float64: {REMEDY}")
        if not np.isfinite(tensor).all():
            raise ArtefactError(
                f"{path}: tensor {name!r} holds a value that is not finite: {REMEDY}"
            )
    return tensors


def damaged(path: PathLike, what: str) -> ArtefactError:
    return ArtefactError(f"{path}: is damaged or was changed: {what}; {REMEDY}")
