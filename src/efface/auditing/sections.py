"""The parts of a report beside the cases: transfer, utility, maps, subject, provenance."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from efface.auditing import protections as prot
from efface.auditing.cases import Rules, cases
from efface.auditing.scene import Scene, Shipped
from efface.auditing.sweeps import quick
from efface.auditing.table import Table
from efface.auditing.worst import worst_case
from efface.diagnose.embedding_map import choose_people, embedding_map
from efface.diagnose.subspace import principal_cosines, random_cosines
from efface.errors import DataError
from efface.measure.utility import utility
from efface.progress import Progress
from efface.results import (
    Map,
    Provenance,
    Spec,
    Subject,
    Sweep,
    Transfer,
    TransferCell,
    UtilityScore,
)
from efface.types import Protection, Samples

_LIBRARIES = ("numpy", "scipy", "pyarrow", "safetensors", "msgspec", "jinja2", "click")
NOT_TESTED = (
    "Attackers with more people, more images or other models than those listed here.",
    "Reconstruction of pictures from the vectors (template inversion).",
    "Inference of attributes such as gender, age or ethnicity.",
    "People, encoders and capture conditions that are not in these data.",
)


def chosen(sweep: Sweep, rank: int, why: str) -> Sweep:
    """The validation sweep with the rank it chose."""
    note = f"{sweep.note}; {why}" if why else sweep.note
    return msgspec.structs.replace(sweep, chosen=rank, note=note)


def subject(scene: Scene) -> Subject:
    samples, split = scene.samples, scene.split
    return Subject(
        dataset=samples.dataset,
        digest=samples.digest(),
        rows=len(samples),
        dimension=samples.dim,
        dtype=samples.stored_dtype,
        identities=len(samples.people),
        split_digest=split.digest(),
        split_rule=split.rule,
        parts=split.counts(),
    )


def provenance(rules: Rules, *, command: str = "", date: str = "", plan: Any = None) -> Provenance:
    from efface._version import __version__

    versions = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    return Provenance(
        efface=__version__,
        versions={"python": platform.python_version(), **versions},
        seed=rules.seed,
        mode=rules.mode,
        far=rules.far,
        level=rules.level,
        bootstrap=rules.bootstrap,
        plan=plan or {},
        command=command,
        date=date,
        not_tested=list(NOT_TESTED),
    )


def maps(scene: Scene, shipped: Sequence[Shipped], seed: int) -> list[Map]:
    """The same test vectors before and after, near each other where they are alike."""
    rows, person = choose_people(
        scene.samples.identity[scene.split.test], np.random.default_rng([seed, 7])
    )
    rows = scene.split.test[rows]
    if len(rows) < 4:
        return []
    found = []
    for release in shipped:
        data = release.samples.data[rows]
        x, y = embedding_map(data, person, np.random.default_rng([seed, 8]))
        found.append(Map(
            release=release.name, method="t-SNE on cosine distances, without labels",
            x=[round(float(v), 4) for v in x], y=[round(float(v), 4) for v in y],
            person=[int(p) for p in person],
        ))  # fmt: skip
    return found


def utilities(
    shipped: Sequence[Shipped], sets: Sequence[Samples], rules: Rules
) -> list[UtilityScore]:
    """k-NN, linear probe and copy detection through each eraser, as a share of raw (P17)."""
    found = []
    todo = [(s, labelled) for s in shipped if s.eraser is not None for labelled in sets]
    with Progress[None]("utility", len(todo)) as tick:
        for release, labelled in todo:
            if release.eraser is None:
                continue
            copies = "edit" in labelled.attributes
            task: Literal["copies", "classes"] = "copies" if copies else "classes"
            scores = utility(
                labelled, release.eraser.transform, rng=np.random.default_rng([rules.seed, 9]),
                task=task, bootstrap=rules.bootstrap, level=rules.level,
            )  # fmt: skip
            found += [
                UtilityScore(release=release.name, task=t, raw=raw, protected=after, share=share)
                for t, raw, after, share in scores
            ]
            tick(None)
    return found


def check_other_vectors(samples: Samples, sets: Sequence[Samples], other: Samples | None) -> None:
    """Utility and transfer vectors must come from the audited encoder: said before any work."""
    for given, what in [*((s, "utility") for s in sets), (other, "transfer")]:
        if given is not None and given.dim != samples.dim:
            raise DataError(
                f"{given.dataset}: the {what} vectors have {given.dim} dimensions, those of "
                f"{samples.dataset} {samples.dim}: {what} needs one encoder"
            )


def transfer(
    tables: tuple[Table, Table], protection: Protection, specs: Sequence[Spec], note: str = ""
) -> Transfer:
    """Fit on each data set, attack both: ISP-W and ISP-X in one 2 x 2 matrix (P16, B.1)."""
    (one, two), rules = (t.scene for t in tables), tables[0].rules
    spec = prot.spec_of(protection)
    rank = None
    shipped: list[Shipped] = []
    for scene in (one, two):
        maker = protection if rank is None else prot.remaker(protection)(rank)
        shipped.append(scene.ship(maker, spec.name, spec, rules.seed))
        rank = shipped[0].eraser.rank if shipped[0].eraser is not None else None
    names = [one.samples.dataset, two.samples.dataset]
    if names[0] == names[1]:
        names[1] += " (2)"
    cells = []
    for table, where in zip(tables, names, strict=True):
        cells.append(_cell(table, table.scene.raw(), None, where, specs))
        for source, origin in zip(shipped, names, strict=True):
            cells.append(_cell(table, moved(source, table.scene), origin, where, specs))
    a, b = (s.eraser for s in shipped)
    if a is None or b is None:
        raise DataError("transfer is defined for linear erasers")
    baseline = random_cosines(a.dim, a.rank, b.rank, np.random.default_rng([rules.seed, 10]))
    return Transfer(
        datasets=names,
        rank=a.rank,
        cells=cells,
        cosines=[float(c) for c in principal_cosines(a.basis, b.basis)],
        random_cosines=[float(c) for c in baseline.mean],
        note=" ".join(filter(None, [_players(specs), note])),
    )


def _players(specs: Sequence[Spec]) -> str:
    played = [s.name for s in quick(specs)]
    left = [s.name for s in specs if s.name not in played]
    but = f"; left out: {', '.join(left)}" if left else ""
    return f"Attackers: {', '.join(played)}{but}."


def moved(source: Shipped, scene: Scene) -> Shipped:
    """The eraser of one data set applied to the vectors of another, in the type that ships."""
    if source.eraser is None:
        raise DataError("transfer is defined for linear erasers")
    dtype = source.samples.data.dtype
    wide = scene.samples.data.astype(np.result_type(scene.samples.data, dtype), copy=False)
    data = source.eraser.transform(wide).astype(dtype, copy=False)
    return Shipped(source.name, scene.samples.replace(data), source.spec, source.eraser)


def _cell(
    table: Table, shipped: Shipped, origin: str | None, where: str, specs: Sequence[Spec]
) -> TransferCell:
    wanted = cases(table.scene, shipped, quick(specs), table.rules)
    played = [table.play(c, shipped, table.brief) for c in wanted]
    worst = worst_case(shipped.name, played)
    return TransferCell(fitted_on=origin, tested_on=where, tar=worst.tar, attacker=worst.attacker)
