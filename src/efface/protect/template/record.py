"""A template as bytes, ``efface.template/1``: compact, versioned, with nothing to execute.

    "EFTP", format (1 byte), name of the scheme, its version (2 bytes), number of record parts and
    of helper parts (1 byte each), the parts in order of their names, 8 bytes of BLAKE2b over all.
    A name is a byte for its length and ASCII. A part is a name, a byte for its type, a byte for its
    number of axes, their lengths (4 bytes each) and the numbers. Everything is little-endian.

One template has one form: whatever is read packs to the same bytes. The digest notices accidents.
Who alters a template on purpose can renew it; that is for the scheme's hash or seal to notice.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import TemplateError
from efface.types import Parts, Template

MAGIC, FORMAT = b"EFTP", 1
_TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")
_LARGEST = 1 << 24
_MOST_AXES = 4
_SUM_BYTES = 8
_NAME = re.compile(rb"[a-z][a-z0-9_-]{0,63}")


def pack(template: Template) -> bytes:
    """The bytes of a template."""
    body = b"".join(
        [
            MAGIC,
            bytes([FORMAT]),
            _name(template.scheme),
            template.version.to_bytes(2, "little"),
            bytes([len(template.record), len(template.helper)]),
            *_packed(template.record),
            *_packed(template.helper),
        ]
    )
    if len(body) > _LARGEST:
        raise TemplateError("a template of more than 16 MB cannot be stored")
    return body + _digest(body)


def unpack(blob: bytes) -> Template:
    """The template, or a TemplateError: damaged, cut short, or of another format."""
    if len(blob) > _LARGEST + _SUM_BYTES or len(blob) < len(MAGIC) + 1 + _SUM_BYTES:
        raise TemplateError("these bytes are no template: they have the wrong size")
    if blob[: len(MAGIC)] != MAGIC:
        raise TemplateError("these bytes are no template")
    if blob[len(MAGIC)] != FORMAT:
        raise TemplateError(
            f"a template in format {blob[len(MAGIC)]}, this efface reads format {FORMAT}: use the "
            "efface that wrote it"
        )
    body = blob[:-_SUM_BYTES]
    if _digest(body) != blob[-_SUM_BYTES:]:
        raise _damaged()
    return _Reader(body, len(MAGIC) + 1).template()


class _Reader:
    """Reads from front to back; whatever does not fit is the same error."""

    def __init__(self, body: bytes, at: int) -> None:
        self.body = body
        self.at = at

    def template(self) -> Template:
        scheme, version = self.name(), int.from_bytes(self.take(2), "little")
        records, helpers = self.take(2)
        record, helper = self.parts(records), self.parts(helpers)
        if self.at != len(self.body):
            raise _damaged()
        return Template(scheme, version, record, helper)

    def take(self, count: int) -> bytes:
        taken = self.body[self.at : self.at + count]
        if len(taken) != count:
            raise _damaged()
        self.at += count
        return taken

    def name(self) -> str:
        raw = self.take(self.take(1)[0])
        if not _NAME.fullmatch(raw):
            raise _damaged()
        return raw.decode("ascii")

    def parts(self, count: int) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {}
        for _ in range(count):
            name = self.name()
            if found and name <= max(found):
                raise _damaged()
            found[name] = self.array()
        return found

    def array(self) -> NDArray[Any]:
        code, axes = self.take(2)
        if code >= len(_TYPES) or axes > _MOST_AXES:
            raise _damaged()
        shape = tuple(int.from_bytes(self.take(4), "little") for _ in range(axes))
        if not _storable(shape):
            raise _damaged()
        dtype = np.dtype("<" + _TYPES[code])
        raw = self.take(math.prod(shape) * dtype.itemsize)
        return np.frombuffer(raw, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _packed(parts: Parts | Mapping[str, NDArray[Any]]) -> list[bytes]:
    out = []
    for name in sorted(parts):
        array = parts[name]
        kind = f"{array.dtype.kind}{array.dtype.itemsize}"
        if kind not in _TYPES or array.ndim > _MOST_AXES or not _storable(array.shape):
            raise TemplateError(f"part {name!r} of a template cannot be stored as {array.dtype}")
        lengths = b"".join(length.to_bytes(4, "little") for length in array.shape)
        head = _name(name) + bytes([_TYPES.index(kind), array.ndim]) + lengths
        out.append(head + np.ascontiguousarray(array, "<" + kind).tobytes())
    return out


def _storable(shape: tuple[int, ...]) -> bool:
    """Whether no product of the lengths is out of bounds, zeros among them or not."""
    return math.prod(max(length, 1) for length in shape) <= _LARGEST


def _name(name: str) -> bytes:
    raw = name.encode("ascii", "replace")
    if not _NAME.fullmatch(raw):
        raise TemplateError(f"{name!r} cannot be stored as a name in a template")
    return bytes([len(raw)]) + raw


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_SUM_BYTES, person=b"efface-template").digest()


def _damaged() -> TemplateError:
    return TemplateError("this template is damaged: restore it, or enrol the person again")
