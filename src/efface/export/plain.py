"""A fitted eraser for other languages: JSON (``efface.projector-json/1``), or NumPy's ``.npz``.

The JSON holds everything as numbers and plain words, matrices row by row (``basis[i][k]`` is row
i of d, column k of r), and test vectors with the outputs that a port has to reproduce.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface._version import __version__
from efface.export.files import PathLike, write_whole
from efface.export.tolerance import residue, tolerance
from efface.protect.linear.eraser import LinearEraser

FORMAT = "efface.projector-json/1"
TESTS = 4


def to_json(eraser: LinearEraser) -> str:
    """The eraser and its test vectors; the same text for the same eraser."""
    raw, clean = _test_vectors(eraser)
    allowed = tolerance(eraser, raw, out="float64")
    return json.dumps(
        {
            "format": FORMAT,
            "efface": __version__,
            "digest": eraser.digest(),
            "method": eraser.method,
            "dim": eraser.dim,
            "rank": eraser.rank,
            "normalise": eraser.normalise,
            "residue": residue(np.float32),
            "mean": _numbers(eraser.mean),
            "basis": _numbers(eraser.basis),
            "dual": _numbers(eraser.dual),
            "tests": [
                {"raw": a.tolist(), "clean": b.tolist(), "tolerance": float(c)}
                for a, b, c in zip(raw, clean, allowed, strict=True)
            ],
        },
        allow_nan=False,
    )


def save_json(eraser: LinearEraser, path: PathLike) -> None:
    write_whole(path, f"{to_json(eraser)}\n".encode())


def save_npz(eraser: LinearEraser, path: PathLike) -> None:
    """Arrays ``basis``, where the eraser has them ``dual`` and ``mean``, ``normalise``, ``digest``.

    No array of objects: ``numpy.load`` reads it with pickle forbidden, as it is by default.
    """
    arrays: dict[str, Any] = {"basis": eraser.basis, "dual": eraser.dual, "mean": eraser.mean}
    given = {name: value for name, value in arrays.items() if value is not None}
    file = io.BytesIO()
    np.savez(
        file,
        allow_pickle=False,
        normalise=np.bool_(eraser.normalise),
        digest=np.str_(eraser.digest()),
        **given,
    )
    write_whole(path, file.getvalue())


def _test_vectors(eraser: LinearEraser) -> tuple[NDArray[Any], NDArray[Any]]:
    """A few raw vectors, always the same, and what the Python transform makes of them."""
    raw = np.random.default_rng(0).standard_normal((TESTS, eraser.dim))
    raw = raw.astype(np.float32).astype(np.float64)  # short numbers that any type holds
    return raw, eraser.transform(raw)


def _numbers(array: NDArray[np.float64] | None) -> Any:
    return None if array is None else array.tolist()
