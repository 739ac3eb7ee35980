"""The FastAPI application: four small routes around one projector."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

import numpy as np
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from efface._version import __version__
from efface.errors import EraserError
from efface.export.safetensors import Projector
from efface.protect.linear.eraser import LinearEraser
from efface.serve import openapi
from efface.serve.desk import Desk, refused
from efface.serve.erase import Service
from efface.serve.gate import Budget, Gate
from efface.serve.limits import Limits
from efface.serve.metrics import Metrics
from efface.serve.problem import Problem
from efface.threads import one_blas_thread

_HIDDEN = ("fingerprints", "notes", "params")
"""Fingerprints can betray who was fitted; notes and parameters are the owner's."""


def create_app(projector: Projector, limits: Limits | None = None) -> FastAPI:
    """The service as an ASGI application."""
    service = _service(projector, limits or Limits())
    app = FastAPI(
        title="efface",
        version=__version__,
        description="Takes identity out of face embeddings before they are stored.",
        lifespan=lambda _: _running(service),
    )
    app.add_exception_handler(HTTPException, not_found)
    _add_erase(app, service)
    _add_status(app, service, public(projector))
    return app


def warm_up(eraser: LinearEraser) -> None:
    """Have the eraser load what it needs, so that the first request need not wait for it."""
    some = np.random.default_rng(0).standard_normal((1024, eraser.dim), np.float32)
    with suppress(EraserError):
        eraser.transform(some)


def public(projector: Projector) -> dict[str, Any]:
    """What anyone who can reach the service may know of its projector."""
    known = {k: v for k, v in projector.metadata.items() if k not in _HIDDEN}
    return {**known, "sha256": projector.sha256}


def _service(projector: Projector, limits: Limits) -> Service:
    gate, budget = Gate(limits), Budget(limits.held)
    metrics = Metrics(gate, budget, "projector", projector.metadata["digest"])
    threads = ThreadPoolExecutor(limits.concurrency, thread_name_prefix="erase")
    return Service(projector.eraser, Desk(limits, gate, budget, metrics, threads))


@asynccontextmanager
async def _running(service: Service) -> AsyncIterator[None]:
    # A thread per request: BLAS threads on top of them would only fight for the same cores.
    with one_blas_thread():
        yield
        service.desk.threads.shutdown(wait=True, cancel_futures=True)


def _add_erase(app: FastAPI, service: Service) -> None:
    dim = service.eraser.dim

    @app.post(
        "/v1/erase",
        summary="Erase one vector or a batch",
        response_class=Response,
        responses=openapi.responses(dim),
        openapi_extra=openapi.request(dim),
    )
    async def erase(request: Request) -> Response:
        return await service.handle(request)


def _add_status(app: FastAPI, service: Service, about: dict[str, Any]) -> None:
    @app.get("/v1/projector", summary="What is served: metadata of the projector")
    async def projector() -> JSONResponse:
        return JSONResponse(about)

    @app.get("/healthz", summary="Whether the service is up")
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok", "projector": about["digest"]})

    @app.get("/metrics", summary="Counts and times for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(service.desk.metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def not_found(_: Request, error: Exception) -> Response:
    """The framework's own refusals (no such path, wrong method) in the form of ours."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    reason = {404: "no-such-path", 405: "wrong-method"}.get(status, "refused")
    response = refused(Problem(status, reason, str(getattr(error, "detail", "refused"))))
    response.headers.update(dict(getattr(error, "headers", None) or {}))
    return response
