"""Tables about stored templates, at the level of embeddings: what is near enough to be a person."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from efface.auditing.meter import Meter
from efface.auditing.meter_scene import MeterRules, MeterScene
from efface.auditing.papers import PaperTable
from efface.auditing.printed import Printed, percent, printed_table
from efface.errors import EffaceWarning, PlanError
from efface.judge.template import random_guess, share
from efface.progress import Progress
from efface.protect.template.bases import Shared
from efface.protect.template.radius import genuine_borders
from efface.registry import make
from efface.results import Spec
from efface.types import Samples

_CALIBRATION = 300
_BASES = 2
_M = 180
"""Rows of the lattice in the paper."""
COLUMNS = {"threshold": ["t", "TPR %", "FPR %"], "correction": ["TPR %", "FNR %", "FPR %", "TNR %"]}


def template_tables(
    wanted: Sequence[PaperTable], data: Sequence[Samples], *, seed: int = 0, bootstrap: int = 2000
) -> list[Printed]:
    """Each table on the people of the first data set; the attacker has those of the second, or half
    of the people where there is none."""
    users, population = data[0], data[1] if len(data) > 1 else None
    rules = MeterRules(bases=0, bootstrap=max(200, bootstrap), seed=seed)
    bases = Shared(_BASES)  # LLL once for all tables of one shape
    with Progress[Printed]("reproduce", len(wanted), unit="table") as tick:
        return [tick(_table(table, users, population, rules, bases)) for table in wanted]


def _table(
    table: PaperTable, users: Samples, population: Samples | None, rules: MeterRules, bases: Shared
) -> Printed:
    if table.kind == "threshold":
        plain = make("scheme", "facial-fe", scale=1.0)  # what is enrolled plays no part here
        scene = MeterScene.of(users, population, plain, rules)
        return _threshold(table, scene, rules)
    rows: list[list[str]] = []
    notes = _smaller(table, users.dim)
    for model, scheme in _schemes(table, users, population, rules, bases):
        scene = MeterScene.of(users, population, scheme, rules)
        meter = Meter(scene, rules, None)
        if table.kind == "correction":
            tpr, fpr = meter.rates()
            cells = [percent(e) for e in (tpr, _other(tpr), fpr, _other(fpr))]
        else:
            cells = [_cell(meter, column) for column in table.methods]
        model = f"m = {users.dim}, {model}" if _smaller(table, users.dim) else model
        rows.append([users.dataset, model, *cells])
        notes += [*scene.notes, f"t = {meter.t:.3f}, from pairs of the population"]
    if table.scheme == "l2fe-hash":
        notes.append(f"people share {_BASES} lattices, with a secret each")
    columns = COLUMNS.get(table.kind) or [f"{name} %" for name in table.methods]
    return printed_table(table, columns, rows, notes)


def _smaller(table: PaperTable, dim: int) -> list[str]:
    """What is said where the vectors are too short for the paper's lattice."""
    asked = table.params.get("m", _M)
    if table.scheme != "l2fe-hash" or asked <= dim:
        return []
    return [f"measured with m = {dim} in place of m = {asked:g}: these vectors have {dim} numbers"]


def _schemes(
    table: PaperTable, users: Samples, population: Samples | None, rules: MeterRules, bases: Shared
) -> list[tuple[str, Any]]:
    """The paper's parameters, and with ``genuine`` the radius that gives its TPR on these data."""
    params: dict[str, Any] = {k: int(v) if v == int(v) else v for k, v in table.params.items()}
    if table.scheme == "l2fe-hash":
        params |= {"bases": bases, "m": min(params.get("m", _M), users.dim)}
    made = make("scheme", table.scheme, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EffaceWarning)
        scene = MeterScene.of(users, population, made, replace(rules, people=2))
        known = scene.population
    shown = getattr(made, "radius_", None)
    found = [(f"{made.radius} {shown:.4g}", made)]
    if table.genuine is not None:
        radius = _radius_for(made, known, table.genuine)
        other = make("scheme", table.scheme, **{**params, made.radius: radius}).fit(known)
        found.append((f"{made.radius} {radius:.4g}", other))
    return found


def _radius_for(scheme: Any, known: Samples, tpr: float) -> float:
    """The radius at which this share of the genuine pairs of the population is accepted."""
    names, counts = np.unique(known.identity, return_counts=True)
    several = names[counts > 1][:_CALIBRATION]
    if len(several) < 2:
        raise PlanError(f"{known.dataset}: nobody has two pictures, so no scale can be chosen")
    borders = genuine_borders(scheme, known.take(np.flatnonzero(np.isin(known.identity, several))))
    return float(np.quantile(borders, tpr if scheme.looser else 1 - tpr))


def _cell(meter: Meter, column: str) -> str:
    """``pipe``, ``partial pipe``, ``random`` or any attack: success at t, as in the paper."""
    if column == "random":
        mean, deviation = random_guess(meter.scene.truth, meter.t)
        return f"{100 * mean:.2f} ± {100 * deviation:.2f}"
    name = column.removeprefix("partial ")
    found = meter.attack(Spec(name), "partial" if name != column else "full")
    return percent(found.near)


def _threshold(table: PaperTable, scene: MeterScene, rules: MeterRules) -> Printed:
    """TPR and FPR of the unprotected embeddings at the t that the population sets."""
    meter = Meter(scene, rules, None)
    x = scene.users.data.astype(np.float64)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    rng = np.random.default_rng([rules.seed, 3])
    own = [
        np.linalg.norm(x[rows.reshape(-1)] - v, axis=1) <= meter.t
        for rows, v in zip(scene.own, scene.truth, strict=True)
    ]
    others = x[scene.foreign[:, :, -1]]
    foreign = np.linalg.norm(others - scene.truth[:, None], axis=2) <= meter.t
    hits, tried = np.array([h.sum() for h in own]), np.array([len(h) for h in own])
    tpr = share(hits, tried, rng, rules.bootstrap)
    fpr = share(foreign.sum(axis=1), np.full(len(foreign), foreign.shape[1]), rng, rules.bootstrap)
    row = [scene.users.dataset, "this data", f"{meter.t:.3f}", percent(tpr), percent(fpr)]
    return printed_table(table, COLUMNS["threshold"], [row], [])


def _other(rate: Any) -> Any:
    """One minus a rate."""
    import msgspec

    return msgspec.structs.replace(rate, value=1 - rate.value, low=1 - rate.high, high=1 - rate.low)
