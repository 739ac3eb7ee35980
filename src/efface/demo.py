"""The whole way on a world with known truth: what ``make demo`` runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from efface import api
from efface.data import synthetic
from efface.data.apply import apply_file
from efface.data.atomic import atomic_write
from efface.export.safetensors import load_eraser, save_eraser
from efface.results import Worst
from efface.types import Samples


def run(folder: Path, seed: int) -> Iterator[str]:
    """Write the world, fit, apply and report into ``folder``; yield a line for each step."""
    world = synthetic.embedding_world(people=300, images=8, seed=seed)
    samples = world.samples
    vectors = folder / "embeddings.parquet"
    _write(samples, vectors)
    yield f"1. a world of {len(samples.people)} people, {len(samples):,} vectors: {vectors}"

    projector = folder / "projector.safetensors"
    eraser, _ = api.fit_projector(samples, "isp", target=0.10, far=1e-2, seed=seed)
    save_eraser(eraser, projector, metadata={"dataset": samples.dataset})
    yield (
        f"2. ISP fitted on {eraser.identities} of them, removes {eraser.rank} of {eraser.dim} "
        f"directions: {projector}"
    )

    clean = folder / "embeddings-clean.parquet"
    rows = apply_file(load_eraser(projector).transform, vectors, clean)
    yield f"3. {rows:,} vectors went through it: {clean}"

    yield "4. every attacker on the vectors before and after ..."
    report = api.audit(
        samples,
        protections=[load_eraser(projector)],
        far=1e-2,
        fail_above=0.10,
        seed=seed,
        utility=[synthetic.utility_world(world, seed=seed + 2),
                 synthetic.copies_world(world, seed=seed + 3)],
        command="efface demo",
    )  # fmt: skip
    report.save(folder)
    before, after = report.worst("raw"), report.worst()
    yield f"   before: {_line(before)}"
    yield f"   after:  {_line(after)}"
    yield f"   {report.verdict.headline}"
    yield f"5. the report: {folder / 'report.html'}"


def _line(worst: Worst) -> str:
    return f"worst-case TAR at FAR 1e-2: {worst.tar} by {worst.attacker}"


def _write(samples: Samples, path: Path) -> None:
    flat = pa.array(samples.data.ravel())
    table = pa.table({
        "identity": samples.names[samples.identity].tolist(),
        "embedding": pa.FixedSizeListArray.from_arrays(flat, samples.dim),
    })  # fmt: skip
    with atomic_write(path) as partial:
        pq.write_table(table, partial)
