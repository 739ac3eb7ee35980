"""Who may ask a vault for what, and how long a refusal takes."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from starlette.requests import Request

from efface.errors import PlanError
from efface.vault.tables import NAME_LENGTH

LEAST_TOKEN = 16


@dataclass(frozen=True)
class Access:
    """Without a ``token`` only verification is served.

    A refusal is sent ``floor`` seconds after its request came, so that its time does not tell what
    was remembered and what was read. ``source_header`` names the header in which a trusted proxy
    says where a request comes from.
    """

    token: str | None = field(default=None, repr=False)
    floor: float = 0.25
    source_header: str | None = None

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            raise PlanError(f"the token is shorter than {LEAST_TOKEN} characters: take a longer")
        if not 0 <= self.floor < float("inf"):
            raise PlanError(f"the floor takes seconds from 0 on, got {self.floor}")

    def allows(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").encode("utf-8", "replace")
        wanted = f"Bearer {self.token}".encode()
        return self.token is not None and hmac.compare_digest(given, wanted)

    def source(self, request: Request) -> str:
        said = request.headers.get(self.source_header) if self.source_header else None
        if said is None:
            said = request.client.host if request.client else ""
        return "".join(c for c in said if c.isprintable())[:NAME_LENGTH] or "unknown"
