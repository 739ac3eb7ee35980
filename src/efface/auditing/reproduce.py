"""A paper as a plan: the same tables on the data given, beside the paper's own figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from efface.auditing import protections as prot
from efface.auditing.cases import Rules, cases
from efface.auditing.papers import TEMPLATE_KINDS, Paper, PaperTable
from efface.auditing.printed import Printed, percent, printed_table
from efface.auditing.reproduce_templates import template_tables
from efface.auditing.run import Player, run
from efface.auditing.scene import Scene, Shipped, some_people
from efface.auditing.sections import moved
from efface.data.samples import curate
from efface.data.splits import split as make_split
from efface.errors import DataError, EraserError, PlanError
from efface.measure.utility import utility
from efface.progress import Progress
from efface.registry import make
from efface.results import Measurement, Spec
from efface.types import Protection, Samples


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
    if all(table.kind in TEMPLATE_KINDS for table in wanted):
        return template_tables(wanted, data, seed=seed, bootstrap=bootstrap)
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
    shots = _shots(table, benches, notes)
    rules = replace(rules, shots=tuple(shots.values()))
    spec = Spec(table.attack)
    by_shot = table.kind == "shots"
    heads = _heads(table)
    ours = []
    for i, bench in enumerate(benches):
        cells = dict.fromkeys(heads, "-")
        for name, shipped in _releases(table, benches, i, rules, notes):
            found = _play(bench, shipped, spec, rules)
            for k, measured in zip(shots, found, strict=True):
                cells[f"k={k} {name}" if by_shot else name] = _cell(measured, notes)
        ours.append([bench.scene.samples.dataset, "this data", *cells.values()])
    return printed_table(table, list(cells), ours, notes)


def _shots(table: PaperTable, benches: Sequence[Bench], notes: list[str]) -> dict[int, int]:
    """The paper's k and the k that is played: the most that leaves two images to compare."""
    images = min(int(np.bincount(b.scene.samples.identity).max()) for b in benches)
    most = images - 2
    shots = {k: k for k in table.shots if k <= most}
    lost = [k for k in table.shots if k > most]
    if lost:
        k = "/".join(map(str, lost))
        notes.append(f"k={k} needs {max(lost) + 2} images per person, here are {images}")
    if table.kind != "shots" and lost:
        shots = {lost[-1]: max(most, 1)}
        notes.append(f"k={max(most, 1)} in its place")
    return shots


def _heads(table: PaperTable) -> list[str]:
    """The paper's own columns, whether or not they can be filled here."""
    if table.kind == "rank":
        return [f"r={r}" for r in table.ranks]
    if table.kind == "people":
        return [f"m={m}" for m in table.people]
    names = {"raw": "RAW", "isp-w": "ISP-W", "isp-x": "ISP-X"}
    return [f"k={k} {names[r]}" for k in table.shots for r in table.releases]


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
        notes.append("ISP-X needs a second data set: give --data a second time")
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
    usable = [m for m in counts if m <= have]
    if len(usable) < len(counts):
        notes.append(f"the fit part has {have} people; columns beyond the paper's are below it")
        usable += [m for m in (have // 4, have // 2, have) if m not in usable and m > 1]
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
        return percent(found.tar)
    if found.pauc.value is not None:
        why = f"* partial AUC over FAR in [0, 1e-3] (A.4): {found.note}"
        if why not in notes:
            notes.append(why)
        return f"{percent(found.pauc)}*"
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
        return printed_table(table, columns, [], [f"not measured: give vectors with {option}"])
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
    cells = [percent(scores[task, m]) for task in table.tasks for m in table.methods]
    notes.append(f"both at rank {rank}")
    return printed_table(table, columns, [[data.dataset, "this data", *cells]], notes)
