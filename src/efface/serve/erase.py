"""One request to erase, from its head to its answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from efface.protect.linear.eraser import LinearEraser
from efface.serve.desk import Desk, media_type
from efface.serve.problem import Problem
from efface.serve.vectors import BINARY, JSON, Answer, answer


@dataclass(eq=False)
class Service:
    """What all requests share."""

    eraser: LinearEraser
    desk: Desk

    async def handle(self, request: Request) -> Response:
        return await self.desk.handle(request, self._answered)

    async def _answered(self, request: Request) -> Response:
        form = media_type(request, JSON, BINARY)
        _check_dim(request, self.eraser.dim)
        async with self.desk.body(request) as body:
            found = await self._work(request, form, body)
        self.desk.metrics.vectors.inc(found.rows)
        headers = {"x-efface-dim": str(self.eraser.dim)} if form == BINARY else None
        return Response(found.body, media_type=form, headers=headers)

    async def _work(self, request: Request, form: str, body: bytearray) -> Answer:
        limits = self.desk.limits
        work = partial(answer, self.eraser, form, body, limits.max_batch)
        if len(body) * self.eraser.rank <= limits.small:
            return work()
        return await self.desk.compute(request, work)


def _check_dim(request: Request, dim: int) -> None:
    """Where the client says what it sends, it must be what the projector takes."""
    for said in (request.headers.get("x-efface-dim"), request.query_params.get("dim")):
        if said is not None and said.strip() != str(dim):
            raise Problem(
                422, "wrong-dimension", f"the projector takes {dim}-dimensional vectors", dim=dim
            )
