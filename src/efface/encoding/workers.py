"""Batches through worker processes, in order; a picture that kills its decoder is found out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from efface.encoding.prepare import Batch, Left, Made, Prepare
from efface.scale.runner import DeadlyItem, Processes, Runner, Serial, in_order


def prepared(task: Prepare, batches: Sequence[Batch], start: int, workers: int) -> Iterator[Made]:
    """What the task makes of each batch from ``start`` on."""
    wanted = min(workers, len(batches) - start)
    deadly: set[int] = set()
    with Processes(wanted) if wanted > 1 else Serial() as runner:
        while start < len(batches):
            if start in deadly:
                yield _one_by_one(runner, task, batches[start])
                start += 1
                continue
            base, stop = start, min((d for d in deadly if d > start), default=len(batches))
            try:
                for made in in_order(runner, task, batches[base:stop]):
                    yield made
                    start += 1
            except DeadlyItem as error:
                deadly.add(base + error.index)


def _one_by_one(runner: Runner, task: Prepare, batch: Batch) -> Made:
    made = Made(batch.index)
    images = []
    for entry in batch.entries:
        try:
            [(_, one)] = list(runner.imap(task, [Batch(batch.index, (entry,))]))
        except DeadlyItem:
            why = "every worker process that opened it died"
            made.left.append(Left(entry.name, entry.identity, "deadly", why))
            continue
        made.rows += one.rows
        made.left += one.left
        images += list(one.images)
    made.images = images
    return made
