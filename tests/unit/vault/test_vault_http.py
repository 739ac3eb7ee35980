"""The vault over HTTP: a real server, what it answers, and what it never says."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn
from starlette.requests import Request
from vault_world import closing, face, l2fe, made, traces

from efface.errors import PlanError
from efface.protect.template import Hardening
from efface.serve.limits import Limits
from efface.serve.server import listen, settings
from efface.vault.access import Access
from efface.vault.app import create_app
from efface.vault.attempts import Rule, Rules

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
TOKEN = "a token of some length"
BEARER = {"authorization": f"Bearer {TOKEN}"}
RULES = Rules(Rule(4, 900.0), Rule(12, 900.0))
PATIENCE = 20.0


@contextmanager
def serving(vault: Any, access: Access, limits: Limits | None = None) -> Iterator[httpx.Client]:
    limits = limits or Limits(max_body=1 << 20, concurrency=4)
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    server = uvicorn.Server(settings(create_app(vault, limits, access), limits))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with (
        closing(made(address, l2fe(), rules=RULES)) as vault,
        serving(vault, Access(TOKEN, floor=0.0, source_header="x-source")) as found,
    ):
        yield found


def ask(client: httpx.Client, what: str, user: str, vectors: Any = None, **head: str) -> Any:
    body: dict[str, Any] = {"user": user}
    if vectors is not None:
        body["vectors"] = np.asarray(vectors).tolist()
    return client.post(f"/v1/{what}", json=body, headers={**BEARER, **head})


def problem(response: httpx.Response, status: int, reason: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = response.json()
    assert found["type"] == f"urn:efface:problem:{reason}"
    return found


def test_a_life_in_the_vault(client: httpx.Client) -> None:
    assert ask(client, "enrol", "ann", [face(0), face(0, 1)]).status_code == 201
    problem(ask(client, "enrol", "ann", face(1)), 409, "enrolled-already")
    assert ask(client, "verify", "ann", face(0, 2)).json() == {"accepted": True}
    assert ask(client, "verify", "ann", face(1)).json() == {"accepted": False}
    assert ask(client, "rotate", "ann", face(0, 3)).json() == {"accepted": True}
    assert ask(client, "verify", "ann", [face(0)]).json() == {"accepted": True}
    assert ask(client, "revoke", "ann").json() == {"revoked": True}
    assert ask(client, "verify", "ann", face(0)).json() == {"accepted": False}
    problem(ask(client, "revoke", "ann"), 404, "not-found")
    assert client.get("/healthz").json() == {"status": "ok"}
    text = client.get("/metrics").text
    assert 'efface_requests_total{status="201"} 1.0' in text
    assert 'efface_rejected_total{reason="enrolled-already"} 1.0' in text


def test_all_failures_are_one_answer(client: httpx.Client) -> None:
    ask(client, "enrol", "ann", face(0))
    ask(client, "enrol", "gone", face(1))
    ask(client, "revoke", "gone")
    answers = [
        ask(client, what, name, face(9))
        for what in ("verify", "rotate") for name in ("ann", "nobody", "gone")
    ]  # fmt: skip
    assert len({(a.status_code, a.content, _head(a)) for a in answers}) == 1
    assert answers[0].json() == {"accepted": False}


def _head(answer: httpx.Response) -> tuple[str, ...]:
    return tuple(f"{k}: {v}" for k, v in answer.headers.items() if k != "date")


@pytest.mark.parametrize("user", ["ann", "nobody"])
def test_after_too_many_tries_it_says_when_to_come_back(client: httpx.Client, user: str) -> None:
    ask(client, "enrol", "ann", face(0))
    for _ in range(4):
        assert ask(client, "verify", user, face(9)).json() == {"accepted": False}
    answer = ask(client, "verify", user, face(0))
    found = problem(answer, 429, "too-many-tries")
    assert int(answer.headers["retry-after"]) == found["wait"] == 225
    for number in range(8):
        ask(client, "verify", f"{number}", face(9))
    problem(ask(client, "verify", "else", face(9)), 429, "too-many-tries")
    other = ask(client, "verify", "else", face(9), **{"x-source": "10.0.0.9"})
    assert other.json() == {"accepted": False}


@pytest.mark.parametrize("what", ["enrol", "rotate", "revoke"])
def test_what_changes_people_needs_the_token(client: httpx.Client, what: str) -> None:
    for wrong in ("", "Bearer", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer é"):
        head = {"authorization": wrong.encode()}
        answer = client.post(f"/v1/{what}", json={"user": "ann"}, headers=head)
        problem(answer, 401, "not-allowed")


def test_without_a_token_only_verification_is_there(tmp_path: Any) -> None:
    with (
        closing(made(str(tmp_path / "v.db"))) as vault,
        serving(vault, Access(floor=0.0)) as client,
    ):
        vault.enrol("ann", face(0))
        assert ask(client, "verify", "ann", face(0, 1)).json() == {"accepted": True}
        for what in ("enrol", "rotate", "revoke"):
            problem(ask(client, what, "ann", face(0)), 404, "no-such-path")
        about = client.get("/v1/vault").json()
        assert about["scheme"] == "mrp"
        assert "broken" in about["verdict"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 422),
        (b'{"user":"ann"}', 422),
        (b'{"user":"ann","vectors":[]}', 422),
        (b'{"user":"ann","vectors":5}', 422),
        (b'{"user":"ann","vectors":[[1,2]]}', 422),
        (b'{"user":"ann","vectors":[["a"]]}', 422),
        (b'{"user":5,"vectors":[[1]]}', 422),
        (b'{"user":"","vectors":[[1]]}', 422),
        (b'{"user":"a\\u0000","vectors":[[1]]}', 422),
        (b'{"user":"ann","vectors":[[1]],"more":1}', 422),
        (b'{"user":"ann","vectors":' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
        (json.dumps({"user": "ann", "vectors": [[0.0] * 32]}).encode(), 422),
        (json.dumps({"user": "ann", "vectors": [[0.5] * 32]}).encode(), 422),
        (json.dumps({"user": "ann", "vectors": [[1e39] + [1.0] * 31]}).encode(), 422),
        (json.dumps({"user": "ann", "vectors": [[1.0, 2.0] * 16] * 65}).encode(), 413),
        (b'{"user":"ann","vectors":[' + b" " * (1 << 20) + b"]}", 413),
    ],
)
def test_bad_bodies_are_refused_and_cost_no_try(
    client: httpx.Client, body: bytes, status: int
) -> None:
    answer = client.post("/v1/verify", content=body, headers={"content-type": "application/json"})
    if b"[" * 100 in body:
        assert answer.status_code in (400, 413, 422)
    else:
        assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    other = client.post("/v1/verify", content=body, headers={"content-type": "text/plain"})
    problem(other, 415, "wrong-media-type")


def test_no_vector_in_answers_metrics_or_logs(
    tmp_path: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpcore", "httpx"):
        caplog.set_level(logging.WARNING, logger=name)  # the client's own
    bad = face(3).astype(float).tolist()
    spoken = b""
    with (
        closing(made(str(tmp_path / "v.db"), l2fe(), rules=RULES)) as vault,
        serving(vault, Access(TOKEN, floor=0.0)) as client,
    ):
        for answer in (
            ask(client, "enrol", "ann", face(0)), ask(client, "verify", "ann", face(0, 1)),
            ask(client, "verify", "ann", face(9)), ask(client, "verify", "ann", bad[:-1]),
            client.post("/v1/verify", content=json.dumps({"user": "ann", "vectors": bad})[:-9],
                        headers={"content-type": "application/json"}),
        ):  # fmt: skip
            spoken += answer.content + repr(answer.headers).encode()
        vault.store.engine.dispose()
        with vault.store.begin() as connection:
            connection.exec_driver_sql("DROP TABLE vault_audit")
        answer = ask(client, "verify", "ann", face(5))
        problem(answer, 503, "unavailable")
        spoken += answer.content + client.get("/metrics").content
    spoken += caplog.text.encode() + "".join(capfd.readouterr()).encode()
    for vector in (face(0), face(0, 1), face(9), face(3), face(5)):
        assert [trace for trace in traces(vector) if trace in spoken] == []


def test_a_refusal_waits_for_the_floor_and_an_acceptance_does_not(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked of the clock of the code, not of this machine's."""
    import asyncio

    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with closing(made(str(tmp_path / "v.db"))) as vault:
        vault.enrol("ann", face(0))
        monkeypatch.setattr("efface.vault.routes.slowest", lambda _: 700.0)
        with serving(vault, Access(floor=5000.0)) as client:
            monkeypatch.setattr("efface.vault.routes.asyncio", _Sleeping(asyncio, sleep))
            assert ask(client, "verify", "ann", face(0)).json() == {"accepted": True}
            assert slept == []
            for name in ("ann", "nobody"):
                assert ask(client, "verify", name, face(9)).json() == {"accepted": False}
            assert len(slept) == 2
            assert all(5600 < seconds <= 5700 for seconds in slept)


