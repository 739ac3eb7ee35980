"""Weights over HTTP: taken up where they stopped, digested, and never under a wrong name."""

from __future__ import annotations

import hashlib
import socket
import urllib.error
from pathlib import Path
from typing import Any

import pytest
from weight_server import Behaviour, serving

from efface.encoders.manifest import File, Model
from efface.encoders.pull import Pull
from efface.encoders.shelf import RECORD, Shelf
from efface.errors import ArtefactError

DATA = bytes(range(256)) * 5000
SHA = hashlib.sha256(DATA).hexdigest()


def model(url: str, sha256: str | None = SHA, **changes: Any) -> Model:
    file = File(name="weights.bin", url=url, sha256=sha256, bytes=changes.pop("bytes", None))
    about = {"kind": "onnx", "summary": "s", "page": "https://example.org", "licence": "MIT",
             "terms": "free"}  # fmt: skip
    return Model(**{**about, **changes}, files=[file])  # type: ignore[arg-type]


@pytest.fixture
def pull(tmp_path: Path) -> Pull:
    """Without waiting between tries; what it would have waited is in ``waits``."""
    waits: list[float] = []
    made = Pull(Shelf(tmp_path / "models"), sleep=waits.append, tries=3)
    made.waits = waits  # type: ignore[attr-defined]
    return made


def target(pull: Pull) -> Path:
    return pull.shelf.folder / "m" / "weights.bin"


def left(pull: Pull) -> set[str]:
    """What lies in the model's folder."""
    return {path.name for path in target(pull).parent.iterdir()}


def test_a_file_is_fetched_whole_and_verified(pull: Pull) -> None:
    told: list[tuple[int, int]] = []
    pull.progress = lambda done, total: told.append((done, total))
    with serving(Behaviour(DATA)) as server:
        (said,) = pull.model("m", model(server.url))
    assert target(pull).read_bytes() == DATA
    assert "fetched and verified" in said
    assert left(pull) == {"weights.bin"}
    assert told[-1] == (len(DATA), len(DATA))
    assert [found.state for found in pull.shelf.look("m", model(""))] == ["verified"]


def test_a_dropped_connection_goes_on_where_it_stopped(pull: Pull) -> None:
    with serving(Behaviour(DATA, drops=[300_000, 400_000])) as server:
        pull.model("m", model(server.url))
    assert server.seen == ["", "bytes=300000-", "bytes=700000-"]
    assert target(pull).read_bytes() == DATA
    assert len(pull.waits) == 2  # type: ignore[attr-defined]


def test_another_day_goes_on_where_the_last_one_stopped(pull: Pull) -> None:
    with serving(Behaviour(DATA, drops=[1000, 0, 0])) as server:
        with pytest.raises(ArtefactError, match=r"1,000 bytes are kept.*By hand: .*put weights"):
            pull.model("m", model(server.url))
        assert left(pull) == {"weights.bin.partial", "weights.bin.partial.json"}
        server.seen.clear()
        pull.model("m", model(server.url))
        assert server.seen == ["bytes=1000-"]
    assert target(pull).read_bytes() == DATA
    assert left(pull) == {"weights.bin"}


@pytest.mark.parametrize("change", ["tag", "no ranges", "no tag"])
def test_a_file_that_may_have_changed_is_fetched_anew(pull: Pull, change: str) -> None:
    old = DATA[::-1]
    with serving(
        Behaviour(old, drops=[1000, 0, 0], tag=None if change == "no tag" else '"a"')
    ) as s:
        with pytest.raises(ArtefactError):
            pull.model("m", model(s.url))
        s.data = DATA
        if change == "tag":
            s.tag = '"b"'
        s.ranges = change != "no ranges"
        pull.model("m", model(s.url))
    assert target(pull).read_bytes() == DATA


@pytest.mark.parametrize("held", [DATA, DATA + b"more"], ids=["all", "more"])
def test_all_held_is_accepted_and_more_than_there_is_starts_again(pull: Pull, held: bytes) -> None:
    folder = target(pull).parent
    folder.mkdir(parents=True)
    (folder / "weights.bin.partial").write_bytes(held)
    (folder / "weights.bin.partial.json").write_text('{"validator": "\\"one\\""}')
    with serving(Behaviour(DATA)) as server:
        pull.model("m", model(server.url))
    assert target(pull).read_bytes() == DATA
    assert len(server.seen) == (1 if held == DATA else 2)


def test_the_wrong_digest_gets_no_name_and_leaves_nothing(pull: Pull) -> None:
    says = f"has SHA-256 .*the publisher's file has {SHA}"
    with (
        serving(Behaviour(DATA[:-1] + b"\0")) as server,
        pytest.raises(ArtefactError, match=says),
    ):
        pull.model("m", model(server.url))
    assert left(pull) == set()


