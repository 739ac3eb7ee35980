"""From what was measured to one of three words (P26)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from efface.measure.guesses import guesses, per_guess
from efface.readings import AttackReading, Guessing, MeterVerdict
from efface.results import Estimate

LEAST = 0.05
"""A share of the people below which a single query breaks nothing yet."""
FACTOR = 2.0
"""How far above chance it has to be."""
REACH = 2.0**40
"""Guesses within reach of one computer and a fast hash: days."""


def judged(
    attacks: Sequence[AttackReading],
    tpr: Estimate,
    fpr: Estimate,
    guessing: Guessing,
    random: float,
) -> MeterVerdict:
    """*Broken*: one computation or one query, knowing nothing of the person, succeeds with more
    than 5 % of the people and twice as often as chance, by the lower end of its interval.
    *Guessable*: half of the people fall to fewer than 2^40 guesses. Else it *holds*."""
    said = [_usable(tpr, fpr), _bits(guessing)]
    worst = max(attacks, key=lambda a: _success(a, fpr, random), default=None)
    if worst is not None and _success(worst, fpr, random) > 0:
        return MeterVerdict(
            finding="broken", headline=_broken(worst, random), sentences=[*said, *_also(attacks)]
        )  # fmt: skip
    tries = fewest(attacks, guessing)
    if tries < REACH:
        return MeterVerdict(
            finding="guessable", tries=tries, sentences=[*said, *_also(attacks)],
            headline=f"Guessable: half of the people fall to about {_count(tries)} guesses each.",
        )  # fmt: skip
    return MeterVerdict(
        finding="holds", sentences=[*said, "That none of these attacks works proves nothing."],
        headline="Holds against what was tried.",
    )  # fmt: skip


def fewest(attacks: Sequence[AttackReading], guessing: Guessing) -> float:
    """Guesses for half of the people: seen, or from the best rate per guess; infinite if none."""
    found = [guessing.guesses_50 or math.inf]
    for attack in attacks:
        if attack.guesses_50 is not None:
            found.append(float(attack.guesses_50))
        elif attack.opened.value and attack.tries > 1:  # one fixed query cannot be repeated
            found.append(guesses(per_guess(attack.opened.value, attack.tries), 0.5))
    return min(found)


def _success(attack: AttackReading, fpr: Estimate, random: float) -> float:
    """The share that one query or one computation gets; 0 where it is not clearly above chance."""
    if attack.tries > 1:
        return 0.0
    found = [0.0]
    for rate, chance in ((attack.near, random), (attack.accepted, fpr.high or 0.0)):
        low = rate.low or 0.0
        if low > max(LEAST, FACTOR * chance):
            found.append(rate.value or 0.0)
    return max(found)


def _broken(attack: AttackReading, random: float) -> str:
    near, passed = attack.near.value or 0.0, attack.accepted.value or 0.0
    if (attack.near.low or 0.0) > max(LEAST, FACTOR * random):
        return (
            f"Broken: {attack.attack} finds an embedding of {_percent(near)} of the people, near "
            "enough to be taken for theirs."
        )
    return f"Broken: {attack.attack} passes for {_percent(passed)} of the people at one try."


def _usable(tpr: Estimate, fpr: Estimate) -> str:
    return (
        f"It accepts {_percent(tpr.value)} of genuine tries and {_percent(fpr.value)} of "
        "strangers'."
    )


def _bits(guessing: Guessing) -> str:
    if guessing.bits is None:
        return f"No stranger was accepted: these data vouch for {guessing.bits_low:.1f} bits."
    return (
        f"That leaves {guessing.bits:.1f} bits against somebody who tries embeddings of random "
        f"people: one in {_count(2**guessing.bits)} is accepted."
    )


def _also(attacks: Sequence[AttackReading]) -> list[str]:
    """Every attack that opened somebody by guessing, in words."""
    return [
        f"{a.attack} ({a.leakage} leakage) opens {_percent(a.opened.value)} of the people within "
        f"{_count(a.tries)} {'guess' if a.tries == 1 else 'guesses'}."
        for a in attacks
        if a.opened.value
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.3g} %"


def _count(value: float) -> str:
    if not math.isfinite(value):
        return "no number of"
    return f"{value:,.0f}" if value < 1e7 else f"{value:.1e}"
