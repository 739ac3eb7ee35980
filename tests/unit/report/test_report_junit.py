"""JUnit XML, read back with a parser as a build server would."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import hostile
import report_world

from efface.report.junit import to_junit
from efface.results import Estimate, Report


def suite(report: Report) -> ET.Element:
    return ET.fromstring(to_junit(report))


def gates(report: Report) -> list[ET.Element]:
    cases = suite(report).findall("testcase")
    return [c for c in cases if c.get("classname", "").startswith("efface.gate.")]


def test_counts_agree_with_the_cases(full_report: Report) -> None:
    root = suite(full_report)
    assert int(root.get("tests", "")) == len(root.findall("testcase"))
    assert int(root.get("failures", "")) == len(root.findall("testcase/failure")) == 3
    assert int(root.get("skipped", "")) == len(root.findall("testcase/skipped")) == 1
    assert len(root.findall("testcase")) == 3 + len(full_report.measurements)


def test_every_deciding_release_has_a_gate(full_report: Report) -> None:
    found = gates(full_report)
    assert {c.get("classname") for c in found} == {
        "efface.gate.isp-128", "efface.gate.leace", "efface.gate.sal-64",
    }  # fmt: skip
    decided = next(c for c in found if c.get("classname") == "efface.gate.sal-64")
    failure = decided.find("failure")
    assert failure is not None
    assert "0.774 [0.724, 0.824] by ridge, parrot" in failure.get("message", "")
    assert full_report.verdict.headline in (failure.text or "")


def test_a_gate_is_silent_when_it_passes_and_skipped_when_it_cannot_tell() -> None:
    (passed,) = gates(report_world.small(Estimate(0.01, 0.0, 0.03)))
    assert passed.find("failure") is None
    assert passed.find("skipped") is None
    (open_,) = gates(report_world.small(Estimate(0.04, 0.02, 0.07)))
    skipped = open_.find("skipped")
    assert skipped is not None
    assert skipped.get("message", "").startswith("inconclusive: 0.04")
    (without,) = gates(report_world.small(Estimate(0.4, 0.2, 0.7), None))
    assert "no limit was set" in without.find("skipped").get("message", "")  # type: ignore[union-attr]


def test_a_measurement_carries_its_counts(full_report: Report) -> None:
    cases = suite(full_report).findall("testcase")
    case = next(
        c for c in cases
        if c.get("classname") == "efface.measurement.isp-128"
        and c.get("name") == "ridge, parrot at FAR 0.001"
    )  # fmt: skip
    out = case.findtext("system-out") or ""
    assert "mated accepted 2,683 / 4,320" in out
    assert "impostors accepted 1,028 / 934,560" in out
    assert "calibration impostors accepted 1,204 / 1,204,128, allowed 1,204" in out


def test_insufficient_data_is_skipped_with_its_reason(full_report: Report) -> None:
    (skipped,) = suite(full_report).findall("testcase/skipped")
    assert skipped.get("message", "").startswith("insufficient data: FAR x N = 0.9")


def test_hostile_strings_stay_text() -> None:
    report = hostile.report()
    root = suite(report)
    assert hostile.SCRIPT in root.get("name", "")
    assert not root.findall(".//script")
    assert int(root.get("tests", "")) == 3 + len(report.measurements)
    assert "\ufffd" in root.get("name", "")


def test_equal_reports_give_equal_bytes(full_report: Report) -> None:
    assert to_junit(full_report) == to_junit(report_world.build())
