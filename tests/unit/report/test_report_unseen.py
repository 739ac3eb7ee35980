"""A low figure passes only if the people it was measured on are new to the projector."""

from __future__ import annotations

import msgspec
import pytest
import report_world

from efface.errors import ArtefactError
from efface.report.gate import verdict
from efface.report.html import to_html
from efface.report.junit import to_junit
from efface.report.schema import from_json, to_json
from efface.results import Novelty, ReleaseSummary, Report, Transfer, Verdict

LIMIT = 0.99
MAYBE = "may be among those the projector was fitted on"


def with_novelty(unseen: Novelty, limit: float | None = LIMIT) -> Report:
    plain = report_world.build(limit=limit)
    releases = [
        r if r.protection is None
        else msgspec.structs.replace(r, unseen=unseen, identities_recognised=3)
        for r in plain.releases
    ]  # fmt: skip
    found: Verdict = verdict(plain.worst_cases, releases, limit, report_world.FAR)
    return msgspec.structs.replace(plain, releases=releases, verdict=found)


@pytest.mark.parametrize(
    ("unseen", "outcome"),
    [("shown", "pass"), ("vouched", "pass"), ("not shown", "inconclusive")],
)
def test_only_people_who_are_new_let_it_pass(unseen: Novelty, outcome: str) -> None:
    report = with_novelty(unseen)
    assert report.verdict.outcome == outcome
    told = [report.verdict.headline, *report.verdict.sentences]
    assert any(MAYBE in line for line in told) == (outcome == "inconclusive")
    assert (MAYBE in to_junit(report).decode()) == (outcome == "inconclusive")
    assert "reaches over" not in " ".join(told)
    assert from_json(to_json(report)) == report


def test_a_leak_fails_and_no_limit_stays_none_whoever_they_were() -> None:
    assert with_novelty("not shown", 0.001).verdict.outcome == "fail"
    assert with_novelty("not shown", None).verdict.outcome == "not applicable"


def test_a_pass_cannot_be_written_over_unknown_people() -> None:
    honest = with_novelty("not shown")
    edited = msgspec.structs.replace(
        honest, verdict=msgspec.structs.replace(honest.verdict, outcome="pass")
    )
    with pytest.raises(ArtefactError, match=r"verdict\.outcome"):
        to_json(edited)


def test_a_report_of_before_reads_as_it_was() -> None:
    assert ReleaseSummary(name="isp", protection=None).unseen == "shown"


def test_the_page_says_who_attacked_in_transfer() -> None:
    plain = report_world.build()
    assert isinstance(plain.transfer, Transfer)
    noted = msgspec.structs.replace(plain.transfer, note="Attackers: cosine; left out: mlp.")
    page = to_html(msgspec.structs.replace(plain, transfer=noted))
    assert "left out: mlp" in (page if isinstance(page, str) else page.decode())
