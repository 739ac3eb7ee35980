"""The report as JSON: a versioned schema that is written, read, checked and described here.

``efface.report/1`` is the shape of :class:`efface.results.Report`. A reader ignores fields it
does not know, so fields may be added under the same number; a field that is removed, renamed or
given another meaning takes the next one.
"""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from efface.errors import ArtefactError, DataError
from efface.report import fields
from efface.report.checks import check
from efface.results import Report

T = TypeVar("T")

SCHEMA = "efface.report/1"
# A full audit of a hundred cases is about a megabyte. The bound keeps a hostile file from
# filling the memory, not an honest one from being read.
MAX_BYTES = 64 * 2**20
_REMEDY = "it was cut short, edited or made by another tool; write it again with `efface audit`"


class _Head(msgspec.Struct):
    """The one field that every version has."""

    schema: str


def to_json(report: Report) -> bytes:
    """Equal reports give equal bytes: fields in order, keys sorted, floats unrounded, UTF-8."""
    try:
        plain = msgspec.to_builtins(report, order="deterministic", enc_hook=_number)
        compact = msgspec.json.encode(_plain(plain, "$"))
    except RecursionError as error:
        raise ArtefactError("this report: nested too deeply to be written") from error
    data = msgspec.json.format(compact, indent=2) + b"\n"
    from_json(data, "this report")  # what is written can be read
    return data


def from_json(data: bytes, source: str = "report") -> Report:
    """Decode and check; whatever does not fit is refused with the path of the field."""
    if len(data) > MAX_BYTES:
        raise ArtefactError(
            f"{source}: {len(data):,} bytes is more than a report may have ({MAX_BYTES:,}): "
            "is it the right file?"
        )
    try:
        _version(_decode(data, _Head, source).schema, source)
        report = _decode(data, Report, source)
        check(report, source)
    except RecursionError as error:
        raise ArtefactError(f"{source}: nested too deeply: {_REMEDY}") from error
    return report


def read(path: str | PathLike[str]) -> Report:
    """The report stored in a file."""
    path = Path(path)
    try:
        # One byte more than allowed is enough to see that there is too much.
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or error}): give the report.json that "
            "an audit wrote"
        ) from error
    return from_json(data, str(path))


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a report, with a description of every field."""
    _, components = msgspec.json.schema_components((Report,), ref_template="#/$defs/{name}")
    for name, described in fields.DESCRIPTIONS.items():
        for field, text in described.items():
            components[name]["properties"][field]["description"] = text
    components["Report"]["properties"]["schema"]["const"] = SCHEMA
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('.', ':').replace('/', ':')}",
        "title": SCHEMA,
        "description": "What an audit of stored face representations found. "
        "HTML, JUnit XML and the exit code are made from this alone.",
        "$ref": "#/$defs/Report",
        "$defs": components,
    }


def _decode(data: bytes, kind: type[T], source: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise ArtefactError(f"{source}: {error}: {_REMEDY}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtefactError(f"{source}: not a JSON report ({error}): {_REMEDY}") from error


def _version(found: str, source: str) -> None:
    if found != SCHEMA:
        raise ArtefactError(
            f"{source}: $.schema is {found[:60]!r}, this efface knows {SCHEMA!r}: read it with the "
            "version of efface that wrote it, or run the audit again"
        )


def _number(value: Any) -> Any:
    """NumPy scalars and paths are taken for the plain values they stand for."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, PathLike):
        return str(value)
    raise ArtefactError(f"this report holds a {type(value).__name__}, which JSON has no form for")


def _plain(value: Any, path: str) -> Any:
    """Refuse NaN and infinity by name; JSON has no form for them and would turn them into null."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ArtefactError(
            f"this report: {path} is {value}: a value that could not be measured must be null"
        )
    if isinstance(value, str):  # lone surrogates, as from undecodable file names
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_plain(k, path): _plain(v, f"{path}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, f"{path}[{i}]") for i, v in enumerate(value)]
    return value
