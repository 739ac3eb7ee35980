"""Vectors as the server sends them in binary: every bit of every number as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import StoreError

STORED = {"vector": "float32", "halfvec": "float16", "_float4": "float32", "_float8": "float64"}
"""Types of PostgreSQL that hold vectors, by the server's own names, and the type of a number."""

_ELEMENT_OID = {"_float4": 700, "_float8": 701}


def layout(kind: str, dim: int) -> np.dtype[Any]:
    """The bytes of one vector: pgvector's own header, or that of a one-dimensional array."""
    number = np.dtype(STORED[kind]).newbyteorder(">")
    if kind in _ELEMENT_OID:
        head = [(name, ">i4") for name in ("ndim", "nulls", "oid", "dim", "low")]
        return np.dtype([*head, ("cells", np.dtype([("size", ">i4"), ("x", number)]), (dim,))])
    return np.dtype([("dim", ">i2"), ("unused", ">i2"), ("cells", np.dtype([("x", number)]), dim)])


def encode(vectors: NDArray[Any], kind: str) -> list[bytes]:
    """One byte string per row."""
    form = layout(kind, vectors.shape[1])
    packed = np.zeros(len(vectors), form)
    packed["dim"] = vectors.shape[1]
    packed["cells"]["x"] = vectors
    if kind in _ELEMENT_OID:
        packed["ndim"] = packed["low"] = 1
        packed["oid"] = _ELEMENT_OID[kind]
        packed["cells"]["size"] = form["cells"].base["x"].itemsize
    flat, size = packed.tobytes(), form.itemsize
    return [flat[start : start + size] for start in range(0, len(flat), size)]


def decode(
    raw: Sequence[bytes | None], kind: str, dim: int, labels: Sequence[Any], where: str
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Vectors, and which rows have one; zeros stand where none is."""
    form = layout(kind, dim)
    present = np.fromiter((r is not None for r in raw), np.bool_, len(raw))
    held = [r for r in raw if r is not None]
    bad = [
        at
        for at, r in zip(np.flatnonzero(present).tolist(), held, strict=True)
        if not _fits(r, form)
    ]
    if bad:
        rows = ", ".join(str(labels[at]) for at in bad[:5])
        raise StoreError(
            f"{where}: {len(bad)} rows have no vector of {dim} numbers, among them key {rows} "
            "(another length, or NULL inside: correct or remove them)"
        )
    vectors = np.zeros((len(raw), dim), STORED[kind])
    vectors[present] = np.frombuffer(b"".join(held), form)["cells"]["x"]
    return vectors, present


def _fits(raw: bytes, form: np.dtype[Any]) -> bool:
    if len(raw) != form.itemsize:
        return False
    return "ndim" not in (form.names or ()) or raw[:8] == b"\0\0\0\1\0\0\0\0"
