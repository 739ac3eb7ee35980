"""``efface fit``: a projector from labelled embeddings, its rank justified on held-out people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
import msgspec

from efface.cli import options
from efface.cli.options import METHODS, Rank, data_options, seed_option

if TYPE_CHECKING:
    from pathlib import Path

    from efface.export.fitting import Encoder, Fitting
    from efface.protect.linear.eraser import LinearEraser
    from efface.results import Sweep
    from efface.types import Samples, Split


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
@options.selection_options
@click.option("--split-column", metavar="COL", help="Column with fit, shadow, calibration, test.")
@click.option("--force", is_flag=True, help="Keep a rank that would otherwise be refused.")
@click.option(
    "--dtype",
    type=click.Choice(("float16", "float32", "float64")),
    default="float32",
    show_default=True,
    help="Type in which vectors will be released; --rank auto measures in it.",
)
@click.option(
    "--encoder", metavar="NAME", default="", help="What made the vectors, for the record."
)
@click.option("--encoder-weights", type=click.Path(), help="Its file of weights, to be hashed.")
@click.option("--encoder-digest", metavar="HEX", help="SHA-256 of its weights, if known already.")
@click.option("--workers", type=click.IntRange(1), help="Fit on so many processes; with --all.")
@click.option("--scheduler", metavar="ADDRESS", help="Fit on a Dask cluster; with --all.")
@seed_option
@click.option("--out", type=click.Path(), required=True, help="projector.safetensors")
@click.option("--json", "as_json", is_flag=True, help="Print what was fitted as JSON.")
@options.quiet_warnings
def fit(emb: str, **typed: Any) -> int:
    """Fit a projector on the labelled embeddings in EMB.

    Uses the fit part of the same seeded split that 'efface audit' makes, so that auditing the
    projector on the same file with the same seed, --images, --min-images and --split-column tests
    it on people it has not seen.
    """
    from efface.api import fit_projector
    from efface.export.safetensors import save_eraser

    out = options.writable_file(typed["out"])
    encoder = _encoder(typed["encoder"], typed["encoder_weights"], typed["encoder_digest"])
    if typed["workers"] or typed["scheduler"]:
        eraser, record = _fit_on_workers(emb, encoder, typed)
        save_eraser(eraser, out, provenance=record)
        _say(out, eraser, typed["as_json"])
        return 0
    samples = options.read(emb, typed["identity"], typed["embedding"], typed["labels"])
    encoder = encoder or _recorded(samples)
    samples, split = _chosen(samples, typed)
    eraser, record = fit_projector(
        samples, typed["method"], rank=typed["rank"], coverage=typed["coverage"],
        target=typed["target"], far=typed["far"], everyone=typed["everyone"], force=typed["force"],
        dtype=typed["dtype"], encoder=encoder, split=split, seed=typed["seed"],
    )  # fmt: skip
    sweep = None if record.validation is None else record.validation.sweep
    if sweep is not None and not _met(sweep) and not typed["force"]:
        click.echo(_shortfall(sweep), err=True)
        return 1
    save_eraser(eraser, out, provenance=record)
    _say(out, eraser, typed["as_json"])
    return 0


def _chosen(samples: Samples, typed: dict[str, Any]) -> tuple[Samples, Split | None]:
    """The images and the parts, taken as 'efface audit' takes them."""
    from efface.data.splits import split_by_column

    samples = options.select(
        samples, typed["images"], typed["min_images"], typed["seed"], typed["as_json"]
    )
    column = typed["split_column"]
    return samples, None if column is None else split_by_column(samples, column)


def _fit_on_workers(
    emb: str, encoder: Encoder | None, typed: dict[str, Any]
) -> tuple[LinearEraser, Fitting]:
    """A part at a time, never all of EMB in memory."""
    from efface.progress import Progress
    from efface.scale.dask import connect
    from efface.scale.runner import Processes
    from efface.stores.fit import fit_projector_on

    if typed["workers"] and typed["scheduler"]:
        raise click.UsageError("give --workers or --scheduler, not both")
    if any(typed[name] is not None for name in ("images", "min_images", "split_column")):
        raise click.UsageError("--workers and --scheduler fit on every row: leave out --images, "
                               "--min-images and --split-column")  # fmt: skip
    if not typed["everyone"]:
        raise click.UsageError(
            "--workers and --scheduler fit on every person: say so with --all, and audit the "
            "projector on other people"
        )
    named = ("rank", "coverage", "force", "dtype", "identity", "embedding", "labels")
    chosen = {name: typed[name] for name in named}
    where = typed["scheduler"]
    with (
        connect(where) if where else Processes(typed["workers"]) as runner,
        Progress[None]("fit", 0, unit="part") as bar,
    ):
        return fit_projector_on(
            runner, emb, typed["method"], encoder=encoder, progress=bar.of, **chosen
        )


def _say(out: Path, eraser: LinearEraser, as_json: bool) -> None:
    summary = {
        "file": str(out), "method": eraser.method, "rank": eraser.rank, "dimension": eraser.dim,
        "identities": eraser.identities, "digest": eraser.digest(),
    }  # fmt: skip
    if as_json:
        click.echo(msgspec.json.encode(summary).decode())
        return
    click.echo(
        f"{out}: {eraser.method}, removes {eraser.rank} of {eraser.dim} directions, fitted on "
        f"{eraser.identities} people"
    )


def _encoder(name: str, weights: str | None, digest: str | None) -> Encoder | None:
    """What the user says of the encoder; None for nothing."""
    from efface.export.fitting import Encoder
    from efface.export.signature import file_digest

    if weights is not None and digest is not None:
        raise click.UsageError("give --encoder-weights or --encoder-digest, not both")
    if digest is not None and not re.fullmatch("[0-9a-fA-F]{64}", digest):
        raise click.UsageError("--encoder-digest: a SHA-256 has 64 hexadecimal digits")
    sha256 = file_digest(weights) if weights is not None else digest and digest.lower()
    return Encoder(name=name, weights=sha256) if name or sha256 else None


def _recorded(samples: Samples) -> Encoder | None:
    """What the vectors' own file says of their encoder, where the user says nothing."""
    from efface.export.fitting import Encoder

    if samples.encoding is None:
        return None
    facts = samples.encoding.encoder
    return Encoder(name=facts.name, weights=facts.weights)


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
