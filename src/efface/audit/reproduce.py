"""A paper as a plan: the same tables on the data given, beside the paper's own figures."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from efface.audit import protections as prot
from efface.audit.cases import Rules, cases
from efface.audit.plan import SplitPlan, parse, read_toml
from efface.audit.run import Player, run
from efface.audit.scene import Scene, Shipped, some_people
from efface.audit.sections import moved
from efface.data.samples import curate
from efface.data.splits import split as make_split
from efface.errors import DataError, EraserError, PlanError
from efface.measure.utility import utility
from efface.progress import Progress
from efface.registry import make, nearest
from efface.results import Estimate, Measurement, Spec
from efface.types import Protection, Samples

Cell = float | str


class PaperTable(msgspec.Struct, frozen=True):
    """One table of a paper; ``rows`` are the paper's figures in per cent."""

    number: str
    kind: Literal["shots", "rank", "people", "utility"]
    caption: str
    rows: list[list[Cell]]
    attack: str = "ridge"
    releases: tuple[Literal["raw", "isp-w", "isp-x"], ...] = ("raw",)
    shots: tuple[int, ...] = (16,)
    ranks: list[int] = []
    people: list[int] = []
    methods: list[str] = []
    tasks: list[str] = []


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


@dataclass(frozen=True)
class Printed:
    """A table as measured here: ``ours`` and ``paper`` share the columns."""

    number: str
    caption: str
    columns: list[str]
    ours: list[list[str]]
    paper: list[list[str]]
    notes: list[str] = field(default_factory=list)


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


@dataclass(frozen=True, eq=False)
class Bench:
    """A data set under the paper's protocol, with its eraser."""

    scene: Scene
    protection: Protection
    erased: Shipped
    notes: tuple[str, ...]


def reproduce(
    paper: Paper,
    data: Sequence[Samples],
    *,
    labelled: Samples | None = None,
    copies: Samples | None = None,
    tables: Sequence[str] = (),
    rank: int | None = None,
    seed: int = 0,
    bootstrap: int = 2000,
) -> list[Printed]:
    """Every table of the paper, or those named, on one or two data sets of one encoder."""
    wanted = [t for t in paper.table if not tables or t.number in tables]
    if not wanted or len(wanted) < len(set(tables)):
        known = ", ".join(t.number for t in paper.table)
        raise PlanError(f"no such table in this plan (known: {known})")
    if len(data) not in (1, 2):
        raise PlanError(f"one or two data sets are compared, not {len(data)}")
    if len({d.dim for d in data}) > 1:
        raise DataError("both data sets must come from one encoder: their dimensions differ")
    benches = [_prepare(paper, samples, rank or paper.rank, seed) for samples in data]
    printed = []
    with Progress[Printed]("reproduce", len(wanted), unit="table") as tick:
        for table in wanted:
            rules = Rules(
                paper.far,
                "paper",
                tuple(table.shots),
                paper.resamples,
                paper.quota,
                seed,
                bootstrap,
            )
            if table.kind == "utility":
                made = _utility(table, benches[0], labelled, copies, rules)
            else:
                made = _attacks(table, benches, paper, rules)
            printed.append(tick(made))
    return printed


def _prepare(paper: Paper, samples: Samples, rank: int, seed: int) -> Bench:
    """Curate, split by people and fit ISP once on the fit people (section 4.1)."""
    notes = []
    _, counts = np.unique(samples.identity, return_counts=True)
    images = paper.images
    if np.count_nonzero(counts >= images) < 30:
        images = int(np.sort(counts)[::-1][min(len(counts), 30) - 1])
        notes.append(f"{samples.dataset}: {images} images per person, {paper.images} in the paper")
    chosen = curate(samples, images, seed=seed)
    part = paper.split
    split = make_split(
        chosen, fit=part.fit, shadow=0, calibration=part.calibration, test=part.test, seed=seed
    )
    scene = Scene.of(chosen, split)
    people = len(split.people("fit"))
    usable = min(rank, people - 1, chosen.dim - 1)
    for attempt in sorted({usable, *(r for r in (128, 96, 64, 32, 16, 8) if r < usable)})[::-1]:
        protection = make("protection", "isp", rank=attempt)
        try:
            erased = scene.ship(protection, "isp", prot.spec_of(protection), seed)
        except EraserError:
            continue
        if attempt < rank:
            notes.append(f"{samples.dataset}: rank {attempt}, {rank} asked for")
        return Bench(scene, protection, erased, tuple(notes))
    raise EraserError(f"{samples.dataset}: ISP is refused at every rank on these data")


def _attacks(table: PaperTable, benches: Sequence[Bench], paper: Paper, rules: Rules) -> Printed:
    notes = [note for bench in benches for note in bench.notes]
    images = min(int(np.bincount(b.scene.samples.identity).max()) for b in benches)
    shots = [k for k in table.shots if k <= images - 2] or [max(images - 2, 1)]
    if shots != list(table.shots):
        notes.append(
            f"k={'/'.join(map(str, shots))} in place of {'/'.join(map(str, table.shots))}: k "
            f"support images and two to compare must fit into {images}"
        )
    rules = replace(rules, shots=tuple(shots))
    spec = Spec(table.attack)
    columns, ours = [], []
    for i, bench in enumerate(benches):
        releases = _releases(table, benches, i, rules, notes)
        found = [_play(bench, shipped, spec, rules) for _, shipped in releases]
        if table.kind == "shots":
            columns = [f"k={k} {name}" for k in shots for name, _ in releases]
            cells = [_cell(row[j], notes) for j in range(len(shots)) for row in found]
        else:
            columns = [name for name, _ in releases]
            cells = [_cell(row[-1], notes) for row in found]
        ours.append([bench.scene.samples.dataset, "this data", *cells])
    return _printed(table, columns, ours, notes)


