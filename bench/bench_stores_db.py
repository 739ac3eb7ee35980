"""PostgreSQL with pgvector and Qdrant: rows per second into a store, with and without a projector.

Three ways to fill a table or collection: raw vectors by the client's own fast path, the same with
the projector before it, and ``efface apply`` from a store into a new one, which reads, erases,
hashes, journals and verifies besides. Then exact search in what efface wrote is compared with
search among vectors that were projected first.

    python bench/bench_stores_db.py [--rows 20000] [--dim 256] [--rank 32]
        [--stores postgres qdrant] [--folder DIR]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from efface.protect.linear.eraser import LinearEraser
from efface.stores.address import Address, open_sink, open_source
from efface.stores.engine import apply_store
from machine import describe

QUERIES, NEAREST = 50, 10


class Bench(Protocol):
    name: str

    def fill(self, table: str, vectors: np.ndarray) -> None: ...

    def address(self, table: str) -> Address: ...

    def nearest(self, table: str, query: np.ndarray) -> list[int]: ...


@dataclass
class Postgres:
    uri: str
    name: str = "PostgreSQL, pgvector"

    def fill(self, table: str, vectors: np.ndarray) -> None:
        """COPY in binary, which is the fastest way in that psycopg and pgvector have."""
        with self._connect() as connection:
            connection.execute(
                f"CREATE TABLE {table} (id bigint PRIMARY KEY, vec vector({vectors.shape[1]}))"
            )
            query = f"COPY {table} FROM STDIN (FORMAT binary)"
            with connection.cursor() as cursor, cursor.copy(query) as copy:
                copy.set_types(["int8", "vector"])
                for row, vector in enumerate(vectors):
                    copy.write_row((row, vector))

    def address(self, table: str) -> Address:
        return Address("postgres", self.uri, table)

    def nearest(self, table: str, query: np.ndarray) -> list[int]:
        with self._connect() as connection:
            text = f"SELECT id FROM {table} ORDER BY vec <#> %s LIMIT {NEAREST}"
            return [row for (row,) in connection.execute(text, (query,))]

    def _connect(self) -> Any:
        import psycopg
        from pgvector.psycopg import register_vector

        connection = psycopg.connect(self.uri, autocommit=True)
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)
        return connection


@dataclass
class Qdrant:
    folder: str
    name: str = "Qdrant, embedded"

    def fill(self, table: str, vectors: np.ndarray) -> None:
        from qdrant_client import models

        with self._client() as client:
            params = models.VectorParams(size=vectors.shape[1], distance=models.Distance.DOT)
            client.create_collection(table, vectors_config=params)
            client.upload_collection(table, vectors=vectors, ids=range(len(vectors)))

    def address(self, table: str) -> Address:
        return Address("qdrant", self.folder, table)

    def nearest(self, table: str, query: np.ndarray) -> list[int]:
        from efface.stores.qd import connect

        client = connect.opened(self.folder).client
        found = client.query_points(table, query=query.tolist(), limit=NEAREST)
        return [int(point.id) for point in found.points]

    @contextmanager
    def _client(self) -> Iterator[Any]:
        from qdrant_client import QdrantClient

        client = QdrantClient(path=self.folder)
        yield client
        client.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--stores", nargs="+", default=["postgres", "qdrant"])
    parser.add_argument("--folder", help="where the stores lie; a temporary folder")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", "Local mode is not recommended")
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((args.rows, args.dim), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    eraser = LinearEraser(np.linalg.qr(rng.normal(size=(args.dim, args.rank)))[0])
    print(f"{describe()}\n\n{args.rows:,} x {args.dim} float32, rank {args.rank}\n")
    print("| store | raw, rows/s | projected, rows/s | `efface apply`, rows/s | "
          f"recall@{NEAREST} |\n|---|---|---|---|---|")  # fmt: skip
    same = [measure(store, vectors, eraser) for store in stores(args.stores, args.folder)]
    return 0 if all(same) else 1


def stores(names: list[str], folder: str | None) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="bench", dir=folder) as made:
        os.chmod(made, 0o755)  # the server runs as another user where this runs as root
        if "postgres" in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import pgserver
            server = pgserver.get_server(Path(made) / "pg", cleanup_mode="delete")
            yield Postgres(server.get_uri())
            server.cleanup()
        if "qdrant" in names:
            yield Qdrant(str(Path(made) / "qdrant"))


def measure(store: Bench, vectors: np.ndarray, eraser: LinearEraser) -> bool:
    clean = eraser.transform(vectors).astype(np.float32)
    store.fill("warm", vectors[:100])  # imports and a first connection are not what is measured
    raw = timed(lambda: store.fill("raw", vectors))
    projected = timed(lambda: store.fill("projected", eraser.transform(vectors)))
    source = open_source(store.address("raw"))
    sink = open_sink(store.address("clean"), source)
    ours = timed(lambda: apply_store(eraser, source, sink))
    found = recall(store, clean)
    speeds = " | ".join(f"{len(vectors) / seconds:,.0f}" for seconds in (raw, projected, ours))
    print(f"| {store.name} | {speeds} | {found:.3f} |", flush=True)
    return found == 1.0


def recall(store: Bench, clean: np.ndarray) -> float:
    """Of the nearest among vectors that were projected first, in what efface wrote."""
    hits = 0
    for query in clean[:: max(1, len(clean) // QUERIES)][:QUERIES]:
        exact = np.argsort(-(clean @ query), kind="stable")[:NEAREST]
        hits += len(set(exact.tolist()) & set(store.nearest("clean", query)))
    return hits / (NEAREST * min(QUERIES, len(clean)))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
