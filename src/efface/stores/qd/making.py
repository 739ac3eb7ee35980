"""A new collection like another one, and the one beside it that remembers what is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from efface.errors import StoreError
from efface.extras import need
from efface.stores.contract import Done, Job, Shape

JOURNAL = "__efface_journal"
_JOB = 0
"""The id under which the journal keeps the job; part n has id n + 1."""

_PARAMS = ("shard_number", "replication_factor", "write_consistency_factor", "on_disk_payload")


def create(origin: Any, source: str, client: Any, new: str) -> None:
    """Empty, with the vectors, distances and settings of the source."""
    models = need("qdrant_client.models", "qdrant")
    config = origin.get_collection(source).config
    settings: dict[str, Any] = {name: getattr(config.params, name, None) for name in _PARAMS}
    settings["quantization_config"] = config.quantization_config
    settings["metadata"] = getattr(config, "metadata", None)
    settings["hnsw_config"] = _same(models.HnswConfigDiff, config.hnsw_config)
    settings["optimizers_config"] = _same(models.OptimizersConfigDiff, config.optimizer_config)
    client.create_collection(
        new,
        vectors_config=config.params.vectors or {},
        sparse_vectors_config=config.params.sparse_vectors,
        **{name: value for name, value in settings.items() if value is not None},
    )


def _same(form: Any, settings: Any) -> Any:
    """Settings as they are read, in the form in which they are given."""
    if settings is None:
        return None
    held = settings.model_dump(exclude_none=True)
    return form(**{name: held[name] for name in form.model_fields if name in held})


def create_payload_indexes(origin: Any, source: str, client: Any, new: str) -> None:
    for name, schema in (origin.get_collection(source).payload_schema or {}).items():
        client.create_payload_index(
            new, field_name=name, field_schema=schema.params or schema.data_type, wait=True
        )


def put(client: Any, collection: str, points: Sequence[Any], size: int) -> None:
    """Points under their ids; one that is there already is replaced."""
    struct = need("qdrant_client.models", "qdrant").PointStruct
    for start in range(0, len(points), size):
        batch = [
            struct(id=point.id, payload=point.payload, vector=point.others)
            for point in points[start : start + size]
        ]
        client.upsert(collection, batch, wait=True)


def begin_journal(client: Any, journal: str, job: Job) -> None:
    client.create_collection(journal, vectors_config={})
    hand_over(client, journal, job)


def hand_over(client: Any, journal: str, job: Job) -> None:
    """What is done, and will be done, counts for this job."""
    _remember(client, journal, _JOB, asdict(job))


def add(client: Any, journal: str, done: Done) -> None:
    _remember(client, journal, done.index + 1, asdict(done))


def _remember(client: Any, journal: str, number: int, payload: dict[str, Any]) -> None:
    struct = need("qdrant_client.models", "qdrant").PointStruct
    client.upsert(journal, [struct(id=number, payload=payload, vector={})], wait=True)


def job(client: Any, journal: str) -> Job | None:
    found = client.retrieve(journal, [_JOB], with_payload=True)
    if not found:
        return None
    known = {name: found[0].payload.get(name) for name in (f.name for f in fields(Job))}
    return Job(**{**known, "shape": Shape(**known["shape"])})


def done(client: Any, journal: str) -> list[Done]:
    """The parts that count, from the first on."""
    found: list[Done] = []
    offset: int | None = _JOB + 1
    while offset is not None:
        page, offset = client.scroll(journal, limit=1_000, offset=offset, with_payload=True)
        found += [Done(**record.payload) for record in page]
    if [one.index for one in found] != list(range(len(found))):
        raise StoreError(
            f"{journal}: parts are missing between others: it was changed by hand (delete it and "
            "the unfinished collection, then start again)"
        )
    return found


def differing(one: Job, other: Job) -> str:
    """Which properties tell two jobs apart, for a message."""
    names = [f.name for f in fields(Job) if getattr(one, f.name) != getattr(other, f.name)]
    return ", ".join(name.replace("_", " ") for name in names)
