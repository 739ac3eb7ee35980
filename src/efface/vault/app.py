"""The FastAPI application around one vault. Names travel in bodies: addresses end up in logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from efface._version import __version__
from efface.errors import VaultError
from efface.serve.app import not_found
from efface.serve.desk import Desk
from efface.serve.gate import Budget, Gate
from efface.serve.limits import Limits
from efface.serve.metrics import Metrics
from efface.threads import one_blas_thread
from efface.vault import pages
from efface.vault.access import Access
from efface.vault.routes import Act, Routes
from efface.vault.service import Vault

MAX_BODY = 4 << 20
"""A body holds a few vectors of one person."""
TIDY_EVERY = 3600.0
"""Seconds between two rounds of forgetting."""
_COMMON = (400, 415, 422, 503)


def create_app(vault: Vault, limits: Limits | None = None, access: Access | None = None) -> FastAPI:
    """The service as an ASGI application."""
    current = vault.configurations.current()
    routes = Routes(
        vault, _desk(limits or Limits(max_body=MAX_BODY), current.scheme.card.name),
        access or Access(),
    )  # fmt: skip
    app = FastAPI(
        title="efface vault",
        version=__version__,
        description="Verifies people against templates. No embedding is stored.",
        lifespan=lambda _: _running(routes),
    )
    app.add_exception_handler(HTTPException, not_found)
    _add_people(app, routes)
    _add_status(app, routes)
    return app


def _desk(limits: Limits, scheme: str) -> Desk:
    gate, budget = Gate(limits), Budget(limits.held)
    threads = ThreadPoolExecutor(limits.concurrency, thread_name_prefix="vault")
    return Desk(limits, gate, budget, Metrics(gate, budget, "scheme", scheme), threads)


@asynccontextmanager
async def _running(routes: Routes) -> AsyncIterator[None]:
    # A thread per request: BLAS threads on top of them would only fight for the same cores.
    with one_blas_thread():
        routes.upkeep()
        tidying = asyncio.create_task(_tidied(routes))
        yield
        tidying.cancel()
        routes.desk.threads.shutdown(wait=True, cancel_futures=True)
        routes.vault.store.close()


async def _tidied(routes: Routes) -> None:
    """Now and then, as long as the service runs; a database that is away is asked again later."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(TIDY_EVERY)
        with suppress(VaultError):  # the store has logged it
            await loop.run_in_executor(routes.desk.threads, routes.upkeep)


def _add_people(app: FastAPI, routes: Routes) -> None:
    """Verification for all; the rest only where there is a token to ask for."""
    tries = pages.responses(*_COMMON, 429)
    _add(app, "verify", "Whether a probe is of the person enrolled", routes, routes.verify, tries)
    if routes.access.token is None:
        return
    common = {401: pages.responses(401)[401]}
    made = common | pages.responses(*_COMMON, 409)
    _add(app, "enrol", "Store a template of a person", routes, routes.enrol, made, True)
    _add(app, "rotate", "A new template for who verifies", routes, routes.rotate, common | tries,
         True)  # fmt: skip
    gone = common | pages.responses(*_COMMON)
    _add(app, "revoke", "Remove a template", routes, routes.revoke, gone, True)


def _add(
    app: FastAPI, name: str, summary: str, routes: Routes, act: Act, problems: Any,
    privileged: bool = False,
) -> None:  # fmt: skip
    @app.post(
        f"/v1/{name}",
        name=name,
        summary=summary,
        response_class=JSONResponse,
        responses=problems,
        openapi_extra=pages.request(vectors=name != "revoke"),
    )
    async def route(request: Request) -> Response:
        return await routes.handle(request, act, privileged=privileged)


def _add_status(app: FastAPI, routes: Routes) -> None:
    @app.get("/healthz", summary="Whether the service is up")
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @app.get("/v1/vault", summary="Which scheme is in force, and what is known to break it")
    async def about() -> JSONResponse:
        scheme = routes.vault.configurations.latest().scheme
        said = {"scheme": scheme.card.name, "settings": scheme.settings()}
        return JSONResponse({**said, "verdict": scheme.card.verdict})

    @app.get("/metrics", summary="Counts and times for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(routes.desk.metrics.text(), media_type=CONTENT_TYPE_LATEST)
