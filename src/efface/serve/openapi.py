"""What the OpenAPI page says of ``POST /v1/erase``, with examples to try."""

from __future__ import annotations

from typing import Any

from efface.serve.problem import MEDIA_TYPE
from efface.serve.vectors import BINARY, JSON

_PROBLEMS = {
    400: "The body is no JSON.",
    408: "The body did not arrive in time.",
    413: "The body or the batch is too large.",
    415: "Another media type or a content encoding.",
    422: "Wrong dimension or none said, ragged rows, or a row that is zero or not finite.",
    503: "Overloaded; `Retry-After` says when to come back.",
}


def request(dim: int) -> dict[str, Any]:
    """Parameters and body of the request, for vectors of this dimension."""
    binary = f"Rows of {dim} float32 numbers, little endian, one after another."
    return {
        "parameters": [
            _dimension("dim", "query", dim),
            _dimension("X-Efface-Dim", "header", dim),
        ],
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": _schema(dim), "examples": _examples(dim)},
                BINARY: {"schema": {"type": "string", "format": "binary", "description": binary}},
            },
        },
    }


def responses(dim: int) -> dict[int | str, dict[str, Any]]:
    erased: dict[str, Any] = {
        "description": "The same vectors, erased, in the form of the request.",
        "content": {
            JSON: {"schema": _schema(dim)},
            BINARY: {"schema": {"type": "string", "format": "binary"}},
        },
    }
    problems: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "content": {MEDIA_TYPE: {"schema": _problem(status)}}}
        for status, text in _PROBLEMS.items()
    }
    return {200: erased, **problems}


def _dimension(name: str, where: str, dim: int) -> dict[str, Any]:
    text = (
        "Dimension of the vectors, checked against the projector's. Binary bodies need one of both."
    )
    schema = {"type": "integer", "example": dim}
    return {"name": name, "in": where, "required": False, "description": text, "schema": schema}


def _schema(dim: int) -> dict[str, Any]:
    vector = {"type": "array", "items": {"type": "number"}, "minItems": dim, "maxItems": dim}
    batch = {"type": "array", "items": vector, "minItems": 1}
    return {
        "type": "object",
        "required": ["vectors"],
        "additionalProperties": False,
        "properties": {"vectors": {"oneOf": [batch, vector]}},
    }


def _examples(dim: int) -> dict[str, Any]:
    one = [round((i % 7 - 3) / 10 + 0.05, 2) for i in range(dim)]
    return {
        "one vector": {"value": {"vectors": one}},
        "two vectors": {"value": {"vectors": [one, one[::-1]]}},
    }


def _problem(status: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer", "example": status},
            "detail": {"type": "string"},
            "row": {"type": "integer"},
        },
    }
