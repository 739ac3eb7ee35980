"""A reduced basis as a small npz file: numbers only, checked against its seed when it is read."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np

from efface.data.atomic import atomic_write
from efface.errors import TemplateError
from efface.hazmat.expand import SEED_BYTES
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import METHOD, Basis

_LARGEST = 64 << 20
_FORMAT = 1


def write_basis(path: Path, basis: Basis) -> None:
    """The file is there whole or not at all."""
    shape = basis.lattice.shape
    narrow = np.abs(basis.rows).max() < 1 << 31
    with atomic_write(path) as partial, partial.open("wb") as file:
        np.savez_compressed(
            file,
            format=np.int64(_FORMAT),
            shape=np.array([shape.m, shape.l, shape.q], np.int64),
            seed=np.frombuffer(basis.lattice.seed, np.uint8),
            rows=basis.rows.astype(np.int32 if narrow else np.int64),
            method=np.frombuffer(basis.method.encode(), np.uint8),
        )


def read_basis(path: Path) -> Basis:
    """The basis; a TemplateError if it is unreadable, of another format or not of its seed."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError("too large")
        with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as found:
            parts = {name: found[name] for name in found.files}
        return _basis(parts)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise TemplateError(f"{path}: is no basis that can be read: remove the file") from error


def _basis(parts: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> Basis:
    if int(parts["format"]) != _FORMAT:
        raise ValueError("another format")
    m, l, q = (int(n) for n in parts["shape"])  # noqa: E741
    seed, rows = parts["seed"].tobytes(), parts["rows"]
    if len(seed) != SEED_BYTES or rows.shape != (m, m) or rows.dtype.kind != "i":
        raise ValueError("another form")
    method = parts["method"].tobytes().decode("ascii")
    if method != METHOD:
        raise ValueError("another reduction")
    basis = Basis(Lattice(Shape(m, l, q), seed), rows.astype(np.int64), method)
    basis.check()
    return basis
