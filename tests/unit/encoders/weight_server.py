"""A real HTTP server on this machine that serves one file, well or badly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Behaviour:
    """What the server does; ``seen`` are the Range headers it was asked with ("" for none)."""

    data: bytes
    tag: str | None = '"one"'
    ranges: bool = True
    drops: list[int] = field(default_factory=list)
    """After how many bytes each of the next answers breaks off."""
    statuses: list[int] = field(default_factory=list)
    """Error codes of the next answers."""
    length: bool = True
    seen: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[Behaviour]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(self, behaviour)

        def log_message(self, *args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    behaviour.url = f"http://127.0.0.1:{server.server_port}/weights.bin"
    try:
        yield behaviour
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(request: BaseHTTPRequestHandler, how: Behaviour) -> None:
    asked = request.headers.get("Range", "")
    how.seen.append(asked)
    if how.statuses:
        request.send_response(how.statuses.pop(0))
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    fresh = request.headers.get("If-Range") == how.tag
    start = int(asked[6:-1]) if asked and how.ranges and fresh else 0
    if start >= len(how.data) > 0:
        request.send_response(416)
        request.send_header("Content-Range", f"bytes */{len(how.data)}")
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    request.send_response(206 if start else 200)
    if start:
        end = f"bytes {start}-{len(how.data) - 1}/{len(how.data)}"
        request.send_header("Content-Range", end)
    if how.tag:
        request.send_header("ETag", how.tag)
    if how.length:
        request.send_header("Content-Length", str(len(how.data) - start))
    request.end_headers()
    body = how.data[start:]
    cut = how.drops.pop(0) if how.drops else len(body)
    request.wfile.write(body[:cut])
    request.wfile.flush()
    request.close_connection = True
