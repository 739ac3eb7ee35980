"""What every service here does with a request: count it, bound it, read it, give it a thread."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from efface.serve.gate import Budget, Gate
from efface.serve.limits import Limits
from efface.serve.metrics import Metrics
from efface.serve.problem import Problem

_log = logging.getLogger("efface.serve")
T = TypeVar("T")


@dataclass(eq=False)
class Desk:
    """Shared by all requests of a service."""

    limits: Limits
    gate: Gate
    budget: Budget
    metrics: Metrics
    threads: ThreadPoolExecutor

    async def handle(
        self, request: Request, answered: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """The answer, or a problem; whatever happens, it is counted and timed."""
        start = time.perf_counter()
        self.metrics.in_flight.inc()
        try:
            response = await answered(request)
            self.metrics.requests.labels(str(response.status_code)).inc()
        except Problem as problem:
            response = self._refused(problem)
        except Exception as error:
            # The type only: the message of an error may quote what it choked on.
            _log.error("a request failed: %s", type(error).__name__)
            response = self._refused(Problem(500, "internal", "the service failed; see its log"))
        finally:
            self.metrics.in_flight.dec()
        self.metrics.seconds.observe(time.perf_counter() - start)
        return response

    def _refused(self, problem: Problem) -> Response:
        self.metrics.rejected.labels(problem.reason).inc()
        self.metrics.requests.labels(str(problem.status)).inc()
        return refused(problem)

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytearray]:
        """The whole body; its bytes count as held until the end of the block."""
        self.gate.check()
        body = bytearray()
        try:
            await self._read(request, body)
            yield body
        finally:
            self.budget.give(len(body))

    async def _read(self, request: Request, body: bytearray) -> None:
        """In time and in bounds, whatever its head said of its length."""
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self.limits.max_body:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.limits.timeout):
                async for chunk in request.stream():
                    if len(body) + len(chunk) > self.limits.max_body:
                        raise self._too_large()
                    self.budget.take(len(chunk))
                    body += chunk
        except TimeoutError:
            raise Problem(
                408, "slow-body", f"the body did not arrive in {self.limits.timeout:g} s",
                close=True,
            ) from None  # fmt: skip
        except ClientDisconnect:
            raise _gone() from None

    def _too_large(self) -> Problem:
        return Problem(
            413, "body-too-large",
            f"the body has more than {self.limits.max_body} bytes: send fewer vectors at a time",
        )  # fmt: skip

    async def compute(self, request: Request, work: Callable[[], T]) -> T:
        """The work in one of the threads, once there is one."""
        async with self.gate.enter() as waited:
            if waited and await request.is_disconnected():
                raise _gone()
            return await asyncio.get_running_loop().run_in_executor(self.threads, work)


def refused(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, dict(problem.headers()))


def media_type(request: Request, *known: str) -> str:
    """What the body is, one of ``known``, and not encoded further."""
    form = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if form not in known:
        raise Problem(415, "wrong-media-type", f"content-type must be {' or '.join(known)}")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "wrong-media-type", "a content-encoding is not understood: send plain")
    return form


def _gone() -> Problem:
    """Nobody reads this answer; it is made to be counted."""
    return Problem(400, "disconnected", "the client went away", close=True)
