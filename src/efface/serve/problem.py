"""Refusals, as RFC 9457 writes them: ``application/problem+json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = "1"


class Problem(Exception):
    """A request that is not answered: the status, a reason to count by, and what to do.

    ``detail`` names rows and sizes, never a value of a vector.
    """

    def __init__(
        self, status: int, reason: str, detail: str, *, close: bool = False, **extra: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.reason, self.detail, self.extra = status, reason, detail, extra
        self.close = close

    def body(self) -> bytes:
        fields = {
            "type": f"urn:efface:problem:{self.reason}",
            "title": self.reason.replace("-", " ").capitalize(),
            "status": self.status,
            "detail": self.detail,
        }
        return msgspec.json.encode(fields | self.extra)

    def headers(self) -> Mapping[str, str]:
        found = {"content-type": MEDIA_TYPE}
        if self.status in (429, 503):
            found["retry-after"] = str(self.extra.get("wait", RETRY_AFTER))
        if self.close:
            found["connection"] = "close"
        return found


def bad_row(row: int, what: str, reason: str = "bad-row") -> Problem:
    return Problem(422, reason, f"row {row} (counted from 0) {what}", row=row)


def overloaded(what: str, *, close: bool = False) -> Problem:
    return Problem(503, "overloaded", f"{what}: try again in a moment", close=close)
