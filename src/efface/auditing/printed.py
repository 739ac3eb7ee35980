"""A table of a paper as measured here, beside the paper's own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from efface.auditing.papers import PaperTable
from efface.results import Estimate


@dataclass(frozen=True)
class Printed:
    """A table as measured here: ``ours`` and ``paper`` share the columns."""

    number: str
    caption: str
    columns: list[str]
    ours: list[list[str]]
    paper: list[list[str]]
    notes: list[str] = field(default_factory=list)

    @property
    def measured(self) -> bool:
        """Whether a single figure of ours is there."""
        return any(cell != "-" for row in self.ours for cell in row[2:])


def printed_table(
    table: PaperTable, columns: list[str], ours: list[list[str]], notes: Sequence[str]
) -> Printed:
    theirs = [[f"{c:.1f}" if isinstance(c, float) else str(c) for c in row] for row in table.rows]
    return Printed(
        table.number, table.caption, ["data", "model", *columns], ours, theirs,
        list(dict.fromkeys(notes)),
    )  # fmt: skip


def percent(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "-"
    return f"{100 * estimate.value:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
