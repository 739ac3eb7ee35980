"""Attributions of a small folder of rendered people, for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from seeing import SIDE, Seeing

from efface.attributing import cosines
from efface.attributing.cosines import Roles
from efface.attributing.run import attribution
from efface.attributing.settings import Settings
from efface.attributing.survey import Finder
from efface.attributions import Attribution
from efface.protect.linear.eraser import LinearEraser

SETTINGS = Settings(canvas=SIDE, bootstrap=200, occlusion=4.0, sigmas=(0.0, 2.0, 4.0))


def run(people: tuple[Path, Path], cache: Path | None, **changes: object) -> Attribution:
    images, faces = people
    given = {
        "encoders": [Seeing(0.5)], "settings": SETTINGS, "finder": Finder(faces=str(faces)),
        "cache": cache, **changes,
    }  # fmt: skip
    return attribution(images, **given)  # type: ignore[arg-type]


def eraser(dim: int, rank: int = 5) -> LinearEraser:
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((dim, rank)))[0]
    return LinearEraser(basis=basis, method="isp", identities=20)


def roles_of(monkeypatch: pytest.MonkeyPatch) -> list[Roles]:
    """The roles of the next run."""
    held: list[Roles] = []

    def kept(*given: object) -> Roles:
        held.append(cosines.roles(*given))  # type: ignore[arg-type]
        return held[-1]

    monkeypatch.setattr("efface.attributing.run.roles", kept)
    return held


def other_than(played: list[Roles], who: str, people: tuple[int, ...]) -> int:
    """Queries in which neither the query's person nor ``who`` is among these."""
    parts = played[0].people
    return int((~np.isin(parts["query"], people) & ~np.isin(parts[who], people)).sum())
