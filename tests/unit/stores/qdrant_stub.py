"""A Qdrant server's REST interface, as far as efface uses it, with the client's own engine behind.

It stands in for a server where none can be installed: addresses, requests, pages, keys and errors
take their real way over HTTP. It says nothing of how a real server stores or indexes.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from qdrant_client import QdrantClient, models


@dataclass
class Stub:
    """What the tests may turn: a key that is asked for, and requests that are refused."""

    engine: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    key: str = ""
    refuse: Callable[[str, str], bool] = lambda verb, path: False
    lock: threading.Lock = field(default_factory=threading.Lock)
    largest: int = 0
    url: str = ""

    def answer(self, verb: str, path: str, body: Any) -> Any:
        for (known, pattern), action in _ACTIONS.items():
            found = re.fullmatch(pattern, path)
            if known == verb and found:
                return action(self.engine, *map(unquote, found.groups()), body)
        raise LookupError(f"{verb} {path}")


def _scroll(engine: QdrantClient, name: str, body: Any) -> Any:
    points, following = engine.scroll(
        name, limit=body["limit"], offset=body.get("offset"),
        with_payload=body["with_payload"], with_vectors=body["with_vector"],
    )  # fmt: skip
    return {"points": points, "next_page_offset": following}


def _upsert(engine: QdrantClient, name: str, body: Any) -> Any:
    points = [models.PointStruct(**point) for point in body["points"]]
    return engine.upsert(name, points)


def _create(engine: QdrantClient, name: str, body: Any) -> Any:
    made = models.CreateCollection(**body)
    return engine.create_collection(
        name, vectors_config=made.vectors, sparse_vectors_config=made.sparse_vectors
    )


def _aliases(engine: QdrantClient, body: Any) -> Any:
    return engine.update_collection_aliases(models.ChangeAliasesOperation(**body).actions)


_ONE = r"/collections/([^/]+)"
_ACTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("GET", "/collections"): lambda e, _: e.get_collections(),
    ("GET", "/aliases"): lambda e, _: e.get_aliases(),
    ("POST", "/collections/aliases"): _aliases,
    ("GET", _ONE): lambda e, name, _: e.get_collection(name),
    ("PUT", _ONE): _create,
    ("DELETE", _ONE): lambda e, name, _: e.delete_collection(name),
    ("POST", _ONE + "/points/scroll"): _scroll,
    ("POST", _ONE + "/points/count"): lambda e, name, _: e.count(name),
    ("POST", _ONE + "/points"): lambda e, name, body: e.retrieve(
        name, body["ids"], with_payload=True, with_vectors=body.get("with_vector", False)
    ),
    ("PUT", _ONE + "/points"): _upsert,
}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


@contextmanager
def serving() -> Iterator[Stub]:
    stub = Stub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            return None

        def _serve(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            stub.largest = max(stub.largest, size)
            body = json.loads(self.rfile.read(size)) if size else None
            code, said = self._said(body)
            text = json.dumps(said).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _said(self, body: Any) -> tuple[int, Any]:
            path = urlsplit(self.path).path
            if stub.key and self.headers.get("api-key") != stub.key:
                return 401, {"status": {"error": "Must provide an API key"}}
            if stub.refuse(self.command, path):
                return 500, {"status": {"error": "No space left on device"}}
            try:
                with stub.lock:
                    result = _plain(stub.answer(self.command, path, body))
                return 200, {"result": result, "status": "ok", "time": 0.0}
            except ValueError as error:
                return 400, {"status": {"error": str(error)}}

        do_GET = do_PUT = do_POST = do_DELETE = _serve

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        stub.engine.close()
