"""A report whose every free string tries to break out of the page."""

from __future__ import annotations

from typing import Any

import msgspec
import report_world

from efface.results import Report

SCRIPT = "<script>alert('x')</script>"
NASTY = (
    f"{SCRIPT}\"'&]]>--><svg onload=alert(1)>\u202egnp.\u2066\x00\x1b\ufffe{{{{7*7}}}}{{% raw %}}"
)
LONG = "W" * 10_000
KEEP = {
    "schema", "outcome", "status", "knowledge", "pool", "mode", "axis", "measured_on", "unseen",
    "format", "weights", "detector_weights", "fit", "filter", "colour", "layout", "alignment",
}  # fmt: skip
FREE = {
    "parts", "versions", "plan", "params", "setting", "settings", "achieved", "left_out", "treated",
    "passed_over", "limits",
}  # fmt: skip


def report() -> Report:
    """Every string of the full report gets the payload; names that must match still do."""
    plain = msgspec.to_builtins(report_world.build())
    nasty = _poison(plain, "")
    nasty["encoding"]["geometry"]["name"] = plain["encoding"]["geometry"]["name"]
    return msgspec.convert(nasty, Report)


def _poison(value: Any, field: str) -> Any:
    if isinstance(value, str):
        return value if field in KEEP else f"{value}{NASTY}{LONG}"
    if isinstance(value, list):
        return [_poison(v, field) for v in value]
    if isinstance(value, dict):
        fields = {k: _poison(v, k) for k, v in value.items()}
        return {f"{k}{NASTY}": v for k, v in fields.items()} if field in FREE else fields
    return value