def test_a_wrong_file_that_is_there_is_named_and_not_replaced(pull: Pull) -> None:
    target(pull).parent.mkdir(parents=True)
    target(pull).write_bytes(b"something else")
    with pytest.raises(ArtefactError, match="remove it and pull again"):
        pull.model("m", model("http://127.0.0.1:9/x"))
    assert target(pull).read_bytes() == b"something else"


def test_what_is_there_is_not_fetched_again(pull: Pull) -> None:
    with serving(Behaviour(DATA)) as server:
        pull.model("m", model(server.url))
        server.seen.clear()
        (said,) = pull.model("m", model(server.url))
    assert server.seen == []
    assert said.endswith("is there")


def test_without_a_known_digest_it_is_never_called_verified(pull: Pull) -> None:
    with serving(Behaviour(DATA)) as server:
        unknown = model(server.url, sha256=None)
        (said,) = pull.model("m", unknown)
    assert "unverified" in said
    assert SHA in said
    assert left(pull) == {"weights.bin", RECORD}
    assert pull.shelf.look("m", unknown)[0].state == "unverified"
    target(pull).write_bytes(b"other")
    assert pull.shelf.look("m", unknown)[0].state == "changed"
    (pull.shelf.folder / "m" / RECORD).write_text("{")
    assert pull.shelf.look("m", unknown)[0].state == "unverified"


def test_a_wrong_length_stops_before_the_bytes(pull: Pull) -> None:
    says = "1,280,000 bytes long, expected are 7"
    with serving(Behaviour(DATA)) as server, pytest.raises(ArtefactError, match=says):
        pull.model("m", model(server.url, bytes=7))


def test_a_server_without_a_length_is_believed_if_the_digest_is_right(pull: Pull) -> None:
    with serving(Behaviour(DATA, length=False)) as server:
        pull.model("m", model(server.url))
    assert target(pull).read_bytes() == DATA


@pytest.mark.parametrize(
    ("statuses", "says"),
    [
        ([404], "has it no more"),
        ([401], "asks for a login"),
        ([403], "does not give it to everybody"),
        ([503, 503, 503], "the server answered 503"),
    ],
)
def test_answers_that_end_it(pull: Pull, statuses: list[int], says: str) -> None:
    with (
        serving(Behaviour(DATA, statuses=statuses)) as server,
        pytest.raises(ArtefactError, match=f"{says}.*put weights.bin from {server.url} at"),
    ):
        pull.model("m", model(server.url))


def test_a_server_that_recovers_is_asked_again(pull: Pull) -> None:
    with serving(Behaviour(DATA, statuses=[503, 429])) as server:
        pull.model("m", model(server.url))
    assert target(pull).read_bytes() == DATA


def test_without_a_network_it_says_what_to_put_where(pull: Pull) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    url = f"http://127.0.0.1:{port}/weights.bin"
    with pytest.raises(ArtefactError) as caught:
        pull.model("m", model(url))
    said = str(caught.value)
    for part in (url, str(target(pull)), SHA, "efface models verify m"):
        assert part in said
    assert left(pull) == set()


def test_a_name_that_is_unknown_is_asked_once(pull: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def nobody(*_: object, **__: object) -> None:
        asked.append(1)
        raise urllib.error.URLError(socket.gaierror(-2, "Name or service not known"))

    monkeypatch.setattr("urllib.request.urlopen", nobody)
    with pytest.raises(ArtefactError, match="Name or service not known"):
        pull.model("m", model("https://nowhere.invalid/weights.bin"))
    assert asked == [1]


@pytest.mark.parametrize("terms", ["non-commercial", "gated", "unclear"])
def test_terms_are_said_before_anything_is_fetched(pull: Pull, terms: str) -> None:
    with serving(Behaviour(DATA)) as server:
        strict = model(server.url, terms=terms, licence="Some licence", notice="Not for sale.")
        with pytest.raises(ArtefactError, match=f"{terms}; licence: Some licence. Not for sale"):
            pull.model("m", strict)
        assert server.seen == []
        assert not target(pull).parent.exists()
        pull.model("m", strict, accept=True)
    assert target(pull).read_bytes() == DATA


def test_what_is_fetched_by_hand_is_never_fetched(pull: Pull) -> None:
    by_hand = model("", by_hand="log in and agree", terms="gated")
    with pytest.raises(ArtefactError, match=r"gated.*by hand: m: log in and agree; put weights"):
        pull.model("m", by_hand, accept=True)


def test_plain_http_needs_a_digest(pull: Pull) -> None:
    with pytest.raises(ArtefactError, match="neither https nor a known SHA-256"):
        pull.model("m", model("http://example.org/weights.bin", sha256=None))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(ArtefactError, match="choose another folder with --models"):
        Pull(Shelf(tmp_path / "models")).model("m", model("http://127.0.0.1:9/x"))
