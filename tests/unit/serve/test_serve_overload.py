"""More than it can do: refused at once, never a wrong answer, never a deaf server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import numpy as np
import pytest
from serve_world import (
    BINARY,
    DIM,
    Held,
    Running,
    all_of,
    head,
    holding,
    one_answer,
    problem,
    projector,
    rows,
    serving,
    until,
)

from efface.export.safetensors import Projector
from efface.serve import server
from efface.serve.gate import Budget, Gate
from efface.serve.limits import Limits
from efface.serve.problem import Problem

SLOW_BODY = 'efface_rejected_total{reason="slow-body"}'


@pytest.fixture
def served(tmp_path: Path) -> Projector:
    return projector(tmp_path)


@pytest.fixture
def held(served: Projector) -> Iterator[Held]:
    yield (found := holding(served)[1])
    found.go.set()


Ask = Callable[[int], httpx.Response]


def asking(running: Running) -> Ask:
    def ask(seed: int) -> httpx.Response:
        with running.client() as client:
            return client.post("/v1/erase", content=rows(3, seed).tobytes(), headers=BINARY)

    return ask


def right(served: Projector, answer: httpx.Response, seed: int) -> bool:
    return answer.content == served.eraser.transform(rows(3, seed)).tobytes()


# --- overload -----------------------------------------------------------------------------------


def test_beyond_threads_and_queue_the_answer_is_503_at_once(served: Projector) -> None:
    waiting, held = holding(served)
    with (
        serving(waiting, Limits(small=0, concurrency=2, queue=3)) as running,
        ThreadPoolExecutor(5) as pool,
    ):
        try:
            ask = asking(running)
            taken = [pool.submit(ask, seed) for seed in range(5)]
            until(lambda: running.metric("efface_waiting") == 3)
            assert running.metric("efface_at_work") == 2
            assert held.calls == 2
            for _ in range(20):
                refused = ask(99)
                assert (
                    "2 requests are at work and 3 wait"
                    in problem(refused, 503, "overloaded")["detail"]
                )
                assert int(refused.headers["retry-after"]) >= 1
            with running.client() as client:
                assert client.get("/healthz").status_code == 200
        finally:
            held.go.set()
        answers = [future.result() for future in taken]
        assert all(right(served, answer, seed) for seed, answer in enumerate(answers))
        assert ask(7).status_code == 200
        assert running.metric('efface_rejected_total{reason="overloaded"}') == 20
        assert held.calls == 6, "what was refused cost no work"


def test_who_waits_too_long_is_told_so(served: Projector) -> None:
    waiting, held = holding(served)
    limits = Limits(small=0, concurrency=1, queue=3, timeout=0.4)
    with serving(waiting, limits) as running, ThreadPoolExecutor(1) as pool:
        try:
            ask = asking(running)
            first = pool.submit(ask, 1)
            until(lambda: running.metric("efface_at_work") == 1)
            detail = problem(ask(2), 503, "overloaded")["detail"]
            assert "no thread was free for 0.4 s" in detail
            assert running.metric("efface_waiting") == 0
        finally:
            held.go.set()
        assert right(served, first.result(), 1)


def test_200_at_a_time_are_all_answered_right(served: Projector) -> None:
    async def everyone(url: str) -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(
            base_url=url, timeout=60, limits=limits, verify=False
        ) as client:
            bodies = [rows(3, seed).tobytes() for seed in range(200)]
            calls = [client.post("/v1/erase", content=b, headers=BINARY) for b in bodies]
            return await asyncio.gather(*calls)

    with serving(served, Limits(small=0, concurrency=2, queue=200)) as running:
        answers = asyncio.run(everyone(running.url))
        assert running.metric("efface_held_bytes") == 0
    assert all(right(served, answer, seed) for seed, answer in enumerate(answers))


def test_a_storm_gets_right_answers_or_503_and_nothing_else(served: Projector) -> None:
    async def storm(url: str) -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=100)
        async with httpx.AsyncClient(
            base_url=url, timeout=60, limits=limits, verify=False
        ) as client:
            bodies = [rows(3, seed).tobytes() for seed in range(150)]
            calls = [client.post("/v1/erase", content=b, headers=BINARY) for b in bodies]
            return await asyncio.gather(*calls)

    waiting, held = holding(served)
    with serving(waiting, Limits(small=0, concurrency=1, queue=4)) as running:
        threading.Timer(0.5, held.go.set).start()
        answers = asyncio.run(storm(running.url))
        assert asking(running)(1).status_code == 200, "well again"
    known = {answer.status_code for answer in answers}
    assert known == {200, 503}
    good = [(seed, a) for seed, a in enumerate(answers) if a.status_code == 200]
    assert len(good) >= 5
    assert all(right(served, answer, seed) for seed, answer in good)


def test_memory_for_bodies_is_bounded_over_all_requests(served: Projector) -> None:
    x = rows(64)
    limits = Limits(small=0, max_body=x.nbytes, concurrency=1, timeout=20)
    with serving(served, limits) as running:
        wires = []
        for _ in range(8):
            wire = running.connect()
            wires.append(wire)
            wire.sendall(head(x.nbytes) + x.tobytes()[:-1])
        until(lambda: running.metric("efface_held_bytes") == 8 * (x.nbytes - 1))
        problem(asking(running)(1), 503, "overloaded")
        for wire in wires:
            wire.sendall(x.tobytes()[-1:])
            assert one_answer(wire)[0] == 200
            wire.close()
        assert running.metric("efface_held_bytes") == 0
        assert asking(running)(1).status_code == 200


def test_one_connection_too_many_is_told_to_come_back(served: Projector) -> None:
    with serving(served, Limits(small=0, concurrency=1, connections=3)) as running:
        wires = [running.connect() for _ in range(3)]
        until(lambda: len(running.server.server_state.connections) == 3)
        answer = asking(running)(1)
        problem(answer, 503, "overloaded")
        assert answer.headers["retry-after"] == "1"
        assert answer.headers["connection"] == "close"
        wires[0].sendall(head(4 * DIM) + rows(1).tobytes())
        assert one_answer(wires[0])[0] == 200, "who is in is served"
        for wire in wires:
            wire.close()
        until(lambda: not running.server.server_state.connections)
        assert asking(running)(1).status_code == 200


# --- slow and vanishing clients -----------------------------------------------------------------


def test_slow_bodies_hold_up_nobody_and_are_ended(served: Projector) -> None:
    limits = Limits(small=0, concurrency=1, queue=0, timeout=1.5)
    with serving(served, limits) as running:
        wires = [running.connect() for _ in range(30)]
        for wire in wires:
            wire.sendall(head(4 * DIM) + b"\0" * 5)
        assert right(served, asking(running)(3), 3)
        for wire in wires:
            status, fields, body = one_answer(wire)
            assert status == 408
            assert b"did not arrive in 1.5 s" in body
            assert fields["connection"] == "close"
            assert all_of(wire) == b""
            wire.close()
        assert running.metric(SLOW_BODY) == 30
        assert running.metric("efface_held_bytes") == 0


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"POST /v1/erase HT",
        b"POST /v1/erase HTTP/1.1\r\nHost: x\r\nX-Long: ",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /hea",
        head(10**15) + b"\0" * 100,
    ],
    ids=["nothing", "method", "head", "second head", "refused body"],
)
def test_a_request_that_never_ends_is_cut_off(
    served: Projector, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(server, "GRACE", 0.1)
    with serving(served, Limits(small=0, concurrency=1, timeout=0.3)) as running:
        with running.connect() as wire:
            wire.sendall(start)
            all_of(wire)  # comes back: the other side has closed
        assert asking(running)(1).status_code == 200


def test_a_client_that_does_not_read_is_cut_off(
    served: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "GRACE", 0.1)
    x = np.ones((1 << 17, DIM), "<f4")  # 8 MiB, more than the buffers between the two
    limits = Limits(small=0, concurrency=1, max_batch=1 << 17, timeout=3)
    with serving(served, limits) as running:
        with running.connect() as wire:
            wire.sendall(head(x.nbytes) + x.tobytes())
            until(lambda: running.metric("efface_vectors_total") == len(x))
            assert len(running.server.server_state.connections) >= 1
            until(lambda: not running.server.server_state.connections)
            with suppress(OSError):
                assert len(all_of(wire)) < x.nbytes
        assert asking(running)(1).status_code == 200


def test_a_client_that_leaves_while_it_waits_costs_no_work(served: Projector) -> None:
    waiting, held = holding(served)
    x = rows(3)
    with (
        serving(waiting, Limits(small=0, concurrency=1, queue=5)) as running,
        ThreadPoolExecutor(1) as pool,
    ):
        try:
            first = pool.submit(asking(running), 1)
            until(lambda: running.metric("efface_at_work") == 1)
            with running.connect() as wire:
                wire.sendall(head(x.nbytes) + x.tobytes())
                until(lambda: running.metric("efface_waiting") == 1)
        finally:
            time.sleep(0.1)  # for the end of the connection to arrive
            held.go.set()
        assert first.result().status_code == 200
        until(lambda: running.metric('efface_rejected_total{reason="disconnected"}') == 1)
    assert held.calls == 1


def test_what_has_begun_is_finished_when_the_service_ends(served: Projector) -> None:
    waiting, held = holding(served)
    with serving(waiting, Limits(small=0, concurrency=1)) as running, ThreadPoolExecutor(1) as pool:
        first = pool.submit(asking(running), 1)
        until(lambda: held.calls == 1)
        running.server.should_exit = True
        time.sleep(0.3)
        with pytest.raises(httpx.ConnectError):
            asking(running)(2)
        held.go.set()
        assert right(served, first.result(), 1)


# --- the gate alone -----------------------------------------------------------------------------


def test_the_gate_never_lets_more_in_and_forgets_nobody() -> None:
    async def play() -> tuple[int, int, int]:
        gate = Gate(Limits(small=0, concurrency=3, queue=5))
        most = done = refused = 0

        async def visit(number: int) -> None:
            nonlocal most, done, refused
            try:
                async with gate.enter():
                    most = max(most, gate.at_work)
                    assert gate.waiting <= 5
                    await asyncio.sleep(0)
                    if number % 7 == 0:
                        raise ZeroDivisionError
                done += 1
            except Problem:
                refused += 1
            except ZeroDivisionError:
                done += 1

        await asyncio.gather(*(visit(number) for number in range(50)))
        assert (gate.at_work, gate.waiting) == (0, 0)
        return most, done, refused

    assert asyncio.run(play()) == (3, 8, 42)


def test_a_visitor_who_is_cancelled_leaves_the_queue() -> None:
    async def play() -> None:
        gate = Gate(Limits(small=0, concurrency=1, queue=1))

        async def wait() -> None:
            async with gate.enter():
                raise AssertionError("got in")

        async with gate.enter():
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
            assert gate.waiting == 1
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        assert (gate.at_work, gate.waiting) == (0, 0)
        async with gate.enter() as waited:
            assert not waited

    asyncio.run(play())


def test_the_budget_counts() -> None:
    budget = Budget(10)
    budget.take(10)
    with pytest.raises(Problem):
        budget.take(1)
    budget.give(4)
    budget.take(4)
    assert budget.held == 10
