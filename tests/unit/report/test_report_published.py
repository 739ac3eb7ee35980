"""What is published about the schema: JSON Schema and documentation say what the reader does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import report_world
from report_edit import PLAIN, edited

from efface.errors import ArtefactError
from efface.report.fields import DESCRIPTIONS
from efface.report.schema import SCHEMA, from_json, json_schema

DOCUMENT = Path(__file__).parents[3] / "docs" / "report-schema.md"


def test_the_published_schema_accepts_what_is_written() -> None:
    published = json_schema()
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(PLAIN, published)
    assert published["$id"] == "urn:efface:report:1"
    assert published["title"] == SCHEMA


@pytest.mark.parametrize(
    ("path", "value"),
    [("schema", "efface.report/2"), ("worst_cases.0.status", "fine"), ("subject.rows", "9"),
     ("measurements.0.case.threat.knowledge", "all"), ("maps.0.x", [None])],
)  # fmt: skip
def test_the_published_schema_refuses_what_is_refused(path: str, value: Any) -> None:
    data = edited(path, value)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(data), json_schema())
    with pytest.raises(ArtefactError):
        from_json(data)


def test_every_field_is_described() -> None:
    found = {
        name: set(part["properties"])
        for name, part in json_schema()["$defs"].items()
    }  # fmt: skip
    assert found == {name: set(fields) for name, fields in DESCRIPTIONS.items()}


def test_the_documentation_has_every_field_with_its_description() -> None:
    sections = DOCUMENT.read_text("utf-8").split("\n### ")
    documented = {}
    for section in sections[1:]:
        rows = [r.strip("|").split("|") for r in section.splitlines() if r.startswith("| `")]
        documented[section.splitlines()[0]] = {r[0].strip(" `"): r[2].strip() for r in rows}
    assert documented == DESCRIPTIONS


def test_the_script_in_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report_world.build().save(tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    for script in DOCUMENT.read_text("utf-8").split("```python\n")[1:]:
        exec(script.split("```")[0], {})
    outcome, value, high = capsys.readouterr().out.split()
    tar = report_world.build().worst().tar
    assert (outcome, float(value), float(high)) == ("fail", tar.value, tar.high)
