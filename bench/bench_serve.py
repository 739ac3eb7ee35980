"""The service under load, beside a bare FastAPI route that only gives the body back.

Both run under uvicorn in processes of their own, one after the other under the same load. Every
batch is checked against the eraser first: binary answers must be bit-equal.

    python bench/bench_serve.py [--dim 512] [--rank 64] [--seconds 5] [--connections 8]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from efface.export.safetensors import load_eraser, read_projector, save_eraser
from efface.protect.linear.eraser import LinearEraser
from http_load import Load, generator, load
from machine import describe

JSON, BINARY = "application/json", "application/octet-stream"
CASES = ((BINARY, 1), (BINARY, 64), (BINARY, 1024), (JSON, 1), (JSON, 64))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=8)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "projector.safetensors"
        save_eraser(LinearEraser(orthonormal(args.dim, args.rank), method="isp"), file)
        with running(erase_server, str(file)) as ours, running(echo_server, "") as echo:
            print(head(args))
            found = [case(ours, echo, file, form, rows, args) for form, rows in CASES]
    return 1 if any(found) else 0


@dataclass(frozen=True)
class Server:
    port: int
    process: psutil.Process

    def spent(self) -> float:
        """Seconds of CPU so far: what another process on the machine cannot add to."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


def case(
    ours: Server, echo: Server, file: Path, form: str, rows: int, args: argparse.Namespace
) -> int:
    """One line of the table; how many requests failed."""
    x = np.random.default_rng(rows).standard_normal((rows, args.dim)).astype("<f4")
    body = x.tobytes() if form == BINARY else json.dumps({"vectors": x.tolist()}).encode()
    check(ours.port, file, form, x, body)
    loads, cpu = [], []
    for server in (ours, echo):
        path = f"/v1/erase?dim={args.dim}"
        load(server.port, path, body, form, args.connections, 1)  # warm
        before = server.spent()
        loads.append(load(server.port, path, body, form, args.connections, args.seconds))
        cpu.append((server.spent() - before) / loads[-1].requests * 1e3)
    print(line(form, rows, *loads, *cpu), flush=True)
    return sum(found.bad for found in loads)


def check(port: int, file: Path, form: str, x: np.ndarray, body: bytes) -> None:
    """A fast wrong answer is worth nothing."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/erase?dim={x.shape[1]}", body, {"Content-Type": form}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        said = answer.read()
    values = np.frombuffer(said, "<f4") if form == BINARY else json.loads(said)["vectors"]
    found = np.asarray(values, np.float32).reshape(x.shape)
    if not np.array_equal(found, load_eraser(file).transform(x)):
        raise RuntimeError(f"the service answers {form} with something else than the eraser")


def head(args: argparse.Namespace) -> str:
    data = f"{args.dim} dimensions, rank {args.rank}, {args.connections} connections"
    return (
        f"{describe()}\n\n{data}; load from {generator()}, {args.seconds} s each\n\n"
        "| vectors per request | vectors/s | requests/s | p50 ms | p99 ms | CPU ms "
        "| echo requests/s | echo p50 ms | echo p99 ms | echo CPU ms | share of echo | failed |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|"
    )


def line(form: str, rows: int, ours: Load, echo: Load, our_cpu: float, echo_cpu: float) -> str:
    name = "binary" if form == BINARY else "JSON"
    cells = [
        f"{rows:,} {name}", f"{ours.rate * rows:,.0f}", f"{ours.rate:,.0f}", f"{ours.p50:.2f}",
        f"{ours.p99:.2f}", f"{our_cpu:.2f}", f"{echo.rate:,.0f}", f"{echo.p50:.2f}",
        f"{echo.p99:.2f}", f"{echo_cpu:.2f}",
        f"{ours.rate / echo.rate:.2f}", str(ours.bad + echo.bad),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def orthonormal(dim: int, rank: int) -> np.ndarray:
    found: np.ndarray = np.linalg.qr(np.random.default_rng(0).standard_normal((dim, rank)))[0]
    return found


# --- servers --------------------------------------------------------------------------------


@contextmanager
def running(target: Callable[[int, str], None], file: str) -> Iterator[Server]:
    """A server in its own process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(target=target, args=(port, file))
    process.start()
    try:
        wait_for(port, process)
        yield Server(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.join(30)


def wait_for(port: int, process: multiprocessing.process.BaseProcess) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if not process.is_alive():
                break
            time.sleep(0.05)
    raise RuntimeError("a server did not start")


def erase_server(port: int, file: str) -> None:
    from efface.serve.app import create_app, warm_up
    from efface.serve.limits import Limits
    from efface.serve.server import listen, run

    limits, projector = Limits(), read_projector(file)
    warm_up(projector.eraser)
    run(create_app(projector, limits), listen("127.0.0.1", port), limits)


def echo_server(port: int, _: str) -> None:
    """The framework alone: the same server, one route, no work."""
    import fastapi
    import uvicorn

    app = fastapi.FastAPI()

    async def echo(request: fastapi.Request) -> fastapi.Response:
        media = request.headers.get("content-type")
        return fastapi.Response(await request.body(), media_type=media)

    # Not as a decorator: annotations in a function are text that the framework cannot look up.
    echo.__annotations__ = {"request": fastapi.Request, "return": fastapi.Response}
    app.post("/v1/erase", response_class=fastapi.Response)(echo)
    uvicorn.run(app, host="127.0.0.1", port=port, http="h11", log_level="warning",
                access_log=False)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