class _Sleeping:
    def __init__(self, real: Any, sleep: Any) -> None:
        self.real, self.sleep = real, sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@pytest.mark.parametrize("header", [None, "x-forwarded-for"])
def test_who_says_another_source_each_time_is_still_one(tmp_path: Any, header: str | None) -> None:
    """Without a header that is named nothing is believed; of one that a proxy adds to, its word."""
    with (
        closing(made(str(tmp_path / "v.db"), rules=RULES)) as vault,
        serving(vault, Access(TOKEN, floor=0.0, source_header=header)) as client,
    ):
        for n in range(RULES.source.most):
            proxy = f", 192.0.2.7:{4000 + n}" if header else ""
            said = {"x-forwarded-for": f"10.9.9.{n}{proxy}"}
            assert ask(client, "verify", f"guess {n}", face(9), **said).status_code == 200
        problem(ask(client, "verify", "ann", face(9), **said), 429, "too-many-tries")
        if header:
            head = [*BEARER.items(), (header, "192.0.2.8"), (header, "192.0.2.7")]
            body = {"user": "ann", "vectors": face(9).tolist()}
            answer = client.post("/v1/verify", json=body, headers=head)
            problem(answer, 429, "too-many-tries")
            assert ask(client, "verify", "ann", face(9), **{header: "192.0.2.8"}).status_code == 200


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("evil, 192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:4711", "192.0.2.7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("a name", "a name"),
        ("", "unknown"),
    ],
)
def test_the_source_of_a_header_is_its_last_word(said: str, source: str) -> None:
    scope = {"type": "http", "headers": [(b"x-source", said.encode())], "client": ("127.0.0.1", 9)}
    assert Access(source_header="x-source").source(Request(scope)) == source
    assert Access().source(Request(scope)) == "127.0.0.1"


@pytest.mark.parametrize("given", [{"token": "short"}, {"floor": -1.0}, {"floor": float("inf")}])
def test_access_that_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as said:
        Access(**given)
    assert "short is" not in str(said.value)


def test_another_number_of_pictures_is_said_whoever_is_asked_for(address: str) -> None:
    scheme = l2fe(hardening=Hardening(radius_images=2, radius_tries=2))
    with closing(made(address, scheme)) as vault, serving(vault, Access(TOKEN, 0.0)) as client:
        enrolled = ask(client, "enrol", "ann", face(0)).json()
        assert enrolled["warning"].startswith("1 enrolled: the radius is for 2 pictures")
        answers = [ask(client, "verify", user, face(0)).json() for user in ("ann", "nobody")]
        assert [answer["accepted"] for answer in answers] == [True, False]
        assert answers[0]["warning"] == answers[1]["warning"]
        both = [face(0), face(0, 1)]
        assert ask(client, "verify", "ann", both).json() == {"accepted": True}
