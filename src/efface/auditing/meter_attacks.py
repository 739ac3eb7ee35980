"""Which attacks the meter runs, and why one has nothing to start from."""

from __future__ import annotations

from collections.abc import Sequence

from efface.errors import PlanError
from efface.readings import Leakage
from efface.registry import make
from efface.results import Spec

DEFAULT: tuple[Spec, ...] = (
    Spec("pipe"),
    Spec("preimage"),
    Spec("centre-query"),
    Spec("lattice-reduction"),
    Spec("dictionary"),
    Spec("dictionary", {"source": "model"}),
)
"""Every attack there is, each where it applies."""


def specs(attacks: Sequence[str | Spec] | None) -> list[Spec]:
    chosen = DEFAULT if attacks is None else attacks
    specs = [Spec(a) if isinstance(a, str) else a for a in chosen]
    for spec in specs:
        made = make("attack", spec.name, **spec.params)
        if made.card.accepts != "template":
            raise PlanError(f"{spec.name} reads embeddings, the meter takes attacks on templates")
    return specs


def absent(spec: Spec) -> str:
    """Why an attack cannot be run on this machine, or nothing."""
    known = getattr(make("attack", spec.name, **spec.params), "absent", None)
    return known() if known is not None else ""


def idle(spec: Spec, leakage: Leakage) -> str:
    """Why there is nothing for an attack to start from, or nothing."""
    needs = getattr(make("attack", spec.name, **spec.params), "without_helper", "")
    return str(needs) if leakage == "partial" else ""


def words(spec: Spec) -> str:
    return f"{spec.name} ({spec.params['source']})" if "source" in spec.params else spec.name
