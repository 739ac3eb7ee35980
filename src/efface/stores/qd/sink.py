"""A new collection under a name of its own; the target's name becomes an alias of it at the end.

Points first, then the journal: a part that was written and not remembered is written once more
under the same ids, so nothing is lost or doubled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import StoreError
from efface.extras import need
from efface.stores.address import Address
from efface.stores.contract import Chunk, Done, Job, Part, Source
from efface.stores.qd import collection, connect, making
from efface.stores.qd.collection import Point
from efface.stores.qd.connect import Opened
from efface.stores.qdrant import QdrantSource, open_source

BEFORE = "__before_efface"
_UNIT = 1e-6
"""A server leaves a vector alone whose squared length is this near to one."""


@dataclass
class QdrantSink:
    location: str = field(repr=False)
    target: str
    origin: QdrantSource
    _opened: Opened | None = field(default=None, repr=False)
    _job: Job | None = None

    @property
    def place(self) -> str:
        return connect.place(self.location, self.target)

    @property
    def local_only(self) -> bool:
        return self.origin.local_only or not connect.is_remote(self.location)

    @property
    def client(self) -> Any:
        if self._opened is None:
            self._opened = connect.opened(self.location)
        return self._opened.client

    @property
    def journal(self) -> str:
        return self.target + making.JOURNAL

    def begin(self, job: Job, *, resume: bool) -> Sequence[Done]:
        self._job = job
        with connect.speaking(self.place):
            real, aliases = collection.names(self.client)
            known = making.job(self.client, self.journal) if self.journal in real else None
            if self.target in real or self.target in aliases:
                self._may_be_finished(known, job, resume)
            elif known is not None and self._is_unfinished(known, real, aliases):
                self._go_on(known, job, real)
            else:
                self._create(job, real)
            return making.done(self.client, self.journal)

    def prepare(self, part: Part, chunk: Chunk, vectors: NDArray[Any]) -> list[Point]:
        """Points as they will be stored, with the new vector among the others."""
        has = np.ones(len(vectors), np.bool_) if chunk.present is None else chunk.present
        if self.origin.vector.cosine:
            self._require_unit(part, vectors[has])
        name = self.origin.vector.name
        return [
            Point(
                point.id,
                point.payload,
                {**point.others, name: vector.tolist()} if there else point.others,
            )
            for point, vector, there in zip(chunk.rest, vectors, has, strict=True)
        ]

    def commit(self, part: Part, prepared: Sequence[Point], done: Done) -> None:
        if self._job is None:
            raise StoreError(f"{self.place}: nothing was begun: call begin first")
        size = collection.batch(self.origin.shape.dim)
        with connect.speaking(self.place):
            making.put(self.client, self._work(self._job), prepared, size)
            making.add(self.client, self.journal, done)

    def finish(self) -> None:
        with connect.speaking(self.place):
            _, aliases = collection.names(self.client)
            job = making.job(self.client, self.journal)
            if job is None:
                raise StoreError(f"{self.place}: its journal is gone: start again")
            if aliases.get(self.target) != self._work(job):
                self._complete(job)
            if self._opened is not None:
                self._opened.reopen()

    def written(self, part: Part, done: Done) -> NDArray[Any]:
        return self._finished().held(part, done.rows)

    def source(self) -> Source:
        return self._finished()

    def swap(self, live: str) -> None:
        """One request moves the alias; whoever uses it sees the old points, then the new ones."""
        live = live.rpartition("#")[2]
        with connect.speaking(self.place):
            real, aliases = collection.names(self.client)
            new, old = aliases.get(self.target), aliases.get(live)
            if new is None:
                raise StoreError(f"{self.place}: not finished yet: it cannot become {live}")
            if old == new:
                return
            if old is None:
                raise StoreError(self._no_alias(live, live in real))
            self._refuse_changed(old)
            self.client.update_collection_aliases(
                [
                    *_moved(live, new),
                    *_moved(live + BEFORE, old, fresh=live + BEFORE not in aliases),
                    _gone(self.target),
                ]
            )
            self.client.delete_collection(self.journal)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def _finished(self) -> QdrantSource:
        return open_source(Address("qdrant", self.location, self.target, self.origin.vector.name))

    def _work(self, job: Job) -> str:
        """The collection's own name for good; the job is in it, so a later one takes another.
        All but the policy, which may be told when rows turn up that need one."""
        text = json.dumps(asdict(replace(job, null="fail")), sort_keys=True)
        return f"{self.target}__efface_{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    # -- begin

    def _is_unfinished(self, known: Job, real: set[str], aliases: dict[str, str]) -> bool:
        """Under an alias it is finished: a swap that died before it could forget the job."""
        work = self._work(known)
        return work in real and work not in aliases.values()

    def _may_be_finished(self, known: Job | None, job: Job, resume: bool) -> None:
        if known is None or not resume:
            raise StoreError(
                f"{self.place}: exists already (choose another name or delete it"
                f"{'; to check a finished run again use --resume' if known == job else ''})"
            )
        if known != job:
            raise StoreError(
                f"{self.place}: finished by another job ({making.differing(known, job)} differs): "
                "choose another name or delete the collection"
            )

    def _go_on(self, known: Job, job: Job, real: set[str]) -> None:
        if job.follows(known):
            making.hand_over(self.client, self.journal, job)
        elif not making.done(self.client, self.journal):
            self.client.delete_collection(self._work(known))
            self._create(job, real - {self._work(known)})
        else:
            raise StoreError(
                f"{self.place}: work of another job is under way "
                f"({making.differing(known, job)} differs): finish that one, or delete "
                f"{self._work(known)} and {self.journal} to start afresh"
            )

    def _create(self, job: Job, real: set[str]) -> None:
        work = self._work(job)
        if work in real:
            self._take_empty(work)
        else:
            making.create(self.origin.client, self.origin.collection, self.client, work)
        if self.journal in real:
            self.client.delete_collection(self.journal)
        making.begin_journal(self.client, self.journal, job)

    def _take_empty(self, work: str) -> None:
        """Made by a run that died right after; with points in it, it is somebody's."""
        if self.client.count(work, exact=True).count:
            raise StoreError(
                f"{self.place}: collection {work} holds points and no journal tells of them: "
                "delete it, or choose another name"
            )

    # -- finish and swap

    def _complete(self, job: Job) -> None:
        done, work = making.done(self.client, self.journal), self._work(job)
        if len(done) != job.parts:
            raise StoreError(
                f"{self.place}: {len(done)} of {job.parts} parts are there: run the same command "
                "again"
            )
        held, wanted = self.client.count(work, exact=True).count, sum(one.rows for one in done)
        if held != wanted:
            raise StoreError(
                f"{self.place}: {held} points where {wanted} were written: somebody changed "
                f"{work}: delete it and start again"
            )
        if not self.local_only:
            making.create_payload_indexes(
                self.origin.client, self.origin.collection, self.client, work
            )
        self.client.update_collection_aliases(_moved(self.target, work, fresh=True))

    def _require_unit(self, part: Part, vectors: NDArray[Any]) -> None:
        """A cosine collection brings vectors to length one itself, and so changes others."""
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        bad = (np.abs(squares - 1) > _UNIT) & (squares > _UNIT)
        if bad.any():
            raise StoreError(
                f"{self.place}: {int(bad.sum())} vectors of part {part.index} have not length one; "
                "a Cosine collection would change them once more (use a projector that "
                "normalises and vectors of float32, or a collection with Dot)"
            )

    def _refuse_changed(self, old: str) -> None:
        """Points written to the live collection after they were read would be lost with it."""
        job = making.job(self.client, self.journal)
        _, aliases = collection.names(self.origin.client)
        source = aliases.get(self.origin.collection, self.origin.collection)
        if job is None or self.location != self.origin.location or source != old:
            return
        if self.origin.fingerprint() != job.fingerprint:
            raise StoreError(
                f"{self.origin.place}: points were written since it was read; they would be lost "
                "with the swap (delete the new collection and run again while nothing writes)"
            )

    def _no_alias(self, live: str, real: bool) -> str:
        if real:
            return (
                f"{self.place}: {live} is a collection, not an alias, and Qdrant cannot rename "
                "collections: let your application use an alias, and swap that one"
            )
        return f"{self.place}: there is no alias {live} to take over"


def _moved(alias: str, to: str, *, fresh: bool = False) -> list[Any]:
    models = need("qdrant_client.models", "qdrant")
    made = models.CreateAlias(collection_name=to, alias_name=alias)
    create = models.CreateAliasOperation(create_alias=made)
    return [create] if fresh else [_gone(alias), create]


def _gone(alias: str) -> Any:
    models = need("qdrant_client.models", "qdrant")
    return models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
