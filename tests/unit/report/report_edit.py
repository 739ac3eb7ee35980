"""The full report as JSON, to be changed one field at a time."""

from __future__ import annotations

import json
from typing import Any

import report_world

from efface.report.schema import to_json

PLAIN: dict[str, Any] = json.loads(to_json(report_world.build()))


def edited(path: str, value: Any) -> bytes:
    """The full report as JSON with one field set; ``path`` is like ``subject.parts.fit``."""
    plain = json.loads(json.dumps(PLAIN))
    *way, last = [int(k) if k.isdigit() else k for k in path.split(".")]
    place = plain
    for key in way:
        place = place[key]
    place[last] = value
    return json.dumps(plain).encode()
