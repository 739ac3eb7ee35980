"""``efface apply``: a whole file of embeddings through a projector."""

from __future__ import annotations

import click

from efface.cli import options


@click.command()
@click.argument("projector", type=click.Path())
@click.argument("emb", type=click.Path())
@click.option("--embedding", metavar="COL", help="Vector column; found by itself if single.")
@click.option("--out", type=click.Path(), required=True, help="New file, same format as EMB.")
def apply(projector: str, emb: str, embedding: str | None, out: str) -> int:
    """Write EMB with its vectors erased by PROJECTOR; other columns stay as they are."""
    from efface.data.apply import apply_file
    from efface.export.safetensors import load_eraser
    from efface.progress import Progress

    target = options.writable_file(out)
    eraser = load_eraser(projector)
    with Progress[None]("apply", 0, unit="row") as bar:
        rows = apply_file(eraser.transform, emb, target, embedding=embedding, progress=bar.of)
    click.echo(f"{target}: {rows:,} vectors, {eraser.rank} of {eraser.dim} directions removed")
    return 0