def _releases(
    table: PaperTable, benches: Sequence[Bench], i: int, rules: Rules, notes: list[str]
) -> list[tuple[str, Shipped]]:
    bench = benches[i]
    if table.kind == "rank":
        return _at_ranks(table.ranks, bench, rules, notes)
    if table.kind == "people":
        return _at_people(table.people, bench, rules, notes)
    made = [("RAW", bench.scene.raw())]
    if "isp-w" in table.releases:
        made.append(("ISP-W", bench.erased))
    if "isp-x" in table.releases and len(benches) == 2:
        made.append(("ISP-X", moved(benches[1 - i].erased, bench.scene)))
    elif "isp-x" in table.releases:
        notes.append("ISP-X needs a second data set: give --data2")
    return made


def _at_ranks(
    ranks: Sequence[int], bench: Bench, rules: Rules, notes: list[str]
) -> list[tuple[str, Shipped]]:
    made = []
    for rank in ranks:
        try:
            made.append((f"r={rank}", _refit(bench, bench.scene, rank, rules)))
        except EraserError as refused:
            notes.append(f"r={rank}: {refused}")
    return made


def _at_people(
    counts: Sequence[int], bench: Bench, rules: Rules, notes: list[str]
) -> list[tuple[str, Shipped]]:
    made = []
    scene = bench.scene
    have = len(scene.split.people("fit"))
    usable = [m for m in counts if m <= have] or [have // 4, have // 2, have]
    if list(usable) != list(counts):
        notes.append(f"m={'/'.join(map(str, usable))}: the fit part has {have} people")
    for count in usable:
        rng = np.random.default_rng([rules.seed, 6])
        rows = some_people(scene.split.fit, scene.samples.identity, count, rng)
        fewer = replace(scene, split=replace(scene.split, fit=rows))
        rank = bench.erased.eraser.rank if bench.erased.eraser is not None else 1
        made.append((f"m={count}", _refit(bench, fewer, min(rank, count - 1), rules)))
    return made


def _refit(bench: Bench, scene: Scene, rank: int, rules: Rules) -> Shipped:
    if rank == 0:
        return scene.raw()
    protection = prot.remaker(bench.protection)(rank)
    return scene.ship(protection, "isp", prot.spec_of(protection), rules.seed)


def _play(bench: Bench, shipped: Shipped, spec: Spec, rules: Rules) -> list[Measurement]:
    player = Player(bench.scene, rules.bootstrap, rules.level)
    return [run(c, shipped, player) for c in cases(bench.scene, shipped, [spec], rules)]


def _cell(found: Measurement, notes: list[str]) -> str:
    if found.tar.value is not None:
        return _percent(found.tar)
    if found.pauc.value is not None:
        why = f"* partial AUC over FAR in [0, 1e-3] (A.4): {found.note}"
        if why not in notes:
            notes.append(why)
        return f"{_percent(found.pauc)}*"
    notes.append(found.note)
    return "-"


def _utility(
    table: PaperTable, bench: Bench, labelled: Samples | None, copies: Samples | None, rules: Rules
) -> Printed:
    copying = any(task.startswith("copy") for task in table.tasks)
    data = copies if copying else labelled
    columns = [f"{task} {m.upper()}" for task in table.tasks for m in table.methods]
    if data is None:
        option = "--copies" if copying else "--utility"
        return _printed(table, columns, [], [f"not measured: give vectors with {option}"])
    notes, scores = list(bench.notes), {}
    rank = bench.erased.eraser.rank if bench.erased.eraser is not None else 1
    for method in table.methods:
        # The paper gives LEACE no rank; the same rank makes the two comparable.
        fitted = make("protection", method, rank=rank).fit(
            bench.scene.samples.take(bench.scene.split.fit)
        )
        for task, _, _, share in utility(
            data, fitted.eraser_.transform, rng=np.random.default_rng([rules.seed, 9]),
            task="copies" if copying else "classes", bootstrap=rules.bootstrap,
        ):  # fmt: skip
            scores[task, method] = share
    unknown = [t for t in table.tasks if (t, table.methods[0]) not in scores]
    if unknown:
        raise PlanError(f"table {table.number}: no task {unknown[0]!r}")
    cells = [_percent(scores[task, m]) for task in table.tasks for m in table.methods]
    notes.append(f"both at rank {rank}")
    return _printed(table, columns, [[data.dataset, "this data", *cells]], notes)


def _percent(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "-"
    return f"{100 * estimate.value:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def _printed(
    table: PaperTable, columns: list[str], ours: list[list[str]], notes: Sequence[str]
) -> Printed:
    theirs = [[f"{c:.1f}" if isinstance(c, float) else str(c) for c in row] for row in table.rows]
    return Printed(
        table.number, table.caption, ["data", "model", *columns], ours, theirs,
        list(dict.fromkeys(notes)),
    )  # fmt: skip
