"""What is wrong with a request is said in one form, and the service stays well."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from serve_world import (
    BINARY,
    DIM,
    JSON,
    Running,
    all_of,
    head,
    one_answer,
    problem,
    projector,
    rows,
    serving,
    until,
)

from efface.errors import PlanError
from efface.export.safetensors import Projector
from efface.serve.limits import Limits

BODY = 64 * 4 * DIM


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Projector:
    return projector(tmp_path_factory.mktemp("p"))


@pytest.fixture(scope="module")
def running(served: Projector) -> Iterator[Running]:
    with serving(served, Limits(max_batch=32, max_body=BODY, concurrency=1)) as found:
        yield found


@pytest.fixture
def client(running: Running) -> Iterator[httpx.Client]:
    with running.client() as found:
        yield found
        assert found.get("/healthz").status_code == 200
        answer = found.post("/v1/erase", content=rows(3).tobytes(), headers=BINARY)
        assert answer.status_code == 200, "the service answers as before"


def spoilt(value: float, row: int = 5) -> np.ndarray:
    x = rows(8)
    x[row, 3] = value
    return x


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_named(client: httpx.Client, value: float) -> None:
    answer = client.post("/v1/erase", content=spoilt(value).tobytes(), headers=BINARY)
    found = problem(answer, 422, "bad-row")
    assert found["row"] == 5
    assert "row 5 (counted from 0)" in found["detail"]


@pytest.mark.parametrize("number", ["1e39", "-1e300"])
def test_a_number_beyond_float32_is_named(client: httpx.Client, number: str) -> None:
    text = ",".join(["1"] * (DIM - 1) + [number])
    good = ",".join(["1"] * DIM)
    body = f'{{"vectors":[[{good}],[{text}]]}}'
    found = problem(client.post("/v1/erase", content=body, headers=JSON), 422, "bad-row")
    assert found["row"] == 1


def test_a_zero_row_is_named(client: httpx.Client) -> None:
    x = rows(6)
    x[4] = 0
    answers = [
        client.post("/v1/erase", content=x.tobytes(), headers=BINARY),
        client.post("/v1/erase", json={"vectors": x.tolist()}),
    ]
    assert [problem(a, 422, "bad-row")["row"] for a in answers] == [4, 4]


def test_a_row_of_which_nothing_is_left_is_named(served: Projector, client: httpx.Client) -> None:
    x = rows(3)
    x[1] = served.eraser.basis[:, 0]
    answer = client.post("/v1/erase", content=x.tobytes(), headers=BINARY)
    assert "row 1" in problem(answer, 422, "nothing-left")["detail"]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ("", 400, "bad-json"),
        ("{", 400, "bad-json"),
        ("[[1]", 422, "bad-json"),
        ('{"vectors":[[1,2]', 400, "bad-json"),
        ('{"vectors":[[NaN]]}', 400, "bad-json"),
        ('{"vectors":[[1,],[2]]}', 400, "bad-json"),
        ("\xff\xfe", 400, "bad-json"),
        ("[1]", 422, "bad-json"),
        ("{}", 422, "bad-json"),
        ('{"vectors":null}', 422, "bad-json"),
        ('{"vectors":"1,2"}', 422, "bad-json"),
        ('{"vectors":{"0":[1]}}', 422, "bad-json"),
        ('{"vectors":[[1]],"more":1}', 422, "bad-json"),
        ('{"vectors":[]}', 422, "no-vectors"),
        ('{"vectors":[[]]}', 422, "wrong-dimension"),
        ('{"vectors":[[1,2,3]]}', 422, "wrong-dimension"),
        ('{"vectors":[1,2,3]}', 422, "wrong-dimension"),
        ('{"vectors":[["a"]]}', 422, "bad-row"),
        ('{"vectors":[[null]]}', 422, "bad-row"),
        ('{"vectors":[[true]]}', 422, "bad-row"),
        ('{"vectors":[["1"]]}', 422, "bad-row"),
        ('{"vectors":[[[1]]]}', 422, "bad-row"),
        ('{"vectors":["a"]}', 422, "bad-row"),
        ('{"vectors":' + "[" * 30 + "1" + "]" * 30 + "}", 422, "bad-row"),
        ('{"vectors":' + "[" * 4000, 413, "batch-too-large"),
        ('{"vectors":[' + ",".join(["[]"] * 33) + "]}", 413, "batch-too-large"),
        ('{"vectors":[' + ",".join(["1"] * 600) + "]}", 413, "batch-too-large"),
    ],
)
def test_json_that_is_not_understood(
    client: httpx.Client, body: str, status: int, reason: str
) -> None:
    answer = client.post("/v1/erase", content=body.encode("latin-1"), headers=JSON)
    problem(answer, status, reason)


def test_a_ragged_batch_names_the_row(client: httpx.Client) -> None:
    x: list[Any] = rows(4).tolist()
    x[2].pop()
    found = problem(client.post("/v1/erase", json={"vectors": x}), 422, "ragged")
    assert found["row"] == 2
    assert f"{DIM - 1} numbers, {DIM} are needed" in found["detail"]


@pytest.mark.parametrize("length", [1, 4 * DIM - 1, 4 * DIM + 4])
def test_bytes_that_are_no_whole_vectors(client: httpx.Client, length: int) -> None:
    answer = client.post("/v1/erase", content=b"\x01" * length, headers=BINARY)
    assert f"{length} bytes" in problem(answer, 422, "wrong-dimension")["detail"]


def test_no_vector_at_all(client: httpx.Client) -> None:
    problem(client.post("/v1/erase", content=b"", headers=BINARY), 422, "no-vectors")


def test_a_dimension_that_is_wrong_is_refused_unread(client: httpx.Client) -> None:
    for path, more in ((f"?dim={DIM + 1}", {}), ("?dim=x", {}), ("", {"x-efface-dim": "3"})):
        answer = client.post(f"/v1/erase{path}", content=rows(2).tobytes(), headers=BINARY | more)
        assert problem(answer, 422, "wrong-dimension")["dim"] == DIM


def test_bytes_of_another_dimension_that_fit_by_chance(client: httpx.Client) -> None:
    """Four vectors of half the dimension have as many bytes as two: without a word they would be
    erased as what they are not, and keep who is in them."""
    half = rows(2).reshape(4, DIM // 2)
    form = {"content-type": BINARY["content-type"]}
    answer = client.post("/v1/erase", content=half.tobytes(), headers=form)
    found = problem(answer, 422, "no-dimension")
    assert found["dim"] == DIM
    assert "X-Efface-Dim" in found["detail"]
    answer = client.post(f"/v1/erase?dim={DIM // 2}", content=half.tobytes(), headers=form)
    problem(answer, 422, "wrong-dimension")


@pytest.mark.parametrize("count", [33, 64])
def test_a_batch_that_is_too_large(client: httpx.Client, count: int) -> None:
    answer = client.post("/v1/erase", content=rows(count).tobytes(), headers=BINARY)
    assert "at most 32" in problem(answer, 413, "batch-too-large")["detail"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/octet-stream", "content-encoding": "gzip"},
    ],
)
def test_other_media_types(client: httpx.Client, fields: dict[str, str]) -> None:
    answer = client.post("/v1/erase", content=rows(1).tobytes(), headers=fields)
    problem(answer, 415, "wrong-media-type")


def test_other_paths_and_methods(client: httpx.Client) -> None:
    problem(client.get("/v2/erase"), 404, "no-such-path")
    answer = client.get("/v1/erase")
    problem(answer, 405, "wrong-method")
    assert answer.headers["allow"] == "POST"


# --- bodies that are too large, whatever they say ---------------------------------------------


def test_a_body_that_says_it_is_too_large_is_refused_unread(
    running: Running, client: httpx.Client
) -> None:
    with running.connect() as wire:
        wire.sendall(head(10**15))
        status, fields, body = one_answer(wire)
    assert status == 413
    assert fields["content-type"] == "application/problem+json"
    assert str(BODY).encode() in body


def test_a_body_that_says_nothing_is_cut_off_while_it_streams(client: httpx.Client) -> None:
    sent = 0

    def chunks() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 8192
            yield bytes(8192)

    answer = client.post("/v1/erase", content=chunks(), headers=BINARY)
    problem(answer, 413, "body-too-large")
    assert sent > BODY


def test_a_body_longer_than_it_said(running: Running, client: httpx.Client) -> None:
    x = rows(1)
    with running.connect() as wire:
        wire.sendall(head(x.nbytes, "Connection: close") + x.tobytes() + b"more" * 1000)
        assert all_of(wire).startswith(b"HTTP/1.1 200")


def test_a_body_shorter_than_it_said(running: Running, client: httpx.Client) -> None:
    name = 'efface_rejected_total{reason="disconnected"}'
    before = running.metric(name)
    with running.connect() as wire:
        wire.sendall(head(1000) + bytes(10))
    until(lambda: running.metric(name) == before + 1)
    assert running.metric("efface_held_bytes") == 0


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "9" * 5000])
def test_a_length_that_is_no_number(running: Running, client: httpx.Client, length: str) -> None:
    with running.connect() as wire:
        wire.sendall(head(None, f"Content-Length: {length}", "Connection: close") + bytes(64))
        wire.shutdown(1)
        assert all_of(wire).split()[1] in (b"400", b"413")


def test_what_is_no_http(running: Running, client: httpx.Client) -> None:
    with running.connect() as wire:
        wire.sendall(b"\x16\x03\x01\x02\x00" + bytes(200) + b"\r\n\r\n")
        assert all_of(wire).startswith(b"HTTP/1.1 400")


# --- the service's own failures ---------------------------------------------------------------


class Broken:
    dim, rank, normalise = DIM, 4, True

    def transform(self, x: np.ndarray) -> np.ndarray:
        raise RuntimeError("could not convert 0.7391824")


def test_a_failure_inside_says_nothing_of_the_vector(
    served: Projector, caplog: pytest.LogCaptureFixture
) -> None:
    broken: Any = Broken()
    with (
        caplog.at_level(logging.DEBUG),
        serving(replace(served, eraser=broken)) as running,
        running.client() as client,
    ):
        answer = client.post("/v1/erase", content=rows(1).tobytes(), headers=BINARY)
        problem(answer, 500, "internal")
    assert "RuntimeError" in caplog.text
    assert "7391824" not in caplog.text + answer.text


@pytest.mark.parametrize(
    "wrong",
    [{"max_batch": 0}, {"max_body": 0}, {"concurrency": 0}, {"queue": -1}, {"timeout": 0.0},
     {"timeout": float("nan")}, {"connections": 0}],
)  # fmt: skip
def test_limits_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        Limits(**wrong)


def test_an_overflow_after_erasure_is_named(tmp_path: Path) -> None:
    basis, dual = np.zeros((DIM, 1)), np.zeros((DIM, 1))
    basis[0], basis[1], dual[0] = 1, 10, 1  # x1 becomes x1 - 10 x0
    x = rows(3)
    x[1, 0] = 3e38
    given = projector(tmp_path, normalise=False, basis=basis, dual=dual)
    with serving(given) as running, running.client() as client:
        answer = client.post("/v1/erase", content=x.tobytes(), headers=BINARY)
        found = problem(answer, 422, "bad-row")
    assert found["row"] == 1
    assert "after erasure" in found["detail"]
