"""One axis at a time: rank, people the eraser was fitted on, people the attacker trains on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from efface.auditing.cases import Rules, case, cases, threats
from efface.auditing.run import Player
from efface.auditing.scene import RAW, Scene, Shipped, some_people
from efface.auditing.worst import worst_case
from efface.errors import EraserError
from efface.measure.intervals import unknown
from efface.protect.linear.eraser import LinearEraser
from efface.results import Case, Measurement, Spec, Sweep, SweepPoint
from efface.types import Protection, Split

Play = Callable[[Case, Shipped, Player], Measurement]
_STEPS = (0, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536)


@dataclass(frozen=True, eq=False)
class Subject:
    """One protection under sweep: how to make it and what it was at its own rank."""

    protection: Protection
    spec: Spec
    shipped: Shipped
    remake: Callable[[int], Protection]
    """The same protection at another rank."""


def quick(specs: Sequence[Spec]) -> list[Spec]:
    """Sweeps are played by the attackers with a closed form, unless there is no other."""
    return [s for s in specs if s.name not in ("mlp", "fusion")] or list(specs)


def ladder(top: int, chosen: int | None = None) -> list[int]:
    """Ranks to try up to ``top``, the chosen one among them."""
    ranks = {r for r in _STEPS if r <= top} | {top}
    return sorted(ranks | ({chosen} if chosen is not None else set()))


def at_rank(scene: Scene, subject: Subject, rank: int, seed: int) -> Shipped:
    """The release at another rank; a nested basis is cut, any other method is fitted again."""
    if rank == 0:
        return scene.raw()
    eraser = subject.shipped.eraser
    nested = getattr(subject.protection, "nested", False)
    if nested and eraser is not None and rank <= eraser.rank:
        return _release(scene, subject, _cut(eraser, rank))
    return scene.ship(subject.remake(rank), subject.spec.name, subject.spec, seed)


def _cut(eraser: LinearEraser, rank: int) -> LinearEraser:
    dual = None if eraser.dual is None else eraser.dual[:, :rank]
    return dataclasses.replace(eraser, basis=eraser.basis[:, :rank], dual=dual)


def _release(scene: Scene, subject: Subject, eraser: LinearEraser) -> Shipped:
    samples = scene.samples.replace(eraser.transform(scene.samples.data))
    spec = Spec(subject.spec.name, {**subject.spec.params, "digest": eraser.digest()})
    return Shipped(f"{subject.spec.name}-{eraser.rank}", samples, spec, eraser)


def rank_sweep(
    scene: Scene,
    subject: Subject,
    specs: Sequence[Spec],
    rules: Rules,
    play: Play,
    player: Player,
    *,
    ranks: Sequence[int],
    chosen: int | None,
    target: float | None,
    measured_on: str = "test",
) -> Sweep:
    """Worst case at each rank; 0 is the raw vectors."""
    points = []
    for rank in ranks:
        try:
            shipped = at_rank(scene, subject, rank, rules.seed)
        except EraserError as refused:
            points.append(SweepPoint(x=rank, tar=unknown(str(refused)), note=str(refused)))
            continue
        played = [play(c, shipped, player) for c in cases(scene, shipped, quick(specs), rules)]
        points.append(_point(rank, shipped.name, played))
    return Sweep(
        axis="rank",
        release=subject.shipped.name,
        measured_on="calibration" if measured_on == "calibration" else "test",
        points=points,
        target=target,
        chosen=chosen,
        note=f"attackers: {', '.join(s.name for s in quick(specs))}",
    )


def fitted_sweep(
    scene: Scene, subject: Subject, specs: Sequence[Spec], rules: Rules, play: Play, player: Player,
    counts: Sequence[int],
) -> Sweep:  # fmt: skip
    """How protection depends on how many people the eraser was fitted on."""
    rank = subject.shipped.eraser.rank if subject.shipped.eraser is not None else 0
    points = []
    for count in counts:
        fewer = dataclasses.replace(
            scene, split=_fit_people(scene, count, rules.seed), naive=scene.naive
        )
        # Fewer people span fewer directions than the rank asked for.
        wanted = min(rank, count - 1)
        try:
            shipped = fewer.ship(
                subject.remake(wanted), subject.spec.name, subject.spec, rules.seed
            )
        except EraserError as refused:
            points.append(SweepPoint(x=count, tar=unknown(str(refused)), note=str(refused)))
            continue
        played = [play(c, shipped, player) for c in cases(scene, shipped, quick(specs), rules)]
        note = "" if wanted == rank else f"rank {wanted}: {count} people span no more"
        points.append(_point(count, shipped.name, played, note))
    return Sweep(
        axis="people fitted", release=subject.shipped.name, measured_on="test", points=points,
        note=f"rank {rank}; attackers: {', '.join(s.name for s in quick(specs))}",
    )  # fmt: skip


def attacking_sweep(
    scene: Scene, shipped: Shipped, specs: Sequence[Spec], rules: Rules, play: Play, player: Player,
    counts: Sequence[int],
) -> Sweep:  # fmt: skip
    """How the leak grows with how many people the attacker trains on."""
    points = []
    for count in counts:
        played = []
        for spec in quick(specs):
            for threat in threats(spec, shipped, rules):
                if threat.knowledge == "none":
                    continue
                few = msgspec.structs.replace(threat, people=count)
                played.append(play(case(scene, shipped, spec, few, rules), shipped, player))
        points.append(_point(count, shipped.name, played))
    names = ", ".join(s.name for s in quick(specs) if s.name != "cosine")
    return Sweep(
        axis="people attacking", release=shipped.name, measured_on="test", points=points,
        note=f"trained attackers only: {names}",
    )  # fmt: skip


def doublings(total: int, least: int = 8) -> list[int]:
    """total, total/2, total/4 ... ascending, four at the most."""
    counts = [total // 2**i for i in range(4)]
    return sorted({c for c in counts if c >= least} | {total})


def _fit_people(scene: Scene, count: int, seed: int) -> Split:
    rows = some_people(
        scene.split.fit, scene.samples.identity, count, np.random.default_rng([seed, 6])
    )
    return dataclasses.replace(scene.split, fit=rows)


def _point(x: int, release: str, played: Sequence[Measurement], note: str = "") -> SweepPoint:
    worst = worst_case(release if played else RAW, played)
    return SweepPoint(x=x, tar=worst.tar, attacker=worst.attacker, note=note or worst.note)


def passing(sweep: Sweep, target: float) -> Iterator[int]:
    """Ranks above 0 whose upper bound meets the target, smallest first (P6)."""
    for point in sweep.points:
        if point.x > 0 and point.tar.high is not None and point.tar.high <= target:
            yield point.x
