"""``efface inspect``: what a projector is, how it was made, and why its rank."""

from __future__ import annotations

import click
import msgspec


@click.command("inspect")
@click.argument("projector", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def inspect_(projector: str, as_json: bool) -> int:
    """Check PROJECTOR and print what it is, how it was made, and why it has its rank."""
    from efface.export.describe import as_text, as_values
    from efface.export.safetensors import read_projector

    found = read_projector(projector)
    if as_json:
        values = msgspec.json.encode(as_values(found, projector))
        click.echo(msgspec.json.format(values, indent=2).decode())
    else:
        click.echo(as_text(found, projector))
    return 0
