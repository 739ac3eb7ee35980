"""An audit written down: TOML to the arguments of ``efface.audit``. Unknown keys are refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from efface.auditing.attack_names import check_name
from efface.auditing.protections import as_protection
from efface.errors import EffaceError, PlanError
from efface.registry import make, nearest
from efface.results import Mode, Spec
from efface.types import Protection

S = TypeVar("S", bound=msgspec.Struct)


class SplitPlan(msgspec.Struct, frozen=True):
    """Shares or counts of people; ``column`` names a column that holds the parts instead."""

    fit: float | int = 0.4
    shadow: float | int | None = None
    calibration: float | int = 0.2
    test: float | int = 0.2
    column: str | None = None


class AuditPlan(msgspec.Struct, frozen=True):
    """Everything that makes an audit, but the data."""

    title: str = ""
    identity: str = "identity"
    embedding: str | None = None
    images: int | None = None
    """Keep exactly so many images of each person that has them."""
    min_images: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Leave out people with fewer images; keep all images of the others."""
    split: SplitPlan = SplitPlan()
    protect: list[dict[str, Any]] = []
    attack: list[dict[str, Any]] = []
    far: float = 1e-3
    mode: Mode = "strong"
    shots: tuple[int, ...] = (1, 4, 16)
    resamples: int = 5
    quota: int | None = 5
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    fail_above: float | None = None
    target: float | None = None
    auto: Literal["privacy", "coverage"] = "privacy"
    sweep: tuple[Literal["rank", "people"], ...] = ("rank", "people")
    bootstrap: int = 2000
    level: float = 0.95

    def protections(self) -> list[Protection]:
        """The erasers named, each checked against its own parameters."""
        return [as_protection(spec) for spec in _specs(self.protect, "protection")]

    def attacks(self) -> list[Spec] | None:
        """The attackers named; None (all of them) if none is."""
        return _specs(self.attack, "attack") or None


def read_plan(path: str | Path) -> AuditPlan:
    """A plan from a TOML file; whom it names is known and has these parameters."""
    plan = parse(read_toml(path), AuditPlan, str(path))
    try:
        plan.protections()
        plan.attacks()
    except EffaceError as error:
        raise PlanError(f"{path}: {error}") from error
    return plan


def read_toml(path: str | Path) -> dict[str, Any]:
    """The table in a TOML file, with a plain error if it is not one."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror or error}: check the path of the plan") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: not a TOML file: {error}") from error


def parse(table: Mapping[str, Any], kind: type[S], source: str) -> S:
    """A table as a plan of this kind; every key must be known."""
    _check_keys(table, kind, source)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise PlanError(f"{source}: {error}") from error


def _check_keys(table: Mapping[str, Any], kind: type[msgspec.Struct], where: str) -> None:
    fields = {f.encode_name: f.type for f in msgspec.structs.fields(kind)}
    for key, value in table.items():
        if key not in fields:
            raise PlanError(f"{where}: unknown key {key!r}{nearest(key, list(fields))}")
        inner = _struct_in(fields[key])
        if inner is None:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                _check_keys(item, inner, f"{where}: {key}")


def _struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """The struct that a field holds, alone, optional or in a list."""
    for candidate in (kind, *getattr(kind, "__args__", ())):
        if isinstance(candidate, type) and issubclass(candidate, msgspec.Struct):
            return candidate
    return None


def _specs(entries: list[dict[str, Any]], role: str) -> list[Spec]:
    specs = []
    for entry in entries:
        name = entry.get("name")
        if not isinstance(name, str):
            raise PlanError(f"every [[{role[:7]}]] of a plan needs a name, this one has {entry}")
        params = {
            k: tuple(v) if isinstance(v, list) else v for k, v in entry.items() if k != "name"
        }
        if role == "attack":
            check_name(name)
        make(role, name, **params)
        specs.append(Spec(name.lower(), params))
    return specs
