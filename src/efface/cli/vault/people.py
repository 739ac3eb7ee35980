"""``efface vault enrol``, ``verify`` and ``revoke``: one person at a time."""

from __future__ import annotations

import click

from efface.cli import options
from efface.cli.vault.opening import database_option, opened, secret_options, vectors_of

REFUSED = 1


@click.command()
@click.argument("user")
@click.argument("file", type=click.Path())
@database_option
@secret_options
@options.quiet_warnings
def enrol(user: str, file: str, db: str, pepper: str | None, bases: str) -> int:
    """Store a template of USER, made of the vectors in FILE.

    FILE is a .npy with one vector, or with a row for each picture.
    """
    vectors = vectors_of(file)
    with opened(db, pepper, bases) as vault:
        vault.enrol(user, vectors)
        said = vault.doubt(vectors, "enrolment")
    _warn(said)
    click.echo("enrolled")
    return 0


@click.command()
@click.argument("user")
@click.argument("file", type=click.Path())
@database_option
@secret_options
@options.quiet_warnings
def verify(user: str, file: str, db: str, pepper: str | None, bases: str) -> int:
    """Say whether the vectors in FILE are of the person enrolled as USER.

    \b
    Exit codes: 0 accepted, 1 refused, 2 usage, bad input, or too many failed tries.
    """
    vectors = vectors_of(file)
    with opened(db, pepper, bases) as vault:
        accepted = vault.verify(user, vectors)
        said = vault.doubt(vectors, "probe")
    _warn(said)
    click.echo("accepted" if accepted else "refused")
    return 0 if accepted else REFUSED


@click.command()
@click.argument("user")
@database_option
def revoke(user: str, db: str) -> int:
    """Remove the template of USER. The name can be enrolled again."""
    with opened(db, None, "") as vault:
        vault.revoke(user)
    click.echo("revoked")
    return 0


def _warn(said: str) -> None:
    if said:
        click.echo(f"warning: {said}", err=True)
