"""A load generator: wrk where it is installed, else a small one of our own.

Only for a server on this machine, with a bounded time and number of connections.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """\
local file = io.open("{body}", "rb")
wrk.method = "POST"
wrk.body = file:read("*a")
wrk.headers["Content-Type"] = "{media}"
file:close()
function done(summary, latency, requests)
  local e = summary.errors
  local form = '{{"requests": %d, "seconds": %f, "p50": %f, "p99": %f, "bad": %d}}'
  io.write(string.format("\\nRESULT " .. form .. "\\n",
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, e.connect + e.read + e.write + e.status + e.timeout))
end
"""


@dataclass(frozen=True)
class Load:
    """What one run found; latencies in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    bad: int

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


def generator() -> str:
    """What makes the load, for the head of a table."""
    return "wrk, one thread" if shutil.which("wrk") else "asyncio sockets in one process"


def load_each(port: int, path: str, bodies: list[bytes], media: str, seconds: int) -> Load:
    """POST a body of its own over each of several connections; wrk knows one body only."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_drive, (port, path, bodies, media, seconds))


def load(port: int, path: str, body: bytes, media: str, connections: int, seconds: int) -> Load:
    """POST one body again and again over connections that stay open."""
    run = _wrk if shutil.which("wrk") else _sockets
    return run(port, path, body, media, connections, seconds)


def _wrk(port: int, path: str, body: bytes, media: str, connections: int, seconds: int) -> Load:
    with tempfile.TemporaryDirectory() as folder:
        file, script = Path(folder) / "body", Path(folder) / "post.lua"
        file.write_bytes(body)
        script.write_text(_SCRIPT.format(body=file, media=media))
        words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s",
                 str(script), f"http://127.0.0.1:{port}{path}"]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds + 60)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not lines:
        raise RuntimeError(f"wrk failed: {done.stdout}{done.stderr}")
    return Load(**json.loads(lines[-1].removeprefix("RESULT ")))


def _sockets(port: int, path: str, body: bytes, media: str, connections: int, seconds: int) -> Load:
    """In a process of its own, as wrk is."""
    return load_each(port, path, [body] * connections, media, seconds)


def _drive(port: int, path: str, bodies: list[bytes], media: str, seconds: int) -> Load:
    return asyncio.run(_all(port, [_request(path, body, media) for body in bodies], seconds))


def _request(path: str, body: bytes, media: str) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {media}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    return head + body


async def _all(port: int, requests: list[bytes], seconds: int) -> Load:
    start = time.perf_counter()
    end = start + seconds
    runs = await asyncio.gather(*(_one(port, request, end) for request in requests))
    spent = time.perf_counter() - start
    took = sorted(ms for times, _ in runs for ms in times)
    if not took:
        raise RuntimeError("no request was answered")
    p99 = took[min(len(took) - 1, int(len(took) * 0.99))]
    return Load(len(took), spent, took[len(took) // 2], p99, sum(bad for _, bad in runs))


async def _one(port: int, request: bytes, end: float) -> tuple[list[float], int]:
    """One connection until the time is over: milliseconds of every request, and failures."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    times, bad = [], 0
    while (begun := time.perf_counter()) < end:
        writer.write(request)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        await reader.readexactly(length)
        times.append((time.perf_counter() - begun) * 1e3)
        bad += head.split(maxsplit=2)[1] != b"200"
    writer.close()
    return times, bad
