"""``efface vault``: a group of commands around a store of templates."""

from __future__ import annotations

import click

from efface.cli.vault import keep, meter, people, serving, setup


@click.group()
def vault() -> None:
    """Store templates of people, check probes against them, and see what a thief would get."""


for command in (
    setup.init, meter.meter, people.enrol, people.verify, people.revoke, setup.rotate, keep.leak,
    serving.serve, keep.prune, keep.backup, keep.restore,
):  # fmt: skip
    vault.add_command(command)
