"""The page on pictures: no picture is silent, and reports from before it still render."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
import report_world
from report_edit import PLAIN, edited

from efface.errors import ArtefactError
from efface.facts import PictureCounts
from efface.report import pictures
from efface.report.html import to_html
from efface.report.schema import from_json
from efface.results import Report


def with_counts(report: Report, **counts: Any) -> Report:
    made = report_world.encoding()
    changed = msgspec.structs.replace(made, pictures=PictureCounts(**counts))
    return msgspec.structs.replace(report, encoding=changed)


def test_a_report_from_before_renders(full_report: Report) -> None:
    old = json.loads(json.dumps(PLAIN))
    del old["encoding"]
    found = from_json(json.dumps(old).encode())
    assert found == msgspec.structs.replace(full_report, encoding=None)
    assert 'id="pictures"' not in to_html(found)
    assert 'id="pictures"' in to_html(full_report)


def test_a_report_from_later_is_read() -> None:
    later = json.loads(json.dumps(PLAIN))
    later["encoding"]["pictures"]["blurred"] = 3
    later["encoding"]["encoder"]["trained_on"] = "faces"
    assert from_json(json.dumps(later).encode()) == report_world.build()


def test_rows_between_totals_add_up(full_report: Report) -> None:
    seen = pictures.seen(full_report)
    assert seen is not None
    counts = {row.name: row.count for row in seen.rows}
    assert [row.name for row in seen.rows if row.kind] == ["seen", "encoded", "audited"]
    left = sum(counts[name] for name in ("no face", "face at the border", "damaged"))
    assert counts["seen"] - left == counts["encoded"]
    assert counts["encoded"] - counts["not audited"] == counts["audited"] == 9_600
    assert sum(row.share for row in seen.rows if row.count == left) <= 1


def test_what_is_left_out_is_said_with_its_reason(full_report: Report) -> None:
    seen = pictures.seen(full_report)
    assert seen is not None
    said = " ".join(seen.cautions)
    assert "100 of 9,800 pictures (1.02 %) were left out: 91 for want of a face" in said
    assert "9 for other reasons" in said
    assert "two people: 3 pairs" in said
    assert "one person: 7 pairs" in said
    assert "filter bilinear" in said
    border = next(row for row in seen.rows if row.name == "face at the border")
    assert "Rejected for padding" in border.meaning


def test_nothing_to_say_is_nothing_said(full_report: Report) -> None:
    made = report_world.encoding()
    sure = msgspec.structs.replace(made.encoder, assumed=[])
    report = with_counts(full_report, found=9_600, encoded=9_600, people=423)
    assert report.encoding is not None
    quiet = msgspec.structs.replace(report.encoding, encoder=sure)
    seen = pictures.seen(msgspec.structs.replace(report, encoding=quiet))
    assert seen is not None
    assert seen.cautions == []
    assert [(row.name, row.count) for row in seen.rows] == [
        ("seen", 9_600), ("face at the border", 0), ("encoded", 9_600),
    ]  # fmt: skip
    assert dict(seen.remarks) == {
        "files that could not be read": 0, "near-duplicates across people, pairs": 0,
        "near-duplicates of one person, pairs": 0, "several faces": 0,
    }  # fmt: skip


def test_the_page_has_the_digest_and_the_geometry(full_report: Report) -> None:
    text = re.sub(r"(<[^>]*>|\s)+", " ", to_html(full_report))
    for words in (
        report_world.DIGEST, "FCR crop by yunet (coverage 0.33, size 112)",
        "Face box over crop (FCR achieved) 0.33 0.001 0.341",
        "112 x 112, proportions not kept; bilinear; RGB; (x / 255 - 0.5) / 0.5",
    ):  # fmt: skip
        assert words in text


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("encoding.pictures.found", 9_799, "encoding.pictures.found: is not encoded and all"),
        ("encoding.pictures.left_out", {"no face": 3}, "is not encoded and all"),
        ("encoding.pictures.encoded", -1, "encoding.pictures.encoded"),
        ("encoding.encoder.weights", "abc", "encoding.encoder.weights"),
        ("encoding.encoder.preprocessing.std", [0], "encoding.encoder.preprocessing"),
        ("encoding.geometry.achieved.face_score", [0.9, -0.1, 1], "achieved.face_score"),
        ("encoding.geometry.achieved.face_score", [0.9, 0.1, 0.5], "achieved.face_score"),
    ],
)  # fmt: skip
def test_counts_that_do_not_add_up_are_refused(path: str, value: Any, says: str) -> None:
    with pytest.raises(ArtefactError, match=re.escape(says)):
        from_json(edited(path, value))
