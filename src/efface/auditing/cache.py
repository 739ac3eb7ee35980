"""Measurements by case hash: a case that was played is not played again."""

from __future__ import annotations

from pathlib import Path

import msgspec

from efface.data.atomic import atomic_write
from efface.results import Case, Measurement


class Cache:
    """One JSON file per case. A damaged or foreign entry is played again, never trusted."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def get(self, case: Case, extra: str) -> Measurement | None:
        """``extra`` names what the case does not hold: bootstrap size, level, rows."""
        try:
            found = msgspec.json.decode(self._path(case, extra).read_bytes(), type=Measurement)
        except (OSError, msgspec.DecodeError):
            return None
        return found if found.case == case else None

    def put(self, measurement: Measurement, extra: str) -> None:
        path = self._path(measurement.case, extra)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            partial.write_bytes(msgspec.json.encode(measurement, order="deterministic"))

    def _path(self, case: Case, extra: str) -> Path:
        import hashlib

        key = hashlib.sha256(f"{case.key()} {extra}".encode()).hexdigest()
        return self.folder / key[:2] / f"{key}.json"
