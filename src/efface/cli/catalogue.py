"""``efface list``: what is in the catalogue."""

from __future__ import annotations

import click
import msgspec

ROLES = ("protections", "attacks", "judges", "encoders", "schemes")


@click.command("list")
@click.argument("role", type=click.Choice(ROLES), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the cards as JSON.")
def list_(role: str | None, as_json: bool) -> int:
    """List protections, attacks, judges, encoders and template schemes with their papers."""
    from efface.registry import cards

    found = cards(role[:-1] if role else None)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return 0
    if not found:
        click.echo(f"no {role} yet")
    for card in found:
        click.echo(f"{card.role:<11} {card.name:<13} {card.summary}")
        if card.role == "attack" and card.accepts == "template":
            click.echo(f"{'':<25} attacks templates: see 'efface vault meter'")
        if card.paper:
            click.echo(f"{'':<25} {card.paper}")
        if card.verdict:
            click.echo(f"{'':<25} {card.verdict}")
    return 0
