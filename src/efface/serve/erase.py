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
        _check_dim(request, form, self.eraser.dim)
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
