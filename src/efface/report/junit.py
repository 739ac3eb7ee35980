"""The report as JUnit XML, so that a build server shows the gate and every measurement."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from efface.report.gate import Ruling, rule
from efface.report.words import clean, count, interval, rate
from efface.results import Measurement, Report


def to_junit(report: Report) -> bytes:
    """One suite: a case per gate, then a case per measurement with its counts."""
    suite = ET.Element("testsuite", name=_line(f"efface {report.subject.dataset}"))
    _properties(suite, report)
    rulings = rule(report.worst_cases, report.releases, report.verdict.limit)
    for ruling in rulings:
        _gate(suite, ruling, report)
    for measurement in report.measurements:
        _measurement(suite, measurement)
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(suite)
    data: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _properties(suite: ET.Element, report: Report) -> None:
    known = {
        "schema": report.schema,
        "outcome": report.verdict.outcome,
        "dataset digest": report.subject.digest,
        "split digest": report.subject.split_digest,
        "target FAR": rate(report.provenance.far),
        "seed": str(report.provenance.seed),
        "efface": report.provenance.efface,
    }
    properties = ET.SubElement(suite, "properties")
    for name, value in known.items():
        ET.SubElement(properties, "property", name=name, value=clean(value))


def _gate(suite: ET.Element, ruling: Ruling, report: Report) -> None:
    """A limit exceeded is a failure; what cannot be decided, or need not be, is skipped."""
    limit = report.verdict.limit
    name = "worst-case TAR" if limit is None else f"worst-case TAR at most {rate(limit)}"
    case = _case(suite, "gate", ruling.release, name)
    worst = ruling.worst
    told = f"{interval(worst.tar)} by {worst.attacker}" if worst.tar.value is not None else ""
    if ruling.outcome == "fail":
        failure = ET.SubElement(case, "failure", type="gate", message=_line(f"{name}: {told}"))
        failure.text = _lines(report) if ruling.release == report.verdict.release else clean(told)
    elif ruling.outcome == "inconclusive":
        why = told or worst.note or worst.status
        if ruling.doubt and told:
            why = f"{why}; {ruling.doubt}"
        ET.SubElement(case, "skipped", message=_line(f"inconclusive: {why}"))
    elif ruling.outcome == "not applicable":
        ET.SubElement(case, "skipped", message=_line(f"no limit was set: {told}"))
    else:
        ET.SubElement(case, "system-out").text = clean(told)


def _measurement(suite: ET.Element, measurement: Measurement) -> None:
    name = f"{measurement.attacker} at FAR {rate(measurement.case.far)}"
    case = _case(suite, "measurement", measurement.case.release, name)
    if measurement.status != "measured":
        why = ": ".join(part for part in (measurement.status, measurement.note) if part)
        ET.SubElement(case, "skipped", message=_line(why))
    ET.SubElement(case, "system-out").text = clean("\n".join(_figures(measurement)))


def _figures(measurement: Measurement) -> list[str]:
    lines = [
        f"TAR {interval(measurement.tar)}",
        f"FAR {interval(measurement.far)}",
        f"control {interval(measurement.control)}",
        f"threshold {rate(measurement.threshold, 8)}",
    ]
    counts = measurement.counts
    if counts is not None:
        lines += [
            f"mated accepted {count(counts.mated_accepted, counts.mated)}",
            f"impostors accepted {count(counts.impostor_accepted, counts.impostor)}",
            "calibration impostors accepted "
            f"{count(counts.calibration_accepted, counts.calibration_impostor)}"
            f", allowed {counts.calibration_allowed:,}",
        ]
    return lines


def _case(suite: ET.Element, kind: str, release: str, name: str) -> ET.Element:
    where = f"efface.{kind}.{_line(release)}"
    return ET.SubElement(suite, "testcase", classname=where, name=_line(name), time="0")


def _lines(report: Report) -> str:
    return clean("\n".join([report.verdict.headline, *report.verdict.sentences]))


def _line(text: str) -> str:
    """Attributes keep no line breaks: fold them here rather than let a parser do it."""
    return " ".join(clean(text).split())
