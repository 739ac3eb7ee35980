"""Qdrant: aliases that are swapped, deaths at any moment, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from db_kills import DIM, RANK, killed
from store_erasers import drawn

pytest.importorskip("qdrant_client", reason="no qdrant-client: pip install 'efface[qdrant]'")

from qdrant_places import (
    ERASER,
    IDS,
    PART,
    ROWS,
    Place,
    alias,
    apply,
    collections,
    collections_of,
    contents,
    in_folder,
    load,
    on_server,
    require_erased,
    require_erased_closely,
    some,
)  # fmt: skip
from qdrant_stub import serving

from efface.errors import EffaceWarning, StoreError
from efface.stores.address import open_sink, open_source, parse
from efface.stores.engine import apply_store
from efface.stores.qd import collection, connect


@pytest.fixture
def folder() -> Iterator[Place]:
    with in_folder() as made:
        yield made


@pytest.fixture
def server() -> Iterator[Place]:
    with on_server() as made:
        yield made


@pytest.fixture(params=["folder", "server"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


# --- swap -----------------------------------------------------------------------------------


def test_swap_moves_the_alias_at_once(place: Place) -> None:
    load(place)
    alias(place, "live", "items")
    apply(place, "live").swap("live")
    require_erased(place, "live")
    names, aliases = collections(place)
    assert aliases.keys() == {"live", "live__before_efface"}
    assert aliases["live__before_efface"] == "items"
    assert names == {"items", aliases["live"]}


def test_a_swap_that_cannot_be_or_would_lose_something_is_refused(place: Place) -> None:
    load(place)
    alias(place, "live", "items")
    sink = apply(place, "live")
    for name, says in (
        ("items", "is a collection, not an alias"), ("lave", "there is no alias lave"),
    ):  # fmt: skip
        with pytest.raises(StoreError, match=says):
            sink.swap(name)
    del sink
    with place.look() as client:
        client.delete("items", [5])
    source = open_source(place.address("live"))
    with pytest.raises(StoreError, match="points were written since it was read"):
        open_sink(place.address("clean"), source).swap("live")
    del source
    assert collections(place)[1]["live"] == "items"


def test_a_swap_that_died_before_it_forgot_its_job(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(place)
    alias(place, "live", "items")
    sink = apply(place, "live")

    def die(name: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sink.client, "delete_collection", die)  # type: ignore[attr-defined]
        with pytest.raises(KeyboardInterrupt):
            sink.swap("live")
    del sink
    live = collections(place)[1]["live"]
    apply(place, "live")
    names, aliases = collections(place)
    assert aliases["live"] == live
    assert aliases["clean"] in names - {live}
    require_erased(place, "live")


# --- deaths and refusals --------------------------------------------------------------------


def test_killed_many_times(place: Place) -> None:
    load(place)
    items, clean = (f"qdrant:{place.location}#{name}" for name in ("items", "clean"))
    assert killed(items, clean, part_rows=2, kills=14) >= 2
    before, after = contents(place, "items"), contents(place, "clean")
    assert list(after) == IDS
    for one, want in zip(IDS, ERASER.transform(some()), strict=True):
        assert after[one][0] == before[one][0]
        np.testing.assert_allclose(after[one][1], want, atol=1e-6)
    names, aliases = collections(place)
    assert names == {"items", aliases["clean"], "clean__efface_journal"}


@pytest.mark.parametrize("at", range(1, 12, 2))
def test_a_server_that_refuses_at_some_write_and_then_does_not(server: Place, at: int) -> None:
    load(server)
    assert server.stub is not None
    writes = 0

    def refuse(verb: str, path: str) -> bool:
        nonlocal writes
        write = verb == "PUT" or path == "/collections/aliases"
        writes += write
        return write and writes == at

    server.stub.refuse = refuse
    with pytest.raises(StoreError, match=r"the server says 500.*No space left"):
        apply(server)
    assert "clean" not in collections(server)[1]
    apply(server)
    require_erased(server)


def test_a_server_that_is_gone() -> None:
    with serving() as stub:
        address = parse(f"qdrant:{stub.url}#items")
    with pytest.raises(StoreError, match="the server does not answer"):
        open_source(address)


def test_the_key_comes_from_the_environment_and_is_never_shown(
    server: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(server)
    assert server.stub is not None
    server.stub.key = "open-sesame"
    with pytest.raises(StoreError, match=r"401.*QDRANT_API_KEY"):
        open_source(server.address("items"))
    monkeypatch.setenv(connect.KEY, "open-sesame")
    source = open_source(server.address("items"))
    assert "sesame" not in repr(source) + source.place
    monkeypatch.setenv(connect.KEY, "wrong")
    with pytest.raises(StoreError) as caught:
        open_source(parse(f"qdrant:{server.location}/#items"))
    assert "wrong" not in str(caught.value)
    with pytest.warns(EffaceWarning, match="goes to vectors.example unencrypted"):
        connect.opened("http://vectors.example:6333")
    assert connect.place("http://me:pw@host:6333", "c") == "qdrant:http://host:6333#c"


def test_another_job_is_refused_and_the_same_one_taken_up(place: Place) -> None:
    load(place)

    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(place, progress=stop)
    with pytest.raises(StoreError, match=r"another job is under way .parts, part rows differs"):
        apply(place, part_rows=PART + 1)
    apply(place)
    require_erased(place)
    with pytest.raises(StoreError, match="use --resume"):
        apply(place)
    apply(place, resume=True)
    with pytest.raises(StoreError, match="finished by another job"):
        apply(place, resume=True, part_rows=PART + 1)
    with pytest.raises(StoreError, match="exists already"):
        apply(place, target="items", source="clean", resume=True)


def test_a_target_that_somebody_changed_does_not_get_the_name(place: Place) -> None:
    load(place)

    def disturb(done: int, total: int) -> None:
        if done == total:
            client = place.stub.engine if place.stub else connect.opened(place.location).client
            work = next(n for n in collections_of(client) if n.startswith("clean__efface_")
                        and n != "clean__efface_journal")  # fmt: skip
            client.delete(work, [5])

    with pytest.raises(StoreError, match="39 points where 40 were written"):
        apply(place, progress=disturb)
    assert "clean" not in collections(place)[1]


def test_vectors_that_a_cosine_collection_would_change_are_refused(place: Place) -> None:
    load(place, distance="Cosine")
    source = open_source(place.address("items"))
    sink = open_sink(place.address("clean"), source)
    with pytest.raises(StoreError, match="have not length one"):
        apply_store(drawn(DIM, RANK, normalise=False), source, sink, part_rows=PART)


def test_what_is_not_there_is_said(place: Place, tmp_path: Path) -> None:
    load(place)
    with pytest.raises(StoreError, match=r"no such collection.*items"):
        open_source(place.address("itms"))
    with pytest.raises(StoreError, match="no Qdrant folder"):
        open_source(parse(f"qdrant:{tmp_path}#items"))
    assert not list(tmp_path.iterdir())
    with pytest.raises(StoreError, match="in memory only"):
        open_source(parse("qdrant::memory:#items"))

    class Other:
        place = "vectors.npy"

    with pytest.raises(StoreError, match="another kind of store"):
        open_sink(place.address("clean"), Other())  # type: ignore[arg-type]


def test_many_numbers_go_in_requests_that_a_server_takes(
    server: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(server)
    assert server.stub is not None
    monkeypatch.setattr(collection, "_REQUEST", 1_000)
    apply(server, part_rows=ROWS)
    assert server.stub.largest < 3_000
    assert collection.batch(DIM) == 10
    monkeypatch.undo()
    assert collection.batch(1_536) * 1_536 * 22 < 32 << 20  # a server's limit, 22 digits a number
    require_erased_closely(server)
