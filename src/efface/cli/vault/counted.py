"""How many tries of the people given a new vault would accept."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from efface.protect.template.base import TemplateShell
    from efface.types import Samples

_HALF = 0.5


def said(scheme: TemplateShell, samples: Samples, typed: dict[str, Any]) -> Callable[[], None]:
    """Counts tries at the radius in use; what it returns prints them."""
    from efface.errors import EffaceError
    from efface.protect.template import L2FEHash, Shared
    from efface.protect.template.radius import genuine_borders, impostor_borders

    counted, images, tries = copy.copy(scheme), typed["images"], typed["tries"]
    if isinstance(counted, L2FEHash):
        counted.bases = Shared(1)

    def borders(what: str) -> str | NDArray[np.float64]:
        try:
            if what == "genuine":
                return genuine_borders(counted, samples, images, tries=tries)
            return impostor_borders(counted, samples, images, tries=tries)
        except EffaceError as error:  # too few pictures: no reason to refuse a vault
            return str(error)

    found = {what: borders(what) for what in ("genuine", "foreign")}

    def show() -> None:
        for what, values in found.items():
            click.echo(_line(counted, what, values))
        _warn(counted, found["genuine"])

    return show


def _line(scheme: TemplateShell, what: str, borders: str | NDArray[np.float64]) -> str:
    if isinstance(borders, str):
        return f"{what} tries of the people given: none counted: {borders}"
    share, hits = _accepted(scheme, borders)
    return f"{what} tries of the people given: {hits} of {len(borders)} accepted ({share:.1%})"


def _accepted(scheme: TemplateShell, borders: NDArray[np.float64]) -> tuple[float, int]:
    from efface.protect.template.radius import accepted_at

    hits = int(accepted_at(scheme, borders, scheme.radius_).sum())
    return hits / max(len(borders), 1), hits


def _warn(scheme: TemplateShell, genuine: str | NDArray[np.float64]) -> None:
    if isinstance(genuine, str) or _accepted(scheme, genuine)[0] >= _HALF:
        return
    click.echo(
        f"warning: this {scheme.radius} refuses most tries of the very person: set another, let "
        "--fmr choose one, or take more pictures with --images",
        err=True,
    )
