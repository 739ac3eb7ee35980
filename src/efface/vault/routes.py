"""What the routes of a vault do: read a request, have the vault work in a thread, answer."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from efface.errors import (
    AttemptsError,
    DataError,
    EnrolledError,
    NobodyError,
    UnavailableError,
    VaultError,
)
from efface.serve.desk import Desk, media_type
from efface.serve.problem import Problem
from efface.serve.vectors import JSON
from efface.vault.access import Access
from efface.vault.asks import Ask, read_ask, read_name
from efface.vault.pace import slowest
from efface.vault.service import Vault

_log = logging.getLogger("efface.vault")
T = TypeVar("T")
Act = Callable[[Request, bytearray], Awaitable[Response]]


@dataclass(eq=False)
class Routes:
    """What all requests share."""

    vault: Vault
    desk: Desk
    access: Access
    pace: float = 0.0
    """Seconds that working out a refusal takes, whoever is asked for."""

    def upkeep(self) -> None:
        """What is due at the start and now and then."""
        self.vault.tidy()
        if self.access.floor:
            self.pace = slowest(self.vault.configurations)

    @property
    def dim(self) -> int:
        return self.vault.configurations.latest().scheme.dim_

    async def handle(self, request: Request, act: Act, *, privileged: bool) -> Response:
        async def answered(request: Request) -> Response:
            if privileged and not self.access.allows(request):
                raise Problem(401, "not-allowed", "give the token of this vault as a bearer token")
            media_type(request, JSON)
            async with self.desk.body(request) as body:
                return await act(request, body)

        return await self.desk.handle(request, answered)

    async def enrol(self, request: Request, body: bytearray) -> Response:
        ask, source = read_ask(body, self.dim), self.access.source(request)
        await self._run(request, partial(self.vault.enrol, ask.user, ask.vectors, source))
        self.desk.metrics.vectors.inc(len(ask.vectors))
        return JSONResponse({"enrolled": True, **self._doubt(ask, "enrolment")}, 201)

    async def revoke(self, request: Request, body: bytearray) -> Response:
        name, source = read_name(body), self.access.source(request)
        await self._run(request, partial(self.vault.revoke, name, source))
        return JSONResponse({"revoked": True})

    async def verify(self, request: Request, body: bytearray) -> Response:
        return await self._tried(request, body, self.vault.verify)

    async def rotate(self, request: Request, body: bytearray) -> Response:
        return await self._tried(request, body, self.vault.rotate)

    async def _tried(self, request: Request, body: bytearray, how: Callable[..., bool]) -> Response:
        begun = time.monotonic()
        ask, source = read_ask(body, self.dim), self.access.source(request)
        accepted = await self._run(request, partial(how, ask.user, ask.vectors, source))
        self.desk.metrics.vectors.inc(len(ask.vectors))
        if not accepted:  # no thread is held meanwhile
            await asyncio.sleep(max(0.0, begun + self._least - time.monotonic()))
        return JSONResponse({"accepted": accepted, **self._doubt(ask, "probe")})

    def _doubt(self, ask: Ask, place: str) -> dict[str, str]:
        """A word on a number of pictures that the radius was not set for."""
        said = self.vault.doubt(ask.vectors, place)
        return {"warning": said} if said else {}

    @property
    def _least(self) -> float:
        return self.access.floor + self.pace

    async def _run(self, request: Request, work: Callable[[], T]) -> T:
        try:
            return await self.desk.compute(request, work)
        except AttemptsError as error:
            raise Problem(429, "too-many-tries", str(error), wait=math.ceil(error.wait)) from None
        except EnrolledError as error:
            raise Problem(409, "enrolled-already", str(error)) from None
        except UnavailableError:
            raise Problem(
                503, "unavailable", "not now, and nothing was changed: try again"
            ) from None
        except DataError as error:
            raise Problem(422, "bad-vectors", str(error)) from None
        except NobodyError as error:
            raise Problem(404, "not-found", str(error)) from None
        except VaultError as error:
            _log.error("the vault cannot work: %s", error)
            raise Problem(503, "unavailable", "the vault is not set up; see its log") from None
