"""TPR against the cost of guessing on real faces, for docs/templates-measured.md.

    python bench/measure_curve.py faces.npz population.npz [--images 5] [--bkz 20] [--out FOLDER]

Prints the best point of each way to run L2FE-Hash, some points along each curve, and the statement.
With --bkz the thief reduces the basis further than the service does (the extra audit-gpl).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import msgspec

from efface.auditing.curve import guess_curve
from efface.auditing.curve_rules import CurveRules
from efface.data.readers import load
from efface.errors import EffaceWarning
from efface.protect.template import L2FEHash
from efface.readings import GuessArm, GuessCurve, GuessPoint
from efface.report.words import interval
from machine import describe

_SHOWN = (0.98, 0.94, 0.9, 0.82, 0.7, 0.5, 0.3)


def main() -> int:
    typed = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    typed.add_argument("faces", type=Path)
    typed.add_argument("population", type=Path)
    typed.add_argument("--images", type=int, default=5)
    typed.add_argument("--votes", type=int, default=0)
    typed.add_argument("--guesses", type=int, default=5000)
    typed.add_argument("--bkz", type=int, default=0)
    typed.add_argument("--out", type=Path)
    given = typed.parse_args()
    warnings.simplefilter("ignore", EffaceWarning)
    rules = CurveRules(guesses=given.guesses, bkz=given.bkz)
    curve = guess_curve(
        load(given.faces), L2FEHash(), population=load(given.population), images=given.images,
        votes=given.votes, rules=rules,
    )  # fmt: skip
    print(f"{describe()}\n\n{curve.people} people, {curve.guesses:,} guesses, {curve.basis}\n")
    print_best(curve)
    for arm in curve.arms:
        print_points(arm)
    print("\n".join([*curve.sentences, *curve.notes]))
    if given.out is not None:
        given.out.write_bytes(msgspec.json.format(msgspec.json.encode(curve)))
    return 0


def print_best(curve: GuessCurve) -> None:
    print("| way | TPR | strangers | mean opens | bits | guesses | core s, all hashed | core s |")
    print("|---|---|---|---|---|---|---|---|")
    for arm in curve.arms:
        best = arm.best
        if best is None:
            print(f"| {arm.name} | never |")
            continue
        costs = [best.seconds_hashed, best.seconds]
        shown = ["-" if c is None else f"{c:.3g}" for c in costs]
        print(f"| {arm.name} | {_point(best.point)} | {' | '.join(shown)} |")
    hashes = {a.kdf: a.hash_seconds for a in curve.arms}
    print(f"\nA guess: {1e6 * curve.arms[0].decode_seconds:.1f} µs decoded; hashed: {hashes} s\n")


def print_points(arm: GuessArm) -> None:
    print(
        f"\n{arm.name}\n\n| TPR | strangers | mean opens | bits | guesses |\n|---|---|---|---|---|"
    )
    for wanted in _SHOWN:
        near = min(arm.points, key=lambda p: abs((p.tpr.value or 0.0) - wanted))
        print(f"| {_point(near)} |")


def _point(p: GuessPoint) -> str:
    high = "no end" if p.bits_high is None else f"{p.bits_high:.1f}"
    bits = (
        f"above {p.bits_low:.1f}" if p.bits is None else f"{p.bits:.1f} [{p.bits_low:.1f}, {high}]"
    )
    count = "-" if p.guesses_50 is None else f"{p.guesses_50:,.0f}{'' if p.seen else ' by rate'}"
    rates = [interval(e, "percent") for e in (p.tpr, p.fpr, p.first)]
    return " | ".join([*rates, bits, count])


if __name__ == "__main__":
    sys.exit(main())
