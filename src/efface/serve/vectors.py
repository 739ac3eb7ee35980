"""Bodies to vectors and back: float32, checked row by row, the same form out as in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from efface.errors import EraserError
from efface.protect.linear.eraser import LinearEraser
from efface.serve.problem import Problem, bad_row

JSON, BINARY = "application/json", "application/octet-stream"
Floats = NDArray[np.float32]
_SMALL = 1 << 20
"""Bytes of JSON that are decoded in one go."""
_BATCH = re.compile(rb"\[\s*\[")
_LITTLE = np.dtype("<f4")


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    vectors: msgspec.Raw


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    vectors: list[list[float]]


_batch = msgspec.json.Decoder(_Batch)
# Row by row, because a decoder holds the interpreter: between two rows the server gets its turn.
_body = msgspec.json.Decoder(_Body)
_rows = msgspec.json.Decoder(list[msgspec.Raw])
_numbers = msgspec.json.Decoder(list[float])
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Answer:
    body: bytes
    rows: int


def answer(eraser: LinearEraser, form: str, body: bytes | bytearray, max_batch: int) -> Answer:
    """The whole work of a request; runs in a thread."""
    read: Callable[[bytes | bytearray, int, int], Floats]
    read = read_binary if form == BINARY else read_json
    vectors = read(body, eraser.dim, max_batch)
    erased = erase(eraser, vectors)
    write = write_binary if form == BINARY else write_json
    return Answer(write(erased), 1 if erased.ndim == 1 else len(erased))


def erase(eraser: LinearEraser, vectors: Floats) -> Floats:
    """Exactly ``eraser.transform``; where it refuses, a problem that names the row."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            erased: Floats = eraser.transform(vectors)
    except EraserError as error:
        _check(np.atleast_2d(vectors), eraser.normalise)
        raise Problem(422, "nothing-left", str(error)) from error
    if not eraser.normalise:  # unit rows are finite, others may be too large for float32
        _check(np.atleast_2d(erased), False, "after erasure")
    return erased


def _check(vectors: Floats, directed: bool, when: str = "") -> None:
    finite = np.isfinite(vectors)
    if not finite.all():
        row = int(np.flatnonzero(~finite.all(axis=1))[0])
        raise bad_row(row, f"holds a value that is not finite in float32 {when}".rstrip())
    if directed:
        zero = np.flatnonzero(~vectors.any(axis=1))
        if zero.size:
            raise bad_row(int(zero[0]), "is all zero and has no direction")


def check_rows(rows: int, max_batch: int) -> None:
    if not rows:
        raise Problem(422, "no-vectors", "the body holds no vector: send at least one")
    if rows > max_batch:
        raise Problem(
            413, "batch-too-large", f"{rows} vectors in one request: send at most {max_batch}"
        )


# --- binary ---------------------------------------------------------------------------------


def read_binary(body: bytes | bytearray, dim: int, max_batch: int) -> Floats:
    """Rows of float32, little endian, one after another."""
    rows, rest = divmod(len(body), _LITTLE.itemsize * dim)
    if rest:
        raise Problem(
            422,
            "wrong-dimension",
            f"{len(body)} bytes are no whole number of {dim}-dimensional float32 vectors "
            f"({_LITTLE.itemsize * dim} bytes each)",
        )
    check_rows(rows, max_batch)
    return np.frombuffer(body, _LITTLE).reshape(rows, dim)


def write_binary(erased: Floats) -> bytes:
    return erased.astype(_LITTLE, copy=False).tobytes()


# --- JSON -----------------------------------------------------------------------------------


def read_json(body: bytes | bytearray, dim: int, max_batch: int) -> Floats:
    """``{"vectors": [[...], ...]}``, or one vector: ``{"vectors": [...]}``."""
    vectors = _read_small(body, dim, max_batch) if len(body) <= _SMALL else None
    return vectors if vectors is not None else _read_rows(body, dim, max_batch)


def _read_small(body: bytes | bytearray, dim: int, max_batch: int) -> Floats | None:
    """A sound batch in one go; None for anything else, which :func:`_read_rows` looks into."""
    try:
        rows = _batch.decode(body).vectors
        if not 0 < len(rows) <= max_batch or any(len(row) != dim for row in rows):
            return None
        flat = np.fromiter(chain.from_iterable(rows), np.float64, len(rows) * dim)
    except (msgspec.DecodeError, RecursionError):
        return None
    return _narrow(flat).reshape(len(rows), dim)


def _read_rows(body: bytes | bytearray, dim: int, max_batch: int) -> Floats:
    _count(body, dim, max_batch)
    return _rows_from(bytes(decoded(_body.decode, body).vectors), dim, max_batch)


def rows_of(raw: bytes, dim: int, max_batch: int) -> Floats:
    """The JSON of a list of vectors, or of one vector."""
    _count(raw, dim, max_batch)
    return _rows_from(raw, dim, max_batch)


def _count(text: bytes | bytearray, dim: int, max_batch: int) -> None:
    """Before anything is decoded: a small body of empty lists must not become large objects."""
    if text.count(b"[") > max_batch + 1 or text.count(b",") > max_batch * (dim + 1):
        raise Problem(
            413,
            "batch-too-large",
            f"more than {max_batch} vectors of {dim} numbers in one request: send fewer",
        )


def _rows_from(raw: bytes, dim: int, max_batch: int) -> Floats:
    if not raw.startswith(b"["):
        raise Problem(422, "bad-json", "'vectors' is no list: send a list of vectors")
    if not _BATCH.match(raw):
        return _vector(raw, dim, None)
    rows = decoded(_rows.decode, raw)
    check_rows(len(rows), max_batch)
    vectors = np.empty((len(rows), dim), np.float32)
    for number, row in enumerate(rows):
        vectors[number] = _vector(row, dim, number)
    return vectors


def decoded(decode: Callable[[Any], Any], text: Any) -> Any:
    try:
        return decode(text)
    except msgspec.ValidationError as error:
        raise Problem(422, "bad-json", f"the body is not understood: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Problem(400, "bad-json", f"the body is no JSON: {error}") from None


def _vector(raw: Any, dim: int, row: int | None) -> Floats:
    """One vector of the right length; ``row`` is None for a request of one vector."""
    try:
        numbers = _numbers.decode(raw)
    except msgspec.ValidationError as error:
        raise bad_row(row or 0, f"is no list of numbers: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Problem(400, "bad-json", f"the body is no JSON: {error}") from None
    if not numbers and row is None:
        check_rows(0, 1)
    if len(numbers) != dim:
        reason = "ragged" if row else "wrong-dimension"
        raise bad_row(row or 0, f"has {len(numbers)} numbers, {dim} are needed", reason)
    return _narrow(np.array(numbers, np.float64))


def _narrow(numbers: NDArray[np.float64]) -> Floats:
    with np.errstate(over="ignore"):  # an infinity is refused by row
        return numbers.astype(np.float32)


def write_json(erased: Floats) -> bytes:
    """Every number so that it reads back as the same float32."""
    if erased.ndim == 1:
        return b'{"vectors":' + _encode(erased.tolist()) + b"}"
    return b'{"vectors":[' + b",".join(_encode(row.tolist()) for row in erased) + b"]}"
