"""What the types of a report cannot say: names that must exist, rates, intervals, lengths, counts.

Every problem is an :class:`ArtefactError` that names the path of the field.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from efface.errors import ArtefactError
from efface.report.gate import decisive, rule
from efface.results import (
    Counts,
    Estimate,
    Map,
    Measurement,
    ReleaseSummary,
    Report,
    Subject,
    Sweep,
    Transfer,
    UtilityScore,
    Worst,
)

_REMEDY = "the file was edited or damaged; write it again with `efface audit`"
# Sums of millions of float32 products may stick out of [0, 1] by this much and mean nothing.
_SLACK = 1e-6
# Beyond these no honest number lies, and arithmetic on them overflows in whoever draws them.
_LARGEST_INT = 2**128
_LARGEST_FLOAT = 1e100

Problem = tuple[str, str]


def check(report: Report, source: str) -> None:
    """Raise on the first thing that does not fit together."""
    for path, problem in _problems(report):
        raise ArtefactError(f"{source}: $.{path}: {problem}: {_REMEDY}")


def _problems(report: Report) -> Iterator[Problem]:
    yield from _sizes(report, "")
    yield from _subject(report.subject)
    names = [r.name for r in report.releases]
    yield from _releases(report.releases, names)
    for i, worst in enumerate(report.worst_cases):
        yield from _worst(worst, f"worst_cases[{i}]", names)
    yield from _repeats([w.release for w in report.worst_cases], "worst_cases", "release")
    for i, measurement in enumerate(report.measurements):
        yield from _measurement(measurement, f"measurements[{i}]", names)
    for i, sweep in enumerate(report.sweeps):
        yield from _sweep(sweep, f"sweeps[{i}]")
    if report.transfer is not None:
        yield from _transfer(report.transfer)
    for i, score in enumerate(report.utility):
        yield from _utility(score, f"utility[{i}]", names)
    for i, view in enumerate(report.maps):
        yield from _map(view, f"maps[{i}]", names)
    yield from _encoding(report)
    yield from _provenance(report)
    yield from _verdict(report, names)


def _sizes(value: Any, path: str) -> Iterator[Problem]:
    """Every number finite and of a size that can be drawn; free-form plans included."""
    if isinstance(value, bool | str) or value is None:
        return
    if isinstance(value, int):
        if abs(value) >= _LARGEST_INT:
            yield path, "a whole number beyond 128 bits"
    elif isinstance(value, float):
        if not math.isfinite(value) or abs(value) > _LARGEST_FLOAT:
            yield path, f"{value} is no usable number"
    else:
        for name, inner in _members(value):
            yield from _sizes(inner, f"{path}{name}" if path else name.lstrip("."))


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, msgspec.Struct):
        return [(f".{name}", getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, dict):
        return [(f".{name}", inner) for name, inner in value.items()]
    return [(f"[{i}]", inner) for i, inner in enumerate(value)]


def _subject(subject: Subject) -> Iterator[Problem]:
    for name in ("rows", "dimension", "identities"):
        if getattr(subject, name) < 0:
            yield f"subject.{name}", "less than zero"
    for part, sizes in subject.parts.items():
        if len(sizes) != 2 or not 0 <= sizes[0] <= sizes[1]:
            yield f"subject.parts.{part}", "expected [people, rows], no more people than rows"


def _releases(releases: Sequence[ReleaseSummary], names: list[str]) -> Iterator[Problem]:
    if not releases:
        yield "releases", "a report needs at least one release"
    yield from _repeats(names, "releases", "name")
    for i, release in enumerate(releases):
        at = f"releases[{i}]"
        if release.rank < 0 or release.dimension < 0 or release.identities_fitted < 0:
            yield f"{at}.rank", "rank, dimension or identities_fitted is less than zero"
        if 0 < release.dimension < release.rank:
            yield f"{at}.rank", f"{release.rank} of {release.dimension} dimensions"
        yield from _rate(release.variance_kept, f"{at}.variance_kept")
        for k, share in enumerate(release.energy):
            yield from _rate(share, f"{at}.energy[{k}]")
        if any(b < a - _SLACK for a, b in pairwise(release.energy)):
            yield f"{at}.energy", "cumulative shares must not fall"


def _worst(worst: Worst, at: str, names: list[str]) -> Iterator[Problem]:
    yield from _known(worst.release, f"{at}.release", names)
    yield from _measured(worst.status, worst.tar, at)
    yield from _estimates(worst, at, ("tar", "far"))
    if worst.attackers < 0:
        yield f"{at}.attackers", "less than zero"


def _measurement(measurement: Measurement, at: str, names: list[str]) -> Iterator[Problem]:
    case = measurement.case
    yield from _known(case.release, f"{at}.case.release", names)
    if not 0 < case.far < 1:
        yield f"{at}.case.far", f"{case.far} is not between 0 and 1"
    yield from _measured(measurement.status, measurement.tar, at)
    yield from _estimates(measurement, at, ("tar", "far", "fnmr", "fmr", "control", "pauc"))
    yield from _rate(measurement.eer, f"{at}.eer")
    yield from _rate(measurement.family_low, f"{at}.family_low")
    if measurement.counts is not None:
        yield from _counts(measurement.counts, f"{at}.counts")
    curve = measurement.curve
    if curve is None:
        return
    if len(curve.far) != len(curve.tar):
        yield f"{at}.curve", f"{len(curve.far)} FAR values but {len(curve.tar)} TAR values"
    for k, far in enumerate(curve.far):
        yield from _rate(far, f"{at}.curve.far[{k}]")
    for k, tar in enumerate(curve.tar):
        yield from _rate(tar, f"{at}.curve.tar[{k}]")


def _counts(counts: Counts, at: str) -> Iterator[Problem]:
    pairs = (
        ("mated_accepted", "mated"),
        ("impostor_accepted", "impostor"),
        ("calibration_allowed", "calibration_impostor"),
        ("calibration_accepted", "calibration_impostor"),
    )
    for part, whole in pairs:
        few, all_ = getattr(counts, part), getattr(counts, whole)
        if not 0 <= few <= all_:
            yield f"{at}.{part}", f"{few} of {all_}"


def _sweep(sweep: Sweep, at: str) -> Iterator[Problem]:
    yield from _rate(sweep.target, f"{at}.target")
    if sweep.chosen is not None and sweep.chosen < 0:
        yield f"{at}.chosen", "less than zero"
    for k, point in enumerate(sweep.points):
        if point.x < 0:
            yield f"{at}.points[{k}].x", "less than zero"
        yield from _estimate(point.tar, f"{at}.points[{k}].tar")
    yield from _repeats([p.x for p in sweep.points], f"{at}.points", "x")


def _transfer(transfer: Transfer) -> Iterator[Problem]:
    for k, cell in enumerate(transfer.cells):
        at = f"transfer.cells[{k}]"
        yield from _known(cell.tested_on, f"{at}.tested_on", transfer.datasets)
        if cell.fitted_on is not None:
            yield from _known(cell.fitted_on, f"{at}.fitted_on", transfer.datasets)
        yield from _estimate(cell.tar, f"{at}.tar")
    if len(transfer.cosines) != len(transfer.random_cosines):
        yield "transfer.random_cosines", "not as many as cosines"
    for name in ("cosines", "random_cosines"):
        for k, cosine in enumerate(getattr(transfer, name)):
            yield from _rate(cosine, f"transfer.{name}[{k}]")


def _utility(score: UtilityScore, at: str, names: list[str]) -> Iterator[Problem]:
    yield from _known(score.release, f"{at}.release", names)
    yield from _estimates(score, at, ("raw", "protected"))
    # Protected may do better than raw: a share is not bounded by 1.
    yield from _estimate(score.share, f"{at}.share", top=math.inf)


def _map(view: Map, at: str, names: list[str]) -> Iterator[Problem]:
    yield from _known(view.release, f"{at}.release", names)
    if not len(view.x) == len(view.y) == len(view.person):
        yield at, f"{len(view.x)} x, {len(view.y)} y and {len(view.person)} people"
    if any(person < 0 for person in view.person):
        yield f"{at}.person", "less than zero"


def _encoding(report: Report) -> Iterator[Problem]:
    """Every picture is encoded or left out for a reason."""
    if report.encoding is None:
        return
    pictures = report.encoding.pictures
    if pictures.found != pictures.encoded + sum(pictures.left_out.values()):
        yield "encoding.pictures.found", "is not encoded and all of left_out together"
    for name, (mean, spread, largest) in report.encoding.geometry.achieved.items():
        if spread < 0 or mean > largest + _SLACK * abs(largest):
            yield f"encoding.geometry.achieved.{name}", "is no mean, deviation and largest"


def _provenance(report: Report) -> Iterator[Problem]:
    for name in ("far", "level"):
        value = getattr(report.provenance, name)
        if not 0 < value < 1:
            yield f"provenance.{name}", f"{value} is not between 0 and 1"
    if report.provenance.bootstrap < 0:
        yield "provenance.bootstrap", "less than zero"


def _verdict(report: Report, names: list[str]) -> Iterator[Problem]:
    """The verdict must be the one that the numbers below it give."""
    yield from _rate(report.verdict.limit, "verdict.limit")
    yield from _known(report.verdict.release, "verdict.release", names)
    ruling = decisive(rule(report.worst_cases, report.releases, report.verdict.limit))
    if ruling is not None and ruling.outcome != report.verdict.outcome:
        yield (
            "verdict.outcome",
            f"says {report.verdict.outcome!r} where the worst cases and the limit give "
            f"{ruling.outcome!r}",
        )


def _known(name: str, at: str, names: Sequence[str]) -> Iterator[Problem]:
    if name not in names:
        known = ", ".join(n[:40] for n in names[:8])
        yield at, f"{name[:60]!r} is not among {known}"


def _repeats(values: Sequence[Any], at: str, field: str) -> Iterator[Problem]:
    seen = set()
    for i, value in enumerate(values):
        if value in seen:
            yield f"{at}[{i}].{field}", f"{str(value)[:60]!r} appears twice"
        seen.add(value)


def _measured(status: str, tar: Estimate, at: str) -> Iterator[Problem]:
    if status == "measured" and tar.value is None:
        yield f"{at}.tar.value", "null, though the status is 'measured'"


def _estimates(holder: Any, at: str, names: Sequence[str]) -> Iterator[Problem]:
    for name in names:
        yield from _estimate(getattr(holder, name), f"{at}.{name}")


def _estimate(estimate: Estimate, at: str, top: float = 1.0) -> Iterator[Problem]:
    if estimate.n < 0 or estimate.clusters < 0:
        yield f"{at}.n", "n or clusters is less than zero"
    if not 0 < estimate.level < 1:
        yield f"{at}.level", f"{estimate.level} is not between 0 and 1"
    for name in ("value", "low", "high"):
        yield from _rate(getattr(estimate, name), f"{at}.{name}", top)
    ends = [v for v in (estimate.low, estimate.value, estimate.high) if v is not None]
    if any(b < a - _SLACK for a, b in pairwise(ends)):
        yield at, "expected low <= value <= high"


def _rate(value: float | None, at: str, top: float = 1.0) -> Iterator[Problem]:
    if value is not None and not -_SLACK <= value <= top + _SLACK:
        yield at, f"{value} is not a share between 0 and {top:g}"
