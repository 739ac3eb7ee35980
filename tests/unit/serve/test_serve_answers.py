"""What the service answers is ``eraser.transform``, bit for bit, in the form it was asked in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve_world import BINARY, DIM, JSON, Running, projector, rows, serving

from efface._version import __version__
from efface.export.safetensors import Projector


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Projector:
    return projector(tmp_path_factory.mktemp("p"))


@pytest.fixture(scope="module")
def running(served: Projector) -> Iterator[Running]:
    with serving(served) as found:
        yield found


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[httpx.Client]:
    with running.client() as found:
        yield found


@pytest.mark.parametrize("count", [1, 2, 64, 2049, 4096])
def test_binary_is_bit_equal(served: Projector, client: httpx.Client, count: int) -> None:
    x = rows(count)
    answer = client.post("/v1/erase", content=x.tobytes(), headers=BINARY)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-efface-dim"] == str(DIM)
    assert answer.content == served.eraser.transform(x).astype("<f4").tobytes()


@pytest.mark.parametrize("count", [1, 3, 200])
def test_json_is_equal_in_float32(served: Projector, client: httpx.Client, count: int) -> None:
    x = rows(count)
    answer = client.post("/v1/erase", json={"vectors": x.tolist()})
    assert answer.headers["content-type"] == "application/json"
    found = np.array(answer.json()["vectors"], np.float32)
    assert np.array_equal(found, served.eraser.transform(x))


def test_one_vector_gives_one_vector(served: Projector, client: httpx.Client) -> None:
    x = rows(1)[0]
    found = client.post("/v1/erase", json={"vectors": x.tolist()}).json()["vectors"]
    assert np.array_equal(np.array(found, np.float32), served.eraser.transform(x))


@settings(max_examples=40)
@given(
    values=st.lists(
        st.lists(
            st.floats(-(2.0**60), 2.0**60, width=32).filter(lambda v: v == 0 or abs(v) > 1e-18)
            | st.integers(-1000, 1000),
            min_size=DIM,
            max_size=DIM,
        ).filter(any),
        min_size=1,
        max_size=4,
    ),
    indent=st.sampled_from([None, 0, 1]),
)
def test_any_numbers_in_any_layout(
    served: Projector, client: httpx.Client, values: list[list[float]], indent: int | None
) -> None:
    body = json.dumps({"vectors": values}, indent=indent)
    answer = client.post("/v1/erase", content=body, headers=JSON)
    x = np.array(values, np.float32)
    try:
        truth = served.eraser.transform(x)
    except ValueError:
        assert answer.status_code == 422
        return
    assert answer.status_code == 200
    assert np.array_equal(np.array(answer.json()["vectors"], np.float32), truth)


def test_an_eraser_that_keeps_lengths(tmp_path: Path) -> None:
    mean = np.linspace(-1, 1, DIM)
    given_ = projector(tmp_path, normalise=False, mean=mean)
    x = rows(5) * 7
    x[2] = 0  # nothing is wrong with it where lengths are kept
    with serving(given_) as running, running.client() as client:
        answer = client.post("/v1/erase", content=x.tobytes(), headers=BINARY)
        assert answer.content == given_.eraser.transform(x).astype("<f4").tobytes()


@pytest.mark.parametrize("where", ["head", "query"])
def test_a_dimension_that_is_right_is_said_in_either_place(
    client: httpx.Client, where: str
) -> None:
    head = BINARY if where == "head" else {"content-type": BINARY["content-type"]}
    path = "/v1/erase" + (f"?dim={DIM}" if where == "query" else "")
    assert client.post(path, content=rows(2).tobytes(), headers=head).status_code == 200


def test_the_media_type_may_have_parameters(client: httpx.Client) -> None:
    head = {"content-type": "Application/JSON; charset=utf-8"}
    body = json.dumps({"vectors": rows(1).tolist()})
    assert client.post("/v1/erase", content=body, headers=head).status_code == 200


def test_a_body_in_chunks_is_read(served: Projector, client: httpx.Client) -> None:
    x = rows(100)
    blob = x.tobytes()
    parts = (blob[i : i + 999] for i in range(0, len(blob), 999))
    answer = client.post("/v1/erase", content=parts, headers=BINARY)
    assert answer.content == served.eraser.transform(x).tobytes()


# --- the other routes -----------------------------------------------------------------------


def test_health(served: Projector, client: httpx.Client) -> None:
    answer = client.get("/healthz")
    assert answer.json() == {"status": "ok", "projector": served.eraser.digest()}


def test_metadata_tell_what_is_served_and_nothing_private(
    served: Projector, client: httpx.Client
) -> None:
    found = client.get("/v1/projector").json()
    assert found["digest"] == served.eraser.digest()
    assert found["sha256"] == served.sha256
    assert (found["method"], found["rank"], found["dim"]) == ("isp", 4, DIM)
    assert not {"fingerprints", "notes", "params"} & set(found)


def test_metrics_count_requests_vectors_and_refusals(served: Projector, running: Running) -> None:
    names = {
        "ok": 'efface_requests_total{status="200"}',
        "refused": 'efface_requests_total{status="422"}',
        "vectors": "efface_vectors_total",
        "reason": 'efface_rejected_total{reason="wrong-dimension"}',
        "timed": "efface_request_seconds_count",
        "in flight": "efface_in_flight",
        "held": "efface_held_bytes",
    }
    before = {key: running.metric(name) for key, name in names.items()}
    with running.client() as client:
        client.post("/v1/erase", content=rows(7).tobytes(), headers=BINARY)
        client.post("/v1/erase", content=rows(5).tobytes(), headers=BINARY)
        client.post("/v1/erase", content=b"123", headers=BINARY)
    change = {key: running.metric(name) - before[key] for key, name in names.items()}
    assert change == {
        "ok": 2, "refused": 1, "vectors": 12, "reason": 1, "timed": 3, "in flight": 0, "held": 0,
    }  # fmt: skip
    labels = f'{{projector="{served.eraser.digest()}",version="{__version__}"}}'
    assert running.metric(f"efface_info{labels}") == 1


def test_the_api_describes_itself_with_examples_that_work(client: httpx.Client) -> None:
    api = client.get("/openapi.json").json()
    assert set(api["paths"]) == {"/v1/erase", "/v1/projector", "/healthz", "/metrics"}
    post = api["paths"]["/v1/erase"]["post"]
    assert set(post["requestBody"]["content"]) == {BINARY["content-type"], JSON["content-type"]}
    assert {"200", "413", "415", "422", "503"} <= set(post["responses"])
    examples = post["requestBody"]["content"]["application/json"]["examples"]
    assert len(examples) == 2
    for example in examples.values():
        assert client.post("/v1/erase", json=example["value"]).status_code == 200
    assert "swagger" in client.get("/docs").text
