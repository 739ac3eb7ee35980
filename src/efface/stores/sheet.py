"""Labelled rows of any file as a sheet: unit vectors in one ``.npy`` that all workers can map."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from efface.data.atomic import atomic_write
from efface.data.vectors import unit_rows
from efface.errors import DataError
from efface.scale.moments import PART_ROWS, Labelled
from efface.scale.sheet import Sheet


def lay_out(source: Labelled, path: str | Path) -> tuple[Sheet, list[Hashable]]:
    """Write the rows as unit float32 vectors, in their order; also the person behind each code.

    The file appears whole or not at all. Sort the source by person where you can: a worker then
    reads its rows in one go.
    """
    number: dict[Hashable, int] = {}
    codes: list[int] = []
    with atomic_write(Path(path)) as partial, partial.open("wb") as out:
        _header(out, 0, source.dim)
        begin = out.tell()
        for part in source.parts(PART_ROWS):
            for block in source.blocks(part):
                rows = unit_rows(block.vectors, f"{block.place}, from row {block.start} on")
                out.write(np.ascontiguousarray(rows, "<f4").data)
                codes += [number.setdefault(name, len(number)) for name in block.labels.tolist()]
        out.seek(0)
        _header(out, len(codes), source.dim)
        if out.tell() != begin:
            raise DataError(f"{path}: too many rows for one .npy file: use several")
    return Sheet(str(path), np.array(codes, np.int64)), list(number)


def _header(out: BinaryIO, rows: int, dim: int) -> None:
    """NumPy leaves room in a header for more rows, so it can be written again when they are
    counted."""
    what: dict[str, Any] = {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)}
    npy.write_array_header_1_0(out, what)
