"""Papers as plans: their protocol, their tables and their own figures, read from TOML."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import Literal

import msgspec

from efface.auditing.plan import SplitPlan, parse, read_toml
from efface.errors import PlanError
from efface.registry import nearest

Cell = float | str


class PaperTable(msgspec.Struct, frozen=True):
    """One table of a paper; ``rows`` are the paper's figures in per cent."""

    number: str
    kind: Literal["shots", "rank", "people", "utility", "threshold", "recovery", "correction"]
    caption: str
    rows: list[list[Cell]]
    attack: str = "ridge"
    releases: tuple[Literal["raw", "isp-w", "isp-x"], ...] = ("raw",)
    shots: tuple[int, ...] = (16,)
    ranks: list[int] = []
    people: list[int] = []
    methods: list[str] = []
    tasks: list[str] = []
    scheme: str = ""
    params: dict[str, float] = {}
    genuine: float | None = None


TEMPLATE_KINDS = ("threshold", "recovery", "correction")
"""Tables about stored templates."""


class Paper(msgspec.Struct, frozen=True):
    """A paper's protocol and tables."""

    title: str
    citation: str
    table: list[PaperTable]
    far: float = 1e-4
    resamples: int = 5
    quota: int | None = 5
    images: int = 20
    rank: int = 192
    split: SplitPlan = SplitPlan()


def papers() -> list[str]:
    """Names of the papers that come with the package."""
    return sorted(p.name.removesuffix(".toml") for p in _folder().iterdir() if p.suffix == ".toml")


def read_paper(name: str) -> Paper:
    """A paper by name, or a plan of your own by path."""
    path = Path(name) if name.endswith(".toml") else _folder() / f"{name}.toml"
    if not path.is_file():
        raise PlanError(f"no paper named {name!r}{nearest(name, papers())}")
    return parse(read_toml(path), Paper, str(path))


def _folder() -> Path:
    """Inside an installed package, or beside the sources of a checkout."""
    inside = Path(str(importlib.resources.files("efface"))) / "papers"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "papers"
