"""``efface demo``: everything on data that efface makes itself."""

from __future__ import annotations

from pathlib import Path

import click

from efface.cli import options
from efface.cli.options import seed_option


@click.command()
@click.option("--out", type=click.Path(), default="efface-demo", show_default=True)
@seed_option
@options.quiet_warnings
def demo(out: str, seed: int) -> int:
    """Make a synthetic world, audit it, fit a projector, apply it, audit again, report.

    Where dlib is installed, the same for pictures of rendered people, which its recogniser encodes.
    The numbers are of artificial worlds; they show the way, not the safety of an encoder.
    """
    from efface import demo as show

    folder = options.writable_folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    for line in show.run(Path(folder), seed):
        click.echo(line)
    return 0
