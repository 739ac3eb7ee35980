"""The schema: what is written can be read, and nothing else gets in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import report_world
from hypothesis import example, given, settings
from hypothesis import strategies as st
from report_edit import PLAIN, edited

from efface.errors import ArtefactError, DataError
from efface.report import schema
from efface.report.schema import MAX_BYTES, from_json, read, to_json
from efface.results import Estimate, Report


def leaves(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path


# Long arrays would drown the other fields: the first elements stand for all of them.
LEAVES = [p for p in leaves(PLAIN) if not any(k.isdigit() and int(k) > 1 for k in p.split("."))]


# --- writing --------------------------------------------------------------------------------


def test_a_report_survives_the_round_trip(full_report: Report) -> None:
    assert from_json(to_json(full_report)) == full_report


def test_the_form_is_fixed(full_report: Report) -> None:
    data = to_json(full_report)
    assert data == to_json(report_world.build())
    assert data.endswith(b"}\n")
    assert data.startswith(b'{\n  "schema": "efface.report/1",\n')


@settings(deadline=None)
@given(st.floats(0, 1))
def test_floats_are_not_rounded(value: float) -> None:
    report = report_world.small(Estimate(value, value, value))
    assert from_json(to_json(report)).worst().tar.value == value


def test_keys_of_free_objects_are_sorted() -> None:
    made = report_world.build().provenance
    one = msgspec.structs.replace(made, plan={"b": 1, "a": {"d": 2, "c": 3}})
    other = msgspec.structs.replace(made, plan={"a": {"c": 3, "d": 2}, "b": 1})
    assert to_json(report_world.build(provenance=one)) == to_json(
        report_world.build(provenance=other)
    )


def test_numpy_scalars_and_paths_are_taken_for_what_they_are() -> None:
    estimate: Any = Estimate(np.float64(0.25), np.float32(0.125), np.float64(0.5), np.int64(7))
    report = report_world.small(estimate)
    made = msgspec.structs.replace(report.provenance, plan={"file": Path("a.parquet")})
    found = from_json(to_json(msgspec.structs.replace(report, provenance=made)))
    assert found.worst().tar == Estimate(0.25, 0.125, 0.5, 7)
    assert found.provenance.plan == {"file": "a.parquet"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("nan")])
def test_what_is_not_finite_is_refused_by_name(value: float) -> None:
    report = report_world.small(Estimate(0.5))
    worst = msgspec.structs.replace(report.worst_cases[0], tar=Estimate(0.5, 0.1, value))
    with pytest.raises(ArtefactError, match=r"worst_cases\[0\]\.tar\.high is (nan|inf)"):
        to_json(msgspec.structs.replace(report, worst_cases=[worst]))


def test_what_json_has_no_form_for_is_refused() -> None:
    made = msgspec.structs.replace(report_world.build().provenance, plan={"x": object()})
    with pytest.raises(ArtefactError, match="holds a object"):
        to_json(report_world.build(provenance=made))


def test_a_name_that_is_not_unicode_does_not_lose_an_audit() -> None:
    subject = msgspec.structs.replace(report_world.build().subject, dataset="caf\udce9")
    data = to_json(report_world.build(subject=subject))
    assert from_json(data).subject.dataset == "caf?"


# --- reading --------------------------------------------------------------------------------


def test_reading_from_a_file(tmp_path: Path, full_report: Report) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(to_json(full_report))
    assert read(path) == full_report
    with pytest.raises(DataError, match=r"missing\.json: cannot be read"):
        read(tmp_path / "missing.json")
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path)


def test_a_file_that_is_too_large_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)

    def decode(*_: Any) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr(schema, "_decode", decode)
    with pytest.raises(ArtefactError, match="more than a report may have"):
        read(path)


@pytest.mark.parametrize("found", ["efface.report/2", "efface.report/10", "other/1", ""])
def test_another_version_is_refused_and_the_known_one_named(found: str) -> None:
    with pytest.raises(ArtefactError, match=f"{found!r}, this efface knows 'efface.report/1'"):
        from_json(edited("schema", found))


def test_unknown_fields_are_ignored(full_report: Report) -> None:
    assert from_json(edited("later", {"a": 1})) == full_report


def test_every_truncation_is_refused(full_report: Report) -> None:
    data = to_json(report_world.small(Estimate(0.5, 0.4, 0.6))).rstrip()
    for end in range(len(data)):
        with pytest.raises(ArtefactError, match="write it again"):
            from_json(data[:end], "r.json")


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"3", b"{}", b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"[" * 100_000,
     b'{"schema":' * 50_000, b'{"schema": 1}', b'{"schema": "efface.report/1"}',
     b'{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"],
)  # fmt: skip
def test_what_is_no_report_is_refused(data: bytes) -> None:
    with pytest.raises(ArtefactError, match=r"^r\.json: "):
        from_json(data, "r.json")


def nested(depth: int) -> bytes:
    plan = '"plan": {"x": ' + "[" * depth + "]" * depth + ", "
    return json.dumps(PLAIN).replace('"plan": {', plan).encode()


@pytest.mark.parametrize("depth", [10, 200, 400, 700, 950])
def test_a_nested_plan_is_read_and_drawn_or_refused_cleanly(depth: int) -> None:
    from efface.report.html import to_html

    try:
        page = to_html(from_json(nested(depth)))
    except ArtefactError as error:
        page = f"refused: {error}"
    assert "<pre>" in page or (depth > 100 and "nested too deeply" in page)


def test_a_plan_nested_beyond_reason_is_refused() -> None:
    with pytest.raises(ArtefactError, match="nested too deeply"):
        from_json(nested(20_000))


def test_the_source_and_the_path_are_named() -> None:
    with pytest.raises(ArtefactError, match=r"^out/r\.json: .*\$\.worst_cases\[0\]\.tar\.n"):
        from_json(edited("worst_cases.0.tar.n", "many"), "out/r.json")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("worst_cases.0.release", "isp-9", r"worst_cases\[0\]\.release: 'isp-9' is not among raw"),
        ("worst_cases.1.release", "raw", r"worst_cases\[1\]\.release: 'raw' appears twice"),
        ("worst_cases.0.attackers", -1, "less than zero"),
        ("worst_cases.0.tar.value", None, "null, though the status is 'measured'"),
        ("verdict.release", "isp-9", r"verdict\.release"),
        ("verdict.limit", 5, "not a share"),
        ("verdict.outcome", "pass", "says 'pass' where .* give 'fail'"),
        ("releases.1.name", "raw", "appears twice"),
        ("releases.1.rank", 513, "513 of 512 dimensions"),
        ("releases.1.rank", -1, "less than zero"),
        ("releases.1.variance_kept", 1.2, "not a share"),
        ("releases.1.energy", [0.5, 0.4], "must not fall"),
        ("releases.1.energy", [0.5, 1.4], "not a share"),
        ("releases", [], "at least one release"),
        ("measurements.0.case.release", "x", r"measurements\[0\]\.case\.release"),
        ("measurements.0.case.far", 0, "not between 0 and 1"),
        ("measurements.0.tar.value", 1.01, "not a share"),
        ("measurements.0.tar.low", 0.99, "low <= value <= high"),
        ("measurements.0.tar.high", 0.5, "low <= value <= high"),
        ("measurements.0.tar.level", 95, "not between 0 and 1"),
        ("measurements.0.tar.clusters", -1, "less than zero"),
        ("measurements.0.family_low", -0.5, "family_low"),
        ("measurements.0.control.value", -0.1, "control.value"),
        ("measurements.0.eer", 2, "eer"),
        ("measurements.0.counts.mated_accepted", 4_321, "mated_accepted: 4321 of 4320"),
        ("measurements.0.counts.impostor", 3, "impostor_accepted: 1028 of 3"),
        ("measurements.0.counts.calibration_accepted", -1, "calibration_accepted"),
        ("measurements.0.curve.far", [0.1], "1 FAR values but 49 TAR values"),
        ("measurements.0.curve.tar.48", 1.5, r"curve\.tar\[48\]"),
        ("sweeps.0.points.1.x", -4, r"points\[1\]\.x: less than zero"),
        ("sweeps.0.points.1.x", 0, "'0' appears twice"),
        ("sweeps.0.points.1.tar.value", 7, r"points\[1\]\.tar\.value"),
        ("sweeps.0.target", 1.5, "target"),
        ("sweeps.0.chosen", -1, "chosen"),
        ("transfer.cells.0.tested_on", "moon", "tested_on"),
        ("transfer.cells.2.fitted_on", "moon", "fitted_on"),
        ("transfer.cosines.0", 1.1, r"cosines\[0\]"),
        ("transfer.random_cosines", [], "not as many as cosines"),
        ("utility.0.release", "x", r"utility\[0\]\.release"),
        ("utility.0.raw.value", 3, r"utility\[0\]\.raw\.value"),
        ("utility.0.share.value", -1, "share"),
        ("maps.0.x", [1.0], "1 x, 240 y and 240 people"),
        ("maps.0.person.0", -1, "person"),
        ("maps.0.x.0", 1e300, "no usable number"),
        ("subject.parts.fit", [3, 2], r"subject\.parts\.fit: expected \[people, rows\]"),
        ("subject.parts.fit", [1, 2, 3], "expected"),
        ("subject.rows", 2**200, "beyond 128 bits"),
        ("subject.dimension", -1, r"subject\.dimension"),
        ("provenance.far", 1.0, r"provenance\.far"),
        ("provenance.level", 0.0, r"provenance\.level"),
        ("provenance.bootstrap", -1, r"provenance\.bootstrap"),
        ("provenance.plan", {"x": [1, 10**60]}, r"provenance\.plan\.x\[1\]"),
    ],
)
def test_what_does_not_fit_together_is_refused(path: str, value: Any, said: str) -> None:
    with pytest.raises(ArtefactError, match=said):
        from_json(edited(path, value))


def test_a_share_of_utility_may_exceed_one(full_report: Report) -> None:
    data = edited("utility.0.share", {"value": 1.3, "low": 1.1, "high": 1.5})
    assert from_json(data).utility[0].share.value == 1.3


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.text(max_size=3),
    st.floats(-1e300, 1e300), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)  # fmt: skip


@settings(deadline=None)
@example("sweeps.0.points.1.tar.low", -2.39264969843136e-119)  # no logarithm
@given(st.sampled_from(LEAVES), JUNK)
def test_any_field_set_to_anything_is_read_or_refused_cleanly(path: str, value: Any) -> None:
    """And what is read can be drawn: see the pages made of it."""
    from efface.report.html import to_html
    from efface.report.junit import to_junit

    try:
        report = from_json(edited(path, value))
    except ArtefactError:
        return
    assert to_html(report)
    assert to_junit(report)
