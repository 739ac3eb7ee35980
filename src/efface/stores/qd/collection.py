"""What a collection is made of, and its points in the order of their ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from efface.errors import StoreError
from efface.registry import nearest

UNNAMED = ""
_REQUEST = 8 << 20
_DIGITS = 12
"""Bytes of one number in JSON, roughly."""
_IDS = 10_000


@dataclass(frozen=True)
class Field:
    """The vector of the points that is erased."""

    name: str
    dim: int
    dtype: str
    cosine: bool


@dataclass(frozen=True)
class Point:
    """What a point has beside the erased vector."""

    id: int | str
    payload: dict[str, Any] | None
    others: dict[str, Any]


def names(client: Any) -> tuple[set[str], dict[str, str]]:
    """Collections, and the collection of every alias."""
    aliases = client.get_aliases().aliases
    return (
        {c.name for c in client.get_collections().collections},
        {a.alias_name: a.collection_name for a in aliases},
    )


def require(client: Any, collection: str, where: str) -> None:
    real, aliases = names(client)
    if collection not in real and collection not in aliases:
        raise StoreError(f"{where}: no such collection{nearest(collection, [*real, *aliases])}")


def field(client: Any, collection: str, embedding: str | None, where: str) -> Field:
    """The dense vector of that name, or the only one."""
    params = client.get_collection(collection).config.params
    if getattr(params, "sharding_method", None) == "custom":
        raise StoreError(f"{where}: points with shard keys of their own are not supported")
    vectors = params.vectors or {}
    dense = vectors if isinstance(vectors, Mapping) else {UNNAMED: vectors}
    name = embedding if embedding is not None else _only(dense, where)
    if name not in dense:
        named = ", ".join(n or "the unnamed one" for n in dense) or "none"
        raise StoreError(f"{where}: no dense vector {name!r} (there is: {named})")
    found = dense[name]
    if found.multivector_config is not None:
        raise StoreError(f"{where}: vector {name!r} is a multivector, of several rows per point")
    dtype = getattr(found.datatype, "value", found.datatype) or "float32"
    if dtype not in ("float32", "float16"):
        raise StoreError(f"{where}: vector {name!r} is kept as {dtype}, which cannot hold it")
    cosine = getattr(found.distance, "value", found.distance) == "Cosine"
    return Field(name, found.size, dtype, cosine)


def _only(dense: Mapping[str, Any], where: str) -> str:
    if len(dense) == 1:
        return next(iter(dense))
    raise StoreError(
        f"{where}: {len(dense)} dense vectors: choose one with --embedding ({', '.join(dense)})"
        if dense
        else f"{where}: the collection has no dense vectors"
    )


def ids(client: Any, collection: str) -> Iterator[int | str]:
    """All ids in their order: numbers first, then UUIDs."""
    offset = None
    while True:
        page, offset = client.scroll(
            collection, limit=_IDS, offset=offset, with_payload=False, with_vectors=False
        )
        yield from (record.id for record in page)
        if offset is None:
            return


def run(client: Any, collection: str, first: int | str, rows: int, dim: int) -> tuple[Any, Any]:
    """Records from one id on, and the id that follows them."""
    found: list[Any] = []
    offset: int | str | None = first
    while offset is not None and len(found) < rows:
        page, offset = client.scroll(
            collection,
            limit=min(batch(dim), rows - len(found)),
            offset=offset,
            with_payload=True,
            with_vectors=True,
        )
        found += page
    return found, offset


def batch(dim: int) -> int:
    """Points per request: a server takes 32 MB at most unless it is told otherwise."""
    return max(1, min(2_000, _REQUEST // (dim * _DIGITS)))


def vectors_of(record: Any) -> dict[str, Any]:
    """A record's vectors by name, whether or not they have one."""
    held = record.vector
    if held is None:
        return {}
    return dict(held) if isinstance(held, Mapping) else {UNNAMED: held}
