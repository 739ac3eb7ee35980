"""One request to erase, from its head to its answer."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from efface.protect.linear.eraser import LinearEraser
from efface.serve.gate import Budget, Gate
from efface.serve.limits import Limits
from efface.serve.metrics import Metrics
from efface.serve.problem import Problem
from efface.serve.vectors import BINARY, JSON, Answer, answer

_log = logging.getLogger("efface.serve")


@dataclass(eq=False)
class Service:
    """What all requests share."""

    eraser: LinearEraser
    limits: Limits
    gate: Gate
    budget: Budget
    metrics: Metrics
    threads: ThreadPoolExecutor

    async def handle(self, request: Request) -> Response:
        """The answer, or a problem; whatever happens, it is counted and timed."""
        start = time.perf_counter()
        self.metrics.in_flight.inc()
        try:
            response = await self._answered(request)
            self.metrics.answered.inc()
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

    async def _answered(self, request: Request) -> Response:
        form = _form(request)
        _check_dim(request, form, self.eraser.dim)
        self.gate.check()
        body = bytearray()
        try:
            await self._read(request, body)
            found = await self._work(request, form, body)
        finally:
            self.budget.give(len(body))
        self.metrics.vectors.inc(found.rows)
        headers = {"x-efface-dim": str(self.eraser.dim)} if form == BINARY else None
        return Response(found.body, media_type=form, headers=headers)

    async def _read(self, request: Request, body: bytearray) -> None:
        """The whole body, in time and in bounds, whatever its head said of its length."""
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

    async def _work(self, request: Request, form: str, body: bytearray) -> Answer:
        if len(body) * self.eraser.rank <= self.limits.small:
            return answer(self.eraser, form, body, self.limits.max_batch)
        async with self.gate.enter() as waited:
            if waited and await request.is_disconnected():
                raise _gone()
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                self.threads, answer, self.eraser, form, body, self.limits.max_batch
            )


def refused(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, dict(problem.headers()))


def _gone() -> Problem:
    """Nobody reads this answer; it is made to be counted."""
    return Problem(400, "disconnected", "the client went away", close=True)


def _form(request: Request) -> str:
    form = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if form not in (JSON, BINARY):
        raise Problem(
            415, "wrong-media-type", f"content-type must be {JSON} or {BINARY} (float32 rows)"
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "wrong-media-type", "a content-encoding is not understood: send plain")
    return form


def _check_dim(request: Request, form: str, dim: int) -> None:
    """What the client says that it sends must be what the projector takes. Bytes alone do not tell
    two vectors from one of twice the dimension, so with them it has to say so: else vectors of
    another encoder would come back as if they were clean."""
    said = (request.headers.get("x-efface-dim"), request.query_params.get("dim"))
    if any(one is not None and one.strip() != str(dim) for one in said):
        raise Problem(
            422, "wrong-dimension", f"the projector takes {dim}-dimensional vectors", dim=dim
        )
    if form == BINARY and said == (None, None):
        raise Problem(
            422, "no-dimension", "say the dimension of binary vectors with X-Efface-Dim or "
            f"?dim=; the projector takes {dim}-dimensional ones", dim=dim,
        )  # fmt: skip
