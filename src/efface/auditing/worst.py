"""The headline: the worst case over attackers and knowledge, with its name (P10)."""

from __future__ import annotations

from collections.abc import Sequence

from efface.measure.intervals import unknown
from efface.results import Estimate, Measurement, Worst


def worst_case(release: str, measurements: Sequence[Measurement]) -> Worst:
    """Largest TAR of any attacker.

    The high end is the largest high end of all attackers, so it covers whichever attacker is
    truly the strongest. The low end is Bonferroni's, because picking the largest of several
    estimates flatters it.
    """
    mine = [m for m in measurements if m.case.release == release]
    known = [(m.tar.value, m) for m in mine if m.tar.value is not None]
    if not known:
        notes = [m.note for m in mine if m.status == "insufficient data"] or [m.note for m in mine]
        why = notes[0] if notes else "no attack was run"
        return Worst(
            release=release, status="insufficient data", tar=unknown(why), far=unknown(why),
            attackers=len(mine), unmeasured=len(mine), note=why,
        )  # fmt: skip
    value, top = max(known, key=lambda pair: pair[0])
    highs = [m.tar.high for _, m in known if m.tar.high is not None]
    lows = [m.family_low for _, m in known if m.family_low is not None]
    tar = Estimate(
        value, min(max(lows), value), max(highs), top.tar.n, top.tar.clusters,
        f"worst of {len(known)} attackers; {top.tar.method}", top.tar.level,
    )  # fmt: skip
    # An attack that has no meaning here (LDA on one image of each person) is not missed.
    left = [m for m in mine if m.tar.value is None and m.status == "insufficient data"]
    names = ", ".join(m.attacker for m in left[:3])
    note = f"too few data for {len(left)} of {len(mine)} attackers ({names})" if left else ""
    return Worst(
        release=release, status="measured", attacker=top.attacker, tar=tar, far=top.far,
        attackers=len(known), unmeasured=len(left), note=note,
    )  # fmt: skip
