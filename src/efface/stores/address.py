"""From what a user types to a store: a path, or ``kind:location#table``.

    vectors.parquet  folder/  vectors.arrow  vectors.npy  vectors.npz  vectors.faiss
    lancedb:PATH#TABLE
    qdrant:PATH#COLLECTION        qdrant:http://host:6333#COLLECTION
    postgresql://user@host/database#TABLE

Each kind is one module with ``open_source`` and ``open_sink``; it is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from efface.errors import StoreError
from efface.registry import nearest
from efface.stores.contract import Sink, Source

FILES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".npy": "npy",
    ".npz": "npz",
    ".faiss": "faiss",
    ".index": "faiss",
}
DATABASES = {
    "lancedb": "lancedb",
    "qdrant": "qdrant",
    "postgresql": "postgres",
    "postgres": "postgres",
}


@dataclass(frozen=True)
class Address:
    """Where a store is. ``location`` may hold a password: never print it, print ``place``."""

    kind: str
    location: str
    table: str = ""
    embedding: str | None = None
    """Column, field or named vector; None where it can be found by itself."""
    key: str | None = None
    """Column that tells rows apart, where the store has no order of its own."""


def parse(text: str, *, embedding: str | None = None, key: str | None = None) -> Address:
    """The address in what was typed; an unknown kind is answered with the known ones."""
    scheme, colon, rest = text.partition(":")
    # A letter before a colon is a drive; a kind has more.
    if colon and len(scheme) > 1 and "/" not in scheme and "\\" not in scheme:
        return _database(text, scheme.lower(), rest, embedding, key)
    kind = "parquet" if Path(text).is_dir() else FILES.get(Path(text).suffix.lower())
    if kind is None and not Path(text).suffix:
        kind = "parquet"  # a folder of Parquet files that is still to be made
    if kind is None:
        raise StoreError(
            f"{text}: unknown kind of store {Path(text).suffix!r} (known endings: "
            f"{', '.join(FILES)}; a folder of Parquet files; {', '.join(DATABASES)} addresses)"
        )
    return Address(kind, text, "", embedding, key)


def _database(text: str, scheme: str, rest: str, embedding: str | None, key: str | None) -> Address:
    kind = DATABASES.get(scheme)
    if kind is None:
        raise StoreError(f"no store of kind {scheme!r}{nearest(scheme, list(DATABASES))}")
    location, _, table = (text if kind == "postgres" else rest).rpartition("#")
    if not location or not table:
        raise StoreError(
            f"{scheme}: the address needs a place and a table: {scheme}:PLACE#TABLE"
            if kind != "postgres"
            else f"{scheme}: the address needs a table: postgresql://user@host/database#TABLE"
        )
    return Address(kind, location, table, embedding, key)


def open_source(address: Address) -> Source:
    source: Source = _module(address.kind).open_source(address)
    return source


def open_sink(address: Address, source: Source) -> Sink:
    """A new store for the rows of ``source``, with its columns and types."""
    sink: Sink = _module(address.kind).open_sink(address, source)
    return sink


def _module(kind: str) -> Any:
    return importlib.import_module(f"efface.stores.{kind}")
