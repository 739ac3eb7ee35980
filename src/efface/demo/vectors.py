"""Vectors of a world with known truth: fit, apply, audit before and after."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from efface import api
from efface.data import synthetic
from efface.data.atomic import atomic_write
from efface.export.safetensors import load_eraser, save_eraser
from efface.protect.linear.eraser import LinearEraser
from efface.results import Worst
from efface.stores.address import parse
from efface.stores.receipt import Receipt, default_path
from efface.stores.run import Order
from efface.stores.run import run as run_order
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
    receipt = _apply(load_eraser(projector), vectors, clean)
    yield f"3. {receipt.rows.written:,} vectors went through it: {clean}"

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
    yield f"   before: {line(before)}"
    yield f"   after:  {line(after)}"
    yield f"   {report.verdict.headline}"
    yield f"5. the report: {folder / 'report.html'}"


def _apply(eraser: LinearEraser, vectors: Path, clean: Path) -> Receipt:
    """What ``efface apply`` does; an earlier demo's file of that name makes way."""
    for old in clean.parent.glob(f"{clean.name}*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    source, target = parse(str(vectors)), parse(str(clean))
    return run_order(Order(source, target, default_path(target), workers=1), eraser)


def line(worst: Worst) -> str:
    return f"worst-case TAR at FAR 1e-2: {worst.tar} by {worst.attacker}"


def _write(samples: Samples, path: Path) -> None:
    flat = pa.array(samples.data.ravel())
    table = pa.table({
        "identity": samples.names[samples.identity].tolist(),
        "embedding": pa.FixedSizeListArray.from_arrays(flat, samples.dim),
    })  # fmt: skip
    with atomic_write(path) as partial:
        pq.write_table(table, partial)
