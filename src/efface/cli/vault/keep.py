"""``efface vault backup``, ``restore`` and ``leak``: everything that a vault holds, as a file; and
``prune``, for what it need not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from efface.cli import options
from efface.cli.vault.opening import audit_option, database_option, opened
from efface.errors import DataError

if TYPE_CHECKING:
    from efface.vault.drill import Finding
    from efface.vault.dump import Dump


@click.command()
@click.argument("out", type=click.Path())
@database_option
def backup(out: str, db: str) -> int:
    """Write everything in the vault to OUT, as of one moment. Peppers and bases are not in it."""
    from efface.vault.dump import PersonRow, write

    target = options.writable_file(out)
    dump = _dump(db, "backup")
    write(target, dump)
    click.echo(f"{out}: {len(dump.of(PersonRow))} people; guard it like the vault itself")
    return 0


@click.command()
@click.argument("file", type=click.Path())
@database_option
def restore(file: str, db: str) -> int:
    """Put a backup into an empty database."""
    from efface.vault import dump as dumps

    dump = dumps.read(file)
    with opened(db, None, "", create=True) as vault:
        dumps.restore(vault.store, dump)
        vault.note("restore", "done")
        click.echo(f"{vault.store.place}: {len(dump.of(dumps.PersonRow))} people restored")
    return 0


@click.command()
@database_option
@audit_option
def prune(db: str, audit_days: float) -> int:
    """Remove lines of the audit log that are older, and failures too old to count.

    The service does the same every hour.
    """
    from efface.vault.retention import DAY

    with opened(db, None, "") as vault:
        vault.keep = audit_days * DAY
        removed = vault.prune()
        vault.tidy()
        click.echo(f"{removed} lines removed")
    return 0


@click.command()
@click.argument("out", type=click.Path())
@database_option
@options.data_options
@click.option("--pepper", type=click.Path(), metavar="FILE",
              help="Judge with this pepper; attacks never get it.")  # fmt: skip
@click.option(
    "--population", metavar="EMB", help="Other people, whom the thief knows: run attacks."
)
@click.option("--attack", "names", multiple=True, metavar="NAME", help="Only this; repeatable.")
@options.seed_option
@options.quiet_warnings
def leak(out: str, db: str, population: str | None, names: Sequence[str], seed: int,
         pepper: str | None, **typed: Any) -> int:  # fmt: skip
    """Write what a thief of the database would have to OUT, and attack it.

    With --population every attack on templates tries to recover who is enrolled, and the share of
    templates that would let it in is printed.

    \b
    Exit codes: 0 OUT is written, whatever the attacks found; 2 usage or bad input.
    """
    from efface.vault.drill import template_attacks
    from efface.vault.dump import PersonRow, write

    target = options.writable_file(out)
    template_attacks(names)  # a name that nothing has is refused before anything is written
    if target.exists():
        raise DataError(f"{target}: is there already: remove it, or give another name")
    dump = _dump(db, "leak")
    write(target, dump)
    click.echo(f"{out}: {len(dump.of(PersonRow))} people, as a thief would have them")
    if population is not None:
        for finding in _drilled(dump, population, names, seed, pepper, typed):
            click.echo(_line(finding))
    return 0


def _dump(db: str, event: str) -> Dump:
    from efface.vault.dump import take

    with opened(db, None, "") as vault:
        vault.note(event, "done")
        return take(vault.store, vault.clock())


def _drilled(dump: Dump, population: str, names: Sequence[str], seed: int, pepper: str | None,
             typed: dict[str, Any]) -> list[Finding]:  # fmt: skip
    import numpy as np

    from efface.vault.drill import drill, loot, template_attacks
    from efface.vault.peppers import read_peppers

    attacks = template_attacks(names)
    shadow = options.read(population, typed["identity"], typed["embedding"], typed["labels"])
    return drill(loot(dump, read_peppers(pepper)), attacks, shadow, np.random.default_rng(seed))


def _line(finding: Finding) -> str:
    where = (
        f"{finding.attack} on {finding.scheme} (configuration {finding.configuration}, "
        f"{finding.leakage} leakage)"
    )
    found = finding.accepted
    if found.value is None or found.low is None or found.high is None:
        return f"{where}: did not run: {finding.note}"
    return (
        f"{where}: let in for {found.value:.1%} of {found.n} people "
        f"({found.low:.1%} to {found.high:.1%})"
    )
