"""The gate: every rule on cases a person can check, and the words that go with them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import msgspec
import pytest
import report_world

from efface.errors import PlanError
from efface.report.gate import exit_code, verdict
from efface.results import Estimate, ReleaseSummary, Spec, Verdict, Worst

FAR = 1e-3


def summary(name: str, protected: bool = True) -> ReleaseSummary:
    return ReleaseSummary(name=name, protection=Spec("isp") if protected else None)


def worst(name: str, value: float | None, low: float | None = None, high: float | None = None,
          **more: Any) -> Worst:  # fmt: skip
    fields = {
        "release": name,
        "status": "measured" if value is not None else "insufficient data",
        "attacker": "ridge, parrot",
        "tar": Estimate(value, low, high, 4320, 72),
        "far": Estimate(FAR),
        "attackers": 8,
    }
    return Worst(**{**fields, **more})


def judge(value: float | None, low: float | None, high: float | None, limit: float | None,
          before: float | None = 0.98) -> Verdict:  # fmt: skip
    return verdict(
        [worst("raw", before, 0.96, 0.99, attacker="cosine"), worst("isp", value, low, high)],
        [summary("raw", False), summary("isp")],
        limit,
        FAR,
    )


@pytest.mark.parametrize(
    ("value", "low", "high", "limit", "outcome"),
    [
        (0.01, 0.00, 0.04, 0.05, "pass"),
        (0.05, 0.05, 0.05, 0.05, "pass"),
        (0.05, 0.02, 0.09, 0.05, "inconclusive"),
        (0.0, 0.0, 0.051, 0.05, "inconclusive"),
        (0.0501, 0.01, 0.09, 0.05, "fail"),
        (0.62, 0.55, 0.69, 0.05, "fail"),
        (0.62, 0.55, 0.69, None, "not applicable"),
        (None, None, None, 0.05, "inconclusive"),
        (None, None, None, None, "inconclusive"),
        (0.01, None, None, 0.05, "inconclusive"),
        (0.62, None, None, 0.05, "fail"),
        (0.0, 0.0, 0.0, 0.0, "pass"),
    ],
)
def test_one_release(
    value: float | None, low: float | None, high: float | None, limit: float | None, outcome: str
) -> None:
    found = judge(value, low, high, limit)
    assert (found.outcome, found.release, found.limit) == (outcome, "isp", limit)


def test_a_status_that_is_not_measured_is_inconclusive_whatever_the_number() -> None:
    cases = [worst("isp", 0.01, 0.0, 0.02, status="not applicable")]
    assert verdict(cases, [summary("isp")], 0.05, FAR).outcome == "inconclusive"


def test_raw_decides_only_when_nothing_is_protected() -> None:
    leak = worst("raw", 0.98, 0.96, 0.99)
    assert verdict([leak], [summary("raw", False)], 0.05, FAR).release == "raw"
    assert judge(0.01, 0.0, 0.02, 0.05).outcome == "pass"


def test_a_deciding_release_without_a_worst_case_is_inconclusive() -> None:
    found = verdict([worst("raw", 0.9)], [summary("raw", False), summary("isp")], 0.05, FAR)
    assert (found.outcome, found.release) == ("inconclusive", "isp")
    assert "too little data" in found.headline


KINDS = {"pass": (0.01, 0.0, 0.03), "fail": (0.30, 0.2, 0.4), "inconclusive": (0.04, 0.02, 0.07)}


@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, repeat=3)))
def test_the_gravest_of_several_decides_and_the_largest_of_those_is_named(
    kinds: tuple[str, str, str],
) -> None:
    bumps = (0.0, 0.005, -0.004)  # the second is the largest of its kind, the third the smallest
    cases, names = [], ("a", "b", "c")
    for name, kind, bump in zip(names, kinds, bumps, strict=True):
        value, low, high = KINDS[kind]
        cases.append(worst(name, value + bump, low, high))
    found = verdict(cases, [summary(n) for n in names], 0.05, FAR)
    expected = next(kind for kind in ("fail", "inconclusive", "pass") if kind in kinds)
    mine = [(c.tar.value or 0, c.release) for c, k in zip(cases, kinds, strict=True)
            if k == expected]  # fmt: skip
    assert found.outcome == expected
    assert found.release == max(mine)[1]


def test_a_measured_inconclusive_is_named_before_an_unmeasured_one() -> None:
    cases = [worst("a", None), worst("b", 0.04, 0.02, 0.07)]
    assert verdict(cases, [summary("a"), summary("b")], 0.05, FAR).release == "b"


def test_nothing_at_all() -> None:
    assert verdict([], [], None, FAR).outcome == "not applicable"
    assert verdict([], [], 0.05, FAR).outcome == "inconclusive"


@pytest.mark.parametrize("limit", [-0.1, 1.1, 5, math.nan, math.inf])
def test_a_limit_that_is_no_share_is_refused(limit: float) -> None:
    with pytest.raises(PlanError, match=r"0\.05 for 5 of 100"):
        judge(0.1, 0.05, 0.2, limit)


@pytest.mark.parametrize("far", [0.0, 1.0, -1e-3, math.nan])
def test_a_far_that_is_no_rate_is_refused(far: float) -> None:
    with pytest.raises(PlanError, match="1 in 1,000"):
        verdict([], [], None, far)


@pytest.mark.parametrize(
    ("estimate", "limit", "code"),
    [
        (Estimate(0.01, 0.0, 0.03), 0.05, 0),
        (Estimate(0.30, 0.2, 0.4), 0.05, 1),
        (Estimate(0.04, 0.02, 0.07), 0.05, 3),
        (Estimate(0.30, 0.2, 0.4), None, 0),
    ],
)
def test_exit_codes(estimate: Estimate, limit: float | None, code: int) -> None:
    assert exit_code(report_world.small(estimate, limit)) == code


def test_an_unmeasured_release_exits_three_even_where_a_file_says_not_applicable() -> None:
    report = report_world.small(Estimate(None), None, status="insufficient data")
    assert exit_code(report) == 3
    softened = msgspec.structs.replace(report.verdict, outcome="not applicable")
    assert exit_code(msgspec.structs.replace(report, verdict=softened)) == 3


# --- the words ------------------------------------------------------------------------------


def told(found: Verdict) -> str:
    return " ".join([found.headline, *found.sentences])


def test_the_fail_headline_is_a_plain_sentence_with_the_number() -> None:
    found = judge(0.62, 0.55, 0.69, 0.05)
    assert found.headline == "Fail: 62 of 100 pairs of pictures of one person are still linked."
    assert "The limit is 5 of 100; the figure is above it (0.62 against 0.05)." in found.sentences


def test_raw_vectors_are_not_still_linked() -> None:
    found = verdict([worst("raw", 0.98, 0.96, 0.99)], [summary("raw", False)], 0.05, FAR)
    assert found.headline == "Fail: 98 of 100 pairs of pictures of one person are linked."
    assert "still" not in told(found)
    assert "Before protection" not in told(found)


def test_a_pass_carries_its_upper_end_in_the_headline() -> None:
    assert judge(0.011, 0.004, 0.031, 0.05).headline == (
        "Pass: 11 of 1,000 pairs of pictures of one person are still linked; "
        "with 95 % confidence it is at most 31 of 1,000."
    )


def test_zero_is_not_called_safe() -> None:
    found = judge(0.0, 0.0, 0.041, 0.05)
    assert found.headline.startswith("Pass: none of the pairs")
    assert "at most 41 of 1,000" in found.headline
    assert "may be 41 times as many" in told(found)


def test_a_value_above_chance_is_said_with_how_many_times() -> None:
    assert "still well above chance, 620 times as many" in told(judge(0.62, 0.55, 0.69, 0.05))
    near = told(judge(0.0015, 0.0004, 0.004, 0.05))
    assert "cannot be told apart from chance, and may be 4.0 times as many" in near
    assert "well above" not in near


@pytest.mark.parametrize(
    ("far", "words"), [(1e-2, "1 in 100"), (1e-3, "1 in 1,000"), (1e-4, "1 in 10,000")]
)
def test_the_setting_is_said_exactly(far: float, words: str) -> None:
    case = worst("raw", 0.5, 0.4, 0.6, far=Estimate(far))
    found = verdict([case], [summary("raw", False)], None, far)
    assert f"set so that {words} pairs of strangers is wrongly linked" in found.sentences[0]
    assert f"Chance alone would link {words}:" in told(found)


def test_a_far_that_missed_its_target_is_pointed_out() -> None:
    on_target = worst("raw", 0.5, 0.4, 0.6, far=Estimate(0.0012))
    assert "aimed at" not in told(verdict([on_target], [summary("raw", False)], None, FAR))
    missed = worst("raw", 0.5, 0.4, 0.6, far=Estimate(0.004))
    found = told(verdict([missed], [summary("raw", False)], None, FAR))
    assert "aimed at 1 in 1,000 strangers wrongly linked; on the people tested it came" in found
    assert "1 in 250" in found


def test_no_reduction_is_claimed_where_intervals_overlap_or_nothing_fell() -> None:
    assert "a reduction has not been shown" in told(judge(0.95, 0.90, 0.97, 0.05))
    assert "protection has not lowered it" in told(judge(0.99, 0.98, 1.0, 0.05))
    assert "now 62 of 100 are" in told(judge(0.62, 0.55, 0.69, 0.05))
    assert "could not be measured" in told(judge(0.62, 0.55, 0.69, 0.05, before=None))


def test_a_limit_just_missed_reads_as_two_numbers() -> None:
    found = told(judge(0.0500001, 0.04, 0.06, 0.05))
    assert "(0.0500001 against 0.05)" in found


def test_every_story_ends_by_saying_that_it_is_no_proof() -> None:
    for value, high in ((0.62, 0.69), (0.0, 0.01), (None, None)):
        last = judge(value, value, high, 0.05).sentences[-1]
        assert "not a proof" in last


def test_too_little_data_says_why_and_what_would_help() -> None:
    case = worst("isp", None, note="FAR x N = 0.4: too few impostor pairs")
    text = told(verdict([case], [summary("isp")], 0.05, FAR))
    assert "FAR x N = 0.4: too few impostor pairs." in text
    assert "needs more people" in text


def test_attackers_that_could_not_be_measured_are_mentioned() -> None:
    case = worst("isp", 0.01, 0.0, 0.02, note="2 of 8 attackers could not be measured")
    assert "2 of 8 attackers could not be measured." in told(
        verdict([case], [summary("isp")], 0.05, FAR)
    )


def test_knowledge_is_explained() -> None:
    assert "learned from vectors protected in the same way" in told(judge(0.6, 0.5, 0.7, None))
    naive = worst("isp", 0.6, 0.5, 0.7, attacker="lda, naive")
    text = told(verdict([naive], [summary("isp")], None, FAR))
    assert "learned from unprotected vectors" in text


def test_nothing_passes_while_an_attacker_is_unmeasured() -> None:
    """Four pictures of each person cannot carry a probe on 16: it might have been the worst."""
    small = worst("isp", 0.01, 0.0, 0.04, attackers=5, unmeasured=7)
    found = verdict([small], [summary("isp")], 0.05, FAR)
    assert found.outcome == "inconclusive"
    why = "for 7 of 12 attackers the data do not suffice, and one of them may be the worst"
    assert why in found.headline
    assert any(why in line for line in found.sentences)
    failed = worst("isp", 0.2, 0.1, 0.3, attackers=5, unmeasured=7)
    assert verdict([failed], [summary("isp")], 0.05, FAR).outcome == "fail"
