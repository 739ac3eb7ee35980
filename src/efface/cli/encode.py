"""``efface encode``: pictures to a file of vectors."""

from __future__ import annotations

from typing import Any

import click

from efface.cli import encoded, encoding, options


@click.command()
@click.argument("images", type=click.Path())
@encoding.encoder_options
@encoding.face_options
@encoding.picture_options
@click.option("--out", type=click.Path(), required=True, help="emb.parquet")
@encoding.work_options
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
@options.quiet_warnings
def encode(images: str, **typed: Any) -> int:
    """Encode the pictures in IMAGES: a folder, a CSV list, or tar archives.

    Pictures that cannot be used are listed beside the vectors, and so are near-duplicates across
    people. Killed at any moment, the same command goes on where it stopped.
    """
    import msgspec

    out = options.writable_file(typed["out"])
    made = encoded.run(encoded.order(images, out, typed), quiet=typed["as_json"])
    if typed["as_json"]:
        click.echo(msgspec.json.format(msgspec.json.encode(made), indent=2).decode())
    return 0
