"""``efface fit``: a projector from labelled embeddings, its rank justified on held-out people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from efface.cli import options
from efface.cli.options import METHODS, Rank, data_options, seed_option

if TYPE_CHECKING:
    from efface.results import Sweep


@click.command()
@click.argument("emb", type=click.Path())
@data_options
@click.option("--method", type=click.Choice(METHODS), default="isp", show_default=True)
@click.option(
    "--rank",
    type=Rank(),
    default="auto",
    show_default=True,
    help="Directions to remove; auto meets --target on calibration people.",
)
@click.option("--coverage", type=float, help="With --rank auto: cover this share of the energy.")
@click.option(
    "--target",
    type=float,
    default=0.05,
    show_default=True,
    help="Worst-case TAR whose upper bound --rank auto must meet.",
)
@click.option("--far", type=float, default=1e-3, show_default=True, help="False-accept rate.")
@click.option(
    "--all",
    "everyone",
    is_flag=True,
    help="Fit on every person, not on the fit part; audit it on other data then.",
)
@click.option("--force", is_flag=True, help="Keep a rank that would otherwise be refused.")
@seed_option
@click.option("--out", type=click.Path(), required=True, help="projector.safetensors")
@click.option("--json", "as_json", is_flag=True, help="Print what was fitted as JSON.")
@options.quiet_warnings
def fit(emb: str, **typed: Any) -> int:
    """Fit a projector on the labelled embeddings in EMB.

    Uses the fit part of the same seeded split that 'efface audit' makes, so that auditing the
    projector on the same file with the same seed tests it on people it has not seen.
    """
    from efface.api import fit_projector
    from efface.export.safetensors import save_eraser

    out = options.writable_file(typed["out"])
    samples = options.read(emb, typed["identity"], typed["embedding"], typed["labels"])
    eraser, sweep = fit_projector(
        samples, typed["method"], rank=typed["rank"], coverage=typed["coverage"],
        target=typed["target"], far=typed["far"], everyone=typed["everyone"], force=typed["force"],
        seed=typed["seed"],
    )  # fmt: skip
    if sweep is not None and not _met(sweep) and not typed["force"]:
        click.echo(_shortfall(sweep), err=True)
        return 1
    notes = {} if sweep is None else {"validation": msgspec.to_builtins(sweep)}
    save_eraser(eraser, out, metadata={"dataset": samples.dataset, **notes})
    summary = {
        "file": str(out), "method": eraser.method, "rank": eraser.rank, "dimension": eraser.dim,
        "identities": eraser.identities, "digest": eraser.digest(),
    }  # fmt: skip
    if typed["as_json"]:
        click.echo(msgspec.json.encode(summary).decode())
    else:
        click.echo(
            f"{out}: {eraser.method}, removes {eraser.rank} of {eraser.dim} directions, fitted on "
            f"{eraser.identities} people"
        )
    return 0


def _met(sweep: Sweep) -> bool:
    high = next((p.tar.high for p in sweep.points if p.x == sweep.chosen), None)
    return high is not None and sweep.target is not None and high <= sweep.target


def _shortfall(sweep: Sweep) -> str:
    best = next(p for p in sweep.points if p.x == sweep.chosen)
    floor = 1 - 0.025 ** (1 / max(best.tar.clusters, 1))
    few = (
        f" With {best.tar.clusters} calibration people no upper bound can be below {floor:.3f}."
        if sweep.target is not None and floor > sweep.target
        else ""
    )
    return (
        f"no rank meets a worst-case TAR of {sweep.target}; the best, {best.x}, has {best.tar} by "
        f"{best.attacker}. Nothing was written.{few} Give --rank {best.x} to take it all the same, "
        "another --target, or more people."
    )
