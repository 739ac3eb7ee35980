"""Which attacks an audit of embeddings can run."""

from __future__ import annotations

from efface.errors import PlanError
from efface.registry import cards, nearest


def check_name(name: str) -> None:
    """Refuse attacks on templates by name; an unknown name is answered with the nearest."""
    accepts = {card.name: card.accepts for card in cards("attack")}
    fit = [known for known, what in accepts.items() if what == "embedding"]
    if name.lower() in fit:
        return
    if accepts.get(name.lower()) == "template":
        raise PlanError(f"{name} attacks templates: see 'efface vault meter'")
    raise PlanError(f"no attack named {name!r}{nearest(name, fit)}")
