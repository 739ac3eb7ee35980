"""Who may ask a vault for what, and how long a refusal takes."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field

from starlette.requests import Request

from efface.errors import PlanError
from efface.vault.tables import NAME_LENGTH

LEAST_TOKEN = 16
_PORT = re.compile(r"(?P<v4>\d+(\.\d+){3}):\d+|\[(?P<v6>[^]]*)\](:\d+)?")


@dataclass(frozen=True)
class Access:
    """Without a ``token`` only verification is served.

    A refusal is sent ``floor`` seconds later than working it out takes, counted from when its
    request came, so that its time does not tell what was remembered and what was read; 0: at once.
    ``source_header`` names the header in which a trusted proxy
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
        """Where a request comes from. Of a header that was sent along or before, the last word is
        the proxy's own; what stands before it anybody can write."""
        given = request.headers.getlist(self.source_header) if self.source_header else []
        said = request.client.host if request.client else ""
        if given:
            said = _without_port(given[-1].rpartition(",")[2].strip())
        return "".join(c for c in said if c.isprintable())[:NAME_LENGTH] or "unknown"


def _without_port(said: str) -> str:
    """Some proxies add the port, which is another for each connection."""
    found = _PORT.fullmatch(said)
    return said if found is None else found["v4"] or found["v6"]
