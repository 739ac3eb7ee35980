"""Fit on a whole file or folder, a part at a time, on any runner: ``efface fit --workers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from efface.data.readers import PathLike
from efface.data.samples import require_people
from efface.errors import PlanError
from efface.export.fitting import Dtype, Encoder, Fitting, SplitRecord, library_versions
from efface.protect.linear.base import LinearProtection
from efface.protect.linear.eraser import LinearEraser
from efface.registry import make
from efface.scale.moments import PART_ROWS, Progress, fit_store
from efface.scale.runner import Runner
from efface.stores.labelled import open_labelled

P = TypeVar("P", bound=LinearProtection)


def fit_file(
    path: PathLike,
    protection: P,
    runner: Runner,
    *,
    identity: str = "identity",
    embedding: str | None = None,
    labels: PathLike | None = None,
    rows: int = PART_ROWS,
    progress: Progress | None = None,
) -> P:
    """``protection``, fitted on all rows of a file or folder, a part at a time, on ``runner``.

    Memory in this process follows the number of people, not of rows: one sum of 8 bytes per
    dimension each.
    """
    source = open_labelled(path, identity=identity, embedding=embedding, labels=labels)
    return fit_store(source, protection, runner, rows=rows, progress=progress)


def fit_projector_on(
    runner: Runner,
    path: PathLike,
    method: str = "isp",
    *,
    rank: int | str,
    coverage: float | None = None,
    force: bool = False,
    dtype: Dtype = "float32",
    encoder: Encoder | None = None,
    identity: str = "identity",
    embedding: str | None = None,
    labels: PathLike | None = None,
    progress: Progress | None = None,
) -> tuple[LinearEraser, Fitting]:
    """A projector fitted on every person of a file of any size, and the record of how."""
    if rank == "auto" and coverage is None:
        raise PlanError(
            "rank auto needs held-out people to measure on, and a fit on workers sets none aside: "
            "give a rank or a coverage, or fit on a sample in this process"
        )
    params: dict[str, Any] = {"rank": rank, "force": force, "dtype": dtype}
    if coverage is not None:
        params["coverage"] = coverage
    fitted = fit_file(
        path, make("protection", method, **params), runner, identity=identity,
        embedding=embedding, labels=labels, progress=progress,
    )  # fmt: skip
    eraser: LinearEraser = fitted.eraser_
    if not force:
        require_people(Path(path).stem, eraser.identities, eraser.rows)
    counts = {"fit": (eraser.identities, eraser.rows)}
    record = Fitting(
        dtype=dtype, dataset=Path(path).stem, versions=library_versions(), encoder=encoder,
        split=SplitRecord(rule="every person is fitted on", counts=counts),
    )  # fmt: skip
    return eraser, record
