"""A headless Chromium driven over its DevTools pipe: no port, no network, no extra package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


# The browser looks for the pipes on 3 and 4, wherever they are here. Above 9 they are out of the
# way of one another while they are moved.
PLUMBING = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def executable() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One process, one page. Commands out on descriptor 3, answers and events in on 4."""

    def __init__(self, profile: Path) -> None:
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        command = [executable() or "chromium", *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", PLUMBING, str(to_child), str(from_child), *command],
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer = b""
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        try:
            self._attach()
        except RuntimeError:
            self.close()
            raise

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path, width: int, height: int = 900, scheme: str = "light") -> None:
        """Load a file at a width and in a colour scheme; the events of the load are kept."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media="", features=features)
        self.call("Page.navigate", url=path.as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read())

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, whole: bool = True) -> bytes:
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(found["data"])

    def pdf(self) -> bytes:
        found = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        return base64.b64decode(found["data"])

    def close(self) -> None:
        """End this process and its children, which have a session of their own."""
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired, RuntimeError):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + 60
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser does not answer")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found


def pixels(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and unfiltered rows of an 8-bit RGB or RGBA picture."""
    width, height, _, colour = struct.unpack(">IIBB", png[16:26])
    step = {2: 3, 6: 4}[colour]
    data, place = b"", 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            data += png[place + 8 : place + 8 + length]
        place += length + 12
    raw = zlib.decompress(data)
    stride = width * step + 1
    rows: list[bytes] = []
    before = bytes(stride - 1)
    for y in range(height):
        row = bytearray(raw[y * stride + 1 : (y + 1) * stride])
        _unfilter(raw[y * stride], row, before, step)
        before = bytes(row)
        rows.append(before)
    return width, height, rows


def _unfilter(kind: int, row: bytearray, above: bytes, step: int) -> None:
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            row[i] = (row[i] + left) & 255
        elif kind == 2:
            row[i] = (row[i] + above[i]) & 255
        elif kind == 3:
            row[i] = (row[i] + (left + above[i]) // 2) & 255
        elif kind == 4:
            guess = left + above[i] - corner
            best = min((left, above[i], corner), key=lambda v: abs(guess - v))
            row[i] = (row[i] + best) & 255
