"""The gate: from worst cases and a limit to a verdict and an exit code. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from efface.errors import PlanError
from efface.report import sentences
from efface.results import Estimate, Outcome, ReleaseSummary, Report, Verdict, Worst

EXIT = {"pass": 0, "fail": 1, "inconclusive": 3, "not applicable": 0}
# A verdict over several releases is the first of these that any of them has.
_SEVERITY: tuple[Outcome, ...] = ("fail", "inconclusive", "pass", "not applicable")
_UNKNOWN = Estimate(value=None)


@dataclass(frozen=True)
class Ruling:
    """One release that decides, its worst case, and what the gate says of it."""

    release: str
    worst: Worst
    outcome: Outcome
    doubt: str = ""
    """Why nothing may pass, however small the number."""


def verdict(
    worst_cases: Sequence[Worst],
    releases: Sequence[ReleaseSummary],
    limit: float | None,
    far: float,
) -> Verdict:
    """Hold the worst case of every deciding release against the limit (P10)."""
    check_limits(limit, far)
    rulings = rule(worst_cases, releases, limit)
    ruling = decisive(rulings)
    if ruling is None:
        headline, lines = sentences.nothing(limit)
        outcome: Outcome = "not applicable" if limit is None else "inconclusive"
        return Verdict(outcome=outcome, limit=limit, release="", headline=headline, sentences=lines)
    raw = next((r.name for r in releases if r.protection is None), None)
    before = next((w for w in worst_cases if w.release == raw and raw != ruling.release), None)
    others = [(r.release, r.outcome) for r in rulings if r is not ruling]
    story = sentences.Story(ruling.worst, ruling.outcome, limit, far, before, others, ruling.doubt)
    return Verdict(
        outcome=ruling.outcome,
        limit=limit,
        release=ruling.release,
        headline=sentences.headline(story),
        sentences=sentences.tell(story),
    )


def deciding(releases: Sequence[ReleaseSummary]) -> list[str]:
    """The protected releases if there are any, otherwise the raw ones."""
    protected = [r.name for r in releases if r.protection is not None]
    return protected or [r.name for r in releases]


def rule(
    worst_cases: Sequence[Worst], releases: Sequence[ReleaseSummary], limit: float | None
) -> list[Ruling]:
    """The outcome of every deciding release; one without a worst case was not measured.

    Nothing passes on people whom its projector may know, nor while an attacker is unmeasured who
    may have been the worst (P10, P13).
    """
    known = {w.release: w for w in worst_cases}
    unproven = {r.name for r in releases if r.unseen == "not shown"}
    rulings = []
    for name in deciding(releases):
        worst = known.get(name) or _unmeasured(name)
        found = outcome(worst, limit)
        doubt = sentences.MAYBE_KNOWN if name in unproven else sentences.missing(worst)
        if found == "pass" and doubt:
            found = "inconclusive"
        rulings.append(Ruling(name, worst, found, doubt))
    return rulings


def outcome(worst: Worst, limit: float | None) -> Outcome:
    """Pass needs the *upper* end at or below the limit; fail needs the value above it."""
    value, high = worst.tar.value, worst.tar.high
    if worst.status != "measured" or value is None:
        return "inconclusive"
    if limit is None:
        return "not applicable"
    if value > limit:
        return "fail"
    if high is not None and high <= limit:
        return "pass"
    return "inconclusive"


def decisive(rulings: Sequence[Ruling]) -> Ruling | None:
    """The ruling with the largest worst case among those with the gravest outcome."""
    for grave in _SEVERITY:
        having = [r for r in rulings if r.outcome == grave]
        if having:
            return max(having, key=_largest)
    return None


def exit_code(report: Report) -> int:
    """0 pass, 1 fail, 3 inconclusive; without a limit 0, unless something was not measured."""
    code = EXIT[report.verdict.outcome]
    if report.verdict.outcome != "not applicable":
        return code
    rulings = rule(report.worst_cases, report.releases, None)
    return 3 if any(r.outcome == "inconclusive" for r in rulings) else code


def _largest(ruling: Ruling) -> float:
    value = ruling.worst.tar.value
    return -1.0 if value is None else value


def _unmeasured(release: str) -> Worst:
    return Worst(
        release=release,
        status="insufficient data",
        tar=_UNKNOWN,
        far=_UNKNOWN,
        note="no attack on this release was measured",
    )


def check_limits(limit: float | None, far: float) -> None:
    """Refuse a gate or an operating point that is no share, before any work is done for it."""
    if limit is not None and not (math.isfinite(limit) and 0 <= limit <= 1):
        raise PlanError(
            f"the limit (--fail-above) is {limit}: give a share between 0 and 1, "
            "for example 0.05 for 5 of 100"
        )
    if not (math.isfinite(far) and 0 < far < 1):
        raise PlanError(
            f"the target FAR is {far}: give a share between 0 and 1, "
            "for example 0.001 for 1 in 1,000"
        )
