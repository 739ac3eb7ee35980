"""What the OpenAPI page says of the routes of a vault."""

from __future__ import annotations

from typing import Any

from efface.serve.problem import MEDIA_TYPE
from efface.serve.vectors import JSON

_PROBLEMS = {
    400: "The body is no JSON.",
    401: "The token is missing or another one.",
    409: "Somebody is enrolled under this name already.",
    415: "Another media type or a content encoding.",
    422: "A name or a vector that cannot be used; the row is named.",
    429: "Too many failed tries of this user or from this source; `Retry-After` says how long.",
    503: "Overloaded, or the database or a prepared basis is missing; nothing was changed.",
}


def request(*, vectors: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {"user": {"type": "string", "minLength": 1}}
    if vectors:
        vector = {"type": "array", "items": {"type": "number"}}
        many = {"type": "array", "items": vector, "minItems": 1}
        properties["vectors"] = {"oneOf": [many, vector]}
    schema = {
        "type": "object",
        "required": sorted(properties),
        "additionalProperties": False,
        "properties": properties,
    }
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def responses(*problems: int) -> dict[int | str, dict[str, Any]]:
    body = {MEDIA_TYPE: {"schema": {"type": "object"}}}
    return {status: {"description": _PROBLEMS[status], "content": body} for status in problems}
