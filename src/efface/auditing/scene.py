"""The table the game is played on: samples, split, what is released, what an attacker holds."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.auditing.seen import Seen
from efface.errors import EffaceWarning, EraserError
from efface.protect.linear.eraser import LinearEraser
from efface.results import ReleaseSummary, Spec, Threat
from efface.types import Attack, Protection, Samples, Split

RAW = "raw"
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shipped:
    """One release: every row as the attacker would see it, and how it was made."""

    name: str
    samples: Samples
    spec: Spec | None
    eraser: LinearEraser | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """Samples and split with their digest; remembers naive attacks, which all releases share."""

    samples: Samples
    split: Split
    digest: str
    naive: dict[str, Attack] = field(default_factory=dict)
    settled: dict[str, Attack] = field(default_factory=dict)
    """The last attackers, set up: what an attack made of others is made of."""

    @classmethod
    def of(cls, samples: Samples, split: Split) -> Scene:
        body = f"{samples.digest()} {split.digest()}"
        return cls(samples, split, hashlib.sha256(body.encode()).hexdigest())

    def raw(self) -> Shipped:
        return Shipped(RAW, self.samples, None)

    def ship(self, protection: Protection, name: str, spec: Spec, seed: int) -> Shipped:
        """Fit on the fit part only, release every row."""
        with warnings.catch_warnings():
            # The report carries the eraser's warnings; a sweep would repeat them by the dozen.
            warnings.simplefilter("ignore", EffaceWarning)
            fitted = protection.fit(self.samples.take(self.split.fit))
        release = fitted.release(self.samples, np.random.default_rng([seed, 1]))
        eraser = getattr(fitted, "eraser_", None)
        digest = eraser.digest() if eraser is not None else _digest(release.data)
        rank = "" if eraser is None else f"-{eraser.rank}"
        shipped = Spec(spec.name, {**spec.params, "digest": digest})
        return Shipped(f"{name}{rank}", self.samples.replace(release.data), shipped, eraser)

    def pool(self, threat: Threat, seed: int) -> Rows:
        """Rows the attacker trains on: never calibration, never test."""
        parts = {"fit": ["fit"], "shadow": ["shadow"], "both": ["fit", "shadow"]}[threat.pool]
        rows = np.sort(np.concatenate([self.split.part(p) for p in parts]))
        rng = np.random.default_rng([seed, 2])
        rows = some_people(rows, self.samples.identity, threat.people, rng)
        return some_images(rows, self.samples.identity, threat.images, rng)


def some_people(
    rows: Rows, identity: NDArray[np.int64], count: int | None, rng: np.random.Generator
) -> Rows:
    """Rows of ``count`` people. Smaller draws from one seed are contained in larger ones."""
    order = rng.permutation(np.unique(identity[rows]))
    return rows if count is None else rows[np.isin(identity[rows], order[:count])]


def some_images(
    rows: Rows, identity: NDArray[np.int64], count: int | None, rng: np.random.Generator
) -> Rows:
    """``count`` rows of each person that has so many; the others are left out."""
    if count is None:
        return rows
    shuffled = rows[rng.permutation(len(rows))]
    shuffled = shuffled[np.argsort(identity[shuffled], kind="stable")]
    _, first, size = np.unique(identity[shuffled], return_index=True, return_counts=True)
    place = np.arange(len(rows)) - np.repeat(first, size)
    kept = (place < count) & (np.repeat(size, size) >= count)
    return np.sort(shuffled[kept])


def lend_shadow(split: Split) -> tuple[Split, str]:
    """Give the attacker people of its own where the split reserves none (P10).

    Half of the calibration people move to the shadow part. An attacker that knows only the
    people the eraser was fitted on is too weak: their means are exactly what was removed.
    """
    people = split.people("calibration")
    if len(split.shadow) or len(people) < 8:
        weak = not len(split.shadow)
        note = (
            "Attackers trained only on the people the eraser was fitted on: too few others were "
            "left. Expect the measured leak to be too low."
        )
        return split, note if weak else ""
    lent = np.random.default_rng([split.seed, 3]).permutation(people)[: len(people) // 2]
    moved = np.isin(split.identity[split.calibration], lent)
    note = (
        f"The split reserves no shadow people, so {len(lent)} of {len(people)} calibration people "
        "became the attackers' own."
    )
    new = Split(
        split.fit, split.calibration[moved], split.calibration[~moved], split.test,
        split.identity, split.names, split.seed, split.rule,
    )  # fmt: skip
    return new, note


def summarise(scene: Scene, shipped: Shipped, seen: Seen | None = None) -> ReleaseSummary:
    """What a report says of a release, measured on test vectors."""
    data = shipped.samples.data
    eraser = shipped.eraser
    if eraser is None:
        return ReleaseSummary(
            name=shipped.name, protection=shipped.spec, dimension=data.shape[1],
            dtype=str(data.dtype),
        )  # fmt: skip
    test = scene.samples.data[scene.split.test].astype(np.float64)
    kept = float(eraser.project(test).var(axis=0).sum() / test.var(axis=0).sum())
    if not np.isfinite(kept):
        raise EraserError(f"{shipped.name}: the erased test vectors are not finite")
    total = eraser.energy.sum()
    energy = np.cumsum(eraser.energy) / total if total > 0 else eraser.energy
    return ReleaseSummary(
        name=shipped.name,
        protection=shipped.spec,
        rank=eraser.rank,
        dimension=eraser.dim,
        dtype=str(data.dtype),
        variance_kept=min(kept, 1.0),  # an oblique map may stretch
        identities_fitted=eraser.identities,
        digest=eraser.digest(),
        energy=[float(e) for e in energy],
        identities_recognised=None if seen is None else seen.found,
        unseen="shown" if seen is None else seen.novelty,
        warnings=list(eraser.warnings),
    )


def _digest(data: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(data).data).hexdigest()
