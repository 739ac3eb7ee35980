"""The verdict in plain words, for a reader who knows no statistics and signs the page.

Every figure is rounded so that nothing reads safer than it was measured: upper ends go up, a
share below one never reads as all, and what cannot be told apart from chance is not called safe.
"""

from __future__ import annotations

from dataclasses import dataclass

from efface.report.words import (
    apart,
    at_most,
    between,
    clip,
    exactly,
    one_in,
    percent,
    share,
    times,
)
from efface.results import Estimate, Outcome, Worst

PAIRS = "pairs of pictures of one person"
LEADS = {
    "pass": "Pass",
    "fail": "Fail",
    "inconclusive": "Inconclusive",
    "not applicable": "No limit was set",
}
MAYBE_KNOWN = "the people tested may be among those the projector was fitted on"
_LEARNT = {
    "parrot": "It had learned from vectors protected in the same way.",
    "naive": "It had learned from unprotected vectors.",
}


@dataclass(frozen=True)
class Story:
    """What there is to tell: the deciding release, the limit, the target FAR, and before."""

    worst: Worst
    outcome: Outcome
    limit: float | None
    far: float
    before: Worst | None
    """The worst case of the raw vectors; None where the raw vectors themselves decide."""
    others: list[tuple[str, Outcome]]
    doubt: str = ""
    """Why nothing may pass, however small the number."""

    @property
    def still(self) -> str:
        return "" if self.before is None else "still "


def headline(story: Story) -> str:
    """One sentence with the number, and with its upper end wherever it sounds like comfort."""
    tar, lead = story.worst.tar, LEADS[story.outcome]
    if tar.value is None:
        return f"{lead}: there is too little data to say how many {PAIRS} are linked."
    linked = _linked(tar.value, story.still)
    high = tar.high
    if story.outcome == "pass" and high is not None:
        return f"{lead}: {linked}; with {_sure(tar)} it is at most {at_most(high)}."
    if story.outcome == "inconclusive" and story.limit is not None:
        limit = f"the limit is {exactly(story.limit)}"
        if high is None:
            return f"{lead}: {linked}, but how far off that may be is not known; {limit}."
        if high <= story.limit:
            return f"{lead}: {linked}, but {story.doubt}; {limit}."
        return f"{lead}: {linked}, but it may be as many as {at_most(high)}; {limit}."
    return f"{lead}: {linked}."


def tell(story: Story) -> list[str]:
    """What the number means, how sure it is, who reached it, and what it does not show."""
    if story.worst.tar.value is None:
        lines = _unmeasured(story)
    else:
        lines = [
            _meaning(story),
            *_certainty(story.worst.tar),
            *_setting(story),
            *_against_limit(story),
            *_change(story),
            *_chance(story),
            *_note(story.worst),
        ]
    return [*lines, *_others(story), _caveat(story.worst)]


def missing(worst: Worst) -> str:
    """Attackers for whom the data do not suffice, where others were measured."""
    if worst.tar.value is None or not worst.unmeasured:
        return ""
    count = worst.attackers + worst.unmeasured
    return (
        f"for {worst.unmeasured:,} of {count:,} attackers the data do not suffice, and one of them "
        "may be the worst"
    )


def nothing(limit: float | None) -> tuple[str, list[str]]:
    """Headline and sentences when no release was looked at at all."""
    lead = LEADS["not applicable" if limit is None else "inconclusive"]
    return f"{lead}: nothing was measured.", ["The audit held no release to attack."]


def _linked(value: float, still: str) -> str:
    if value == 0:
        return f"none of the {PAIRS} that were tested is {still}linked"
    if value == 1:
        return f"all {PAIRS} that were tested are {still}linked"
    amount = share(value)
    verb = "is" if amount.startswith("1 of") else "are"
    return f"{amount} {PAIRS} {verb} {still}linked"


def _meaning(story: Story) -> str:
    worst = story.worst
    who = f"“{clip(worst.attacker, 60)}”" if worst.attacker else "the attacker"
    first = f"The strongest of the {worst.attackers} attackers tried"
    many = f"{first if worst.attackers > 1 else 'The attacker tried'}, {who},"
    learnt = next((text for word, text in _LEARNT.items() if word in worst.attacker), "")
    value = worst.tar.value or 0.0
    figure = "in none of the cases tested" if value == 0 else f"in {percent(value)} of cases"
    line = (
        f"{many} recognises two pictures as showing the same person {figure}, when it is set so "
        f"that {one_in(story.far)} pairs of strangers is wrongly linked."
    )
    return f"{line} {learnt}".strip()


