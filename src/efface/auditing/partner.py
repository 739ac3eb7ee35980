"""A second data set for transfer: who is in both, and a split that keeps the tests clean.

An eraser fitted on one data set is tested on the other. If the same people are in both, it would
be tested on people it was fitted on, whatever the pictures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from efface import fingerprint
from efface.auditing.cases import Rules
from efface.auditing.scene import Scene, lend_shadow
from efface.data.samples import require_pairs
from efface.data.splits import split as make_split
from efface.errors import DataError, SplitError
from efface.types import Codes, Samples, Split

_FIT = 0.4
"""Share of the people to fit on: that of every other split."""


@dataclass(frozen=True, eq=False)
class Common:
    """Codes in the second data set of people who are in the first, by the part they play there."""

    fitted: Codes
    judged: Codes
    """In calibration or test."""
    everybody: Codes


def partner(one: Scene, other: Samples, rules: Rules) -> tuple[Scene, str]:
    """The second scene, and what is to be said of people who are in both.

    Nobody whom one eraser was fitted on is in calibration or test of the other data set.
    """
    require_pairs(other)
    common = in_both(one, other)
    if not common.everybody.size:
        split, note = make_split(other, seed=rules.seed), ""
    else:
        # Two names in one: neither to be fitted on nor to be tested.
        torn = np.intersect1d(common.fitted, common.judged)
        other = other.take(np.flatnonzero(~np.isin(other.identity, torn)))
        split = _apart(other, common, rules.seed)
        note = (
            f"{len(common.everybody):,} people are in both datasets, by name or by a vector; "
            "none of them is tested with an eraser that was fitted on them."
        )
    if rules.mode == "strong":
        split, _ = lend_shadow(split)
    return Scene.of(other, split), note


def in_both(one: Scene, other: Samples) -> Common:
    """Who of ``other`` is in the first scene: the same name, or one row the same."""
    pairs = np.array(sorted(_by_name(one.samples, other) | _by_vector(one.samples, other)), int)
    here, there = pairs.reshape(-1, 2).T
    parts = one.split
    judged = np.union1d(parts.people("calibration"), parts.people("test"))
    return Common(
        fitted=np.unique(here[np.isin(there, parts.people("fit"))]),
        judged=np.unique(here[np.isin(there, judged)]),
        everybody=np.unique(here),
    )


def _by_name(first: Samples, other: Samples) -> set[tuple[int, int]]:
    known = {str(first.names[code]): int(code) for code in first.people}
    named = {int(code): str(other.names[code]) for code in other.people}
    return {(code, known[name]) for code, name in named.items() if name in known}


def _by_vector(first: Samples, other: Samples) -> set[tuple[int, int]]:
    rows = dict(zip(fingerprint.of_rows(first.data).tolist(), first.identity.tolist(), strict=True))
    return {
        (code, rows[number])
        for numbers in fingerprint.either_way(other.data)
        for number, code in zip(numbers.tolist(), other.identity.tolist(), strict=True)
        if number in rows
    }


def _apart(other: Samples, common: Common, seed: int) -> Split:
    """Fit on those whom the first eraser was fitted on, and on strangers to the first test."""
    must = np.setdiff1d(common.fitted, common.judged)
    free = other.people[~np.isin(other.people, np.union1d(common.fitted, common.judged))]
    wanted = max(0, round(_FIT * len(other.people)) - len(must))
    more = np.random.default_rng([seed, 11]).permutation(free)[:wanted]
    taken = np.concatenate([must, more])
    if len(taken) < 2:
        raise _too_few(other, common)
    try:
        split = make_split(other, seed=seed, taken=taken)
    except SplitError as error:
        raise _too_few(other, common) from error
    return replace(split, rule=f"{split.rule}; nobody is tested whom the other eraser has seen")


def _too_few(other: Samples, common: Common) -> DataError:
    shown = ", ".join(str(other.names[code]) for code in common.everybody[:3])
    return DataError(
        f"{other.dataset}: {len(common.everybody)} of {len(other.people)} people are in the first "
        f"dataset too ({shown} ...), and too few others are left to fit and to test on: use a "
        "second dataset of other people"
    )
