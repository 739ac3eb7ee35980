"""A real server on a free port, with a small projector or one that waits to be let go."""

from __future__ import annotations

import dataclasses
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn
from numpy.typing import NDArray

from efface.export.safetensors import Projector, read_projector, save_eraser
from efface.protect.linear.eraser import LinearEraser
from efface.serve.app import create_app
from efface.serve.limits import Limits
from efface.serve.server import listen, settings

DIM = 16
BINARY = {"content-type": "application/octet-stream", "x-efface-dim": str(DIM)}
JSON = {"content-type": "application/json"}
PATIENT_TEST = 20.0


def projector(folder: Path, **changes: Any) -> Projector:
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.standard_normal((DIM, 4)))[0]
    given = {"basis": basis, "method": "isp", "fingerprints": ("00ff",), **changes}
    path = folder / "p.safetensors"
    save_eraser(LinearEraser(**given), path, metadata={"secret": "note"})
    return read_projector(path)


def rows(count: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, DIM)).astype("<f4")


class Held:
    """An eraser that does not come back before it is told to."""

    def __init__(self, eraser: LinearEraser) -> None:
        self.eraser, self.rank = eraser, eraser.rank
        self.dim, self.normalise = eraser.dim, eraser.normalise
        self.go = threading.Event()
        self.calls = 0

    def transform(self, x: NDArray[Any]) -> NDArray[Any]:
        self.calls += 1
        if not self.go.wait(PATIENT_TEST):
            raise TimeoutError
        return self.eraser.transform(x)


def holding(given: Projector) -> tuple[Projector, Held]:
    held = Held(given.eraser)
    return dataclasses.replace(given, eraser=held), held  # type: ignore[arg-type]


@dataclasses.dataclass
class Running:
    host: str
    port: int
    server: uvicorn.Server

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def client(self, **more: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=PATIENT_TEST, verify=False, **more)

    def metric(self, name: str) -> float:
        with self.client() as client:
            text = client.get("/metrics").text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=PATIENT_TEST)


@contextmanager
def serving(given: Projector, limits: Limits | None = None) -> Iterator[Running]:
    limits = limits or Limits(concurrency=2)
    listening = listen("127.0.0.1", 0)
    host, port = listening.getsockname()[:2]
    server = uvicorn.Server(settings(create_app(given, limits), limits))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        until(lambda: server.started)
        yield Running(host, port, server)
    finally:
        server.should_exit = True
        thread.join(PATIENT_TEST)
        assert not thread.is_alive()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENT_TEST
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def head(length: int | None = None, *more: str) -> bytes:
    """The head of a binary request as it goes over the wire."""
    form = ["Content-Type: application/octet-stream", f"X-Efface-Dim: {DIM}"]
    lines = ["POST /v1/erase HTTP/1.1", "Host: x", *form, *more]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def all_of(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    found = b""
    try:
        while chunk := connection.recv(65536):
            found += chunk
    except ConnectionError:
        pass
    return found


def one_answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, head and body of the next answer on a connection."""
    stream = connection.makefile("rb")
    status = int(stream.readline().split()[1])
    fields = {}
    while line := stream.readline().strip():
        name, _, value = line.decode().partition(":")
        fields[name.lower()] = value.strip()
    return status, fields, stream.read(int(fields["content-length"]))


def problem(response: httpx.Response, status: int, reason: str) -> dict[str, Any]:
    """The problem in a refusal, whose form is checked."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = json.loads(response.content)
    assert found["type"] == f"urn:efface:problem:{reason}"
    assert found["status"] == status
    assert found["title"]
    assert found["detail"]
    return found
