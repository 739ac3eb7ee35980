"""The whole way on worlds that efface makes itself: what ``make demo`` runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from efface.demo import pictures, vectors


def run(folder: Path, seed: int) -> Iterator[str]:
    """Vectors first, for which nothing but efface is needed; then pictures, where dlib is there
    to encode them. Yields a line for each step."""
    yield from vectors.run(folder, seed)
    if importlib.util.find_spec("dlib") is None:
        yield "   pictures are left out: no encoder is installed (pip install 'efface[dlib]')"
        return
    yield from pictures.run(folder / "pictures", seed)
