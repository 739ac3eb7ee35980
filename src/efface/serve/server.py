"""The server around the application: a socket, patience with slow clients, an orderly end."""

from __future__ import annotations

import asyncio
import math
import signal
import socket
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from efface.errors import EffaceError
from efface.serve.desk import refused
from efface.serve.limits import Limits
from efface.serve.problem import overloaded

GRACE = 2.0
"""Seconds that a connection outlives the request's own deadline, so that the 408 gets out."""
_IDLE_SECONDS = 30
_CROWDED: Any = refused(overloaded("too many connections are open", close=True))


class Patient(H11Protocol):
    """HTTP/1.1 that waits only so long for a request to arrive and for an answer to be taken.

    uvicorn itself waits for ever: for the rest of a head, for the rest of a body that was refused,
    for a client that does not read.
    """

    patience = 30.0
    most = 1000
    """Connections beyond which a new one is only told to come back."""
    _arriving: asyncio.TimerHandle | None = None
    _leaving: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self.app = _CROWDED
        self._arriving = self._in_time()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()  # the next request may have begun behind this one

    def _watch(self) -> None:
        if not self._incomplete():
            _stop(self._arriving)
            self._arriving = None
        elif self._arriving is None:
            self._arriving = self._in_time()

    def _incomplete(self) -> bool:
        state = self.conn.their_state
        return state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._leaving = self._leaving or self._in_time()

    def resume_writing(self) -> None:
        super().resume_writing()
        _stop(self._leaving)
        self._leaving = None

    def connection_lost(self, exc: Exception | None) -> None:
        _stop(self._arriving)
        _stop(self._leaving)
        super().connection_lost(exc)

    def _in_time(self) -> asyncio.TimerHandle:
        return self.loop.call_later(self.patience, self.transport.abort)


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, proto)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(1024)
        except OSError:
            found.close()
            raise
    except (OSError, OverflowError) as error:
        raise EffaceError(
            f"{host}:{port}: cannot listen there ({getattr(error, 'strerror', None) or error}): "
            "give another --host or --port"
        ) from error
    return found


def url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: Any, listening: socket.socket, limits: Limits) -> None:
    """Serve until SIGTERM or Ctrl-C; what has begun is finished first."""
    # uvicorn hands a signal on once it has stopped; a service that was told to end ended well.
    signal.signal(signal.SIGTERM, lambda *_: None)
    uvicorn.Server(settings(app, limits)).run(sockets=[listening])


def settings(app: Any, limits: Limits) -> uvicorn.Config:
    bounds = {"patience": limits.timeout + GRACE, "most": limits.connections}
    patient = type("Patient", (Patient,), bounds)
    return uvicorn.Config(
        app,
        http=patient,
        ws="none",
        lifespan="on",
        loop="asyncio",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # else what a client says of itself is believed behind a local proxy
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=math.ceil(limits.timeout),
    )