def _certainty(tar: Estimate) -> list[str]:
    if tar.low is None or tar.high is None:
        return ["How far this figure may be off is not known: it came without an interval."]
    return [
        f"With other people it may be anything {between(tar.low, tar.high)} "
        f"({_level(tar)} interval)."
    ]


def _setting(story: Story) -> list[str]:
    """Say so when the test people were linked wrongly much more, or less, than aimed at."""
    achieved = story.worst.far.value
    if achieved is None or 0.5 <= achieved / story.far <= 2:
        return []
    came = f"to {one_in(achieved)}" if achieved > 0 else "to none at all"
    return [
        f"The setting aimed at {one_in(story.far)} strangers wrongly linked; on the people tested "
        f"it came {came}, so read the figure with care."
    ]


def _against_limit(story: Story) -> list[str]:
    value, high, limit = story.worst.tar.value, story.worst.tar.high, story.limit
    if limit is None or value is None:
        return []
    start = f"The limit is {exactly(limit)}"
    if story.outcome == "fail":
        measured, bound = apart(value, limit)
        return [f"{start}; the figure is above it ({measured} against {bound})."]
    if story.outcome == "pass":
        return [f"{start}; the whole interval lies at or below it."]
    if high is None:
        return [f"{start}; without an interval it cannot be said that the figure stays below it."]
    if high <= limit:
        return [f"{start}; the interval lies at or below it, which proves nothing here: "
                f"{story.doubt}."]  # fmt: skip
    upper, bound = apart(high, limit)
    return [
        f"{start}; the figure is not above it but the interval reaches over it ({upper} against "
        f"{bound}). More people in the test would narrow the interval."
    ]


def _change(story: Story) -> list[str]:
    if story.before is None:
        return []
    old, new = story.before.tar, story.worst.tar
    if old.value is None or new.value is None:
        return ["How many were linked before protection could not be measured."]
    was = f"Before protection, {_amount(old.value)} were linked"
    if new.value >= old.value:
        return [f"{was}: protection has not lowered it."]
    if new.high is None or old.low is None or new.high >= old.low:
        return [f"{was}; the two intervals overlap, so a reduction has not been shown."]
    return [f"{was}, now {_amount(new.value)} are."]


def _amount(value: float) -> str:
    ends = {0.0: "none of those tested", 1.0: "all of those tested"}
    return ends.get(value) or share(value)


def _chance(story: Story) -> list[str]:
    """Above chance is said plainly, with how many times; near chance is not called safe."""
    tar, far = story.worst.tar, story.far
    if tar.value is None:
        return []
    chance = f"Chance alone would link {one_in(far)}"
    if tar.low is not None and tar.low > far and tar.value > far:
        well = "well above chance" if tar.value >= 2 * far else "above chance"
        return [f"{chance}: this is {story.still}{well}, {times(tar.value / far)} as many."]
    if tar.low is None and tar.value > far:
        return [f"{chance}: this is {times(tar.value / far)} as many."]
    high = tar.high or 0.0
    most = f", and may be {times(high / far)} as many" if high > far else ""
    return [f"{chance}: with this many people, this cannot be told apart from chance{most}."]


def _unmeasured(story: Story) -> list[str]:
    lines = [f"Why: {note}" for note in _note(story.worst)]
    lines.append(
        f"To measure at {one_in(story.far)} strangers wrongly linked, the test needs more people "
        "or more pictures of each; a less strict setting needs fewer."
    )
    if story.before is not None and story.before.tar.value is not None:
        lines.append(f"Before protection, {_amount(story.before.tar.value)} were linked.")
    return lines


def _note(worst: Worst) -> list[str]:
    note = clip(worst.note, 300).rstrip(".")
    return [f"{note}."] if note else []


def _others(story: Story) -> list[str]:
    if not story.others:
        return []
    named = "; ".join(
        f"{clip(name, 60)}: {LEADS[outcome].lower()}" for name, outcome in story.others
    )
    return [f"This is about “{clip(story.worst.release, 60)}”. Also judged: {named}."]


def _caveat(worst: Worst) -> str:
    count = "the attackers" if worst.attackers != 1 else "the one attacker"
    return (
        f"This is a measurement over {count} tried and the people tested, not a proof: an "
        "attacker that was not tried may do better."
    )


def _sure(tar: Estimate) -> str:
    return f"{_level(tar)} confidence"


def _level(tar: Estimate) -> str:
    return f"{100 * tar.level:.10g} %"
