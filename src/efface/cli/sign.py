"""``efface keygen``, ``sign`` and ``verify-signature``: who vouches for a projector."""

from __future__ import annotations

import os
import sys

import click

from efface.cli import options
from efface.errors import ArtefactError

PASSPHRASE = "EFFACE_KEY_PASSPHRASE"
NOT_VALID = 1


@click.command()
@click.option("--out", type=click.Path(), required=True, help="Private key; public key in OUT.pub.")
@click.option(
    "--passphrase",
    "locked",
    is_flag=True,
    help=f"Lock the key; taken from {PASSPHRASE}, else asked for.",
)
def keygen(out: str, locked: bool) -> int:
    """Make a pair of Ed25519 keys in PEM files. Nothing is overwritten."""
    from efface.export.keys import make_keys, public_of

    passphrase = _passphrase(out, confirm=True) if locked else None
    key = make_keys(options.writable_file(out), passphrase)
    click.echo(f"{out}: private key, keep it to yourself")
    click.echo(f"{public_of(out)}: public key, give it to those who verify")
    click.echo(f"key id {key}")
    return 0


@click.command()
@click.argument("projector", type=click.Path())
@click.option("--key", type=click.Path(), required=True, help="Private key from 'efface keygen'.")
@click.option("--out", type=click.Path(), help="Signature file; PROJECTOR.sig by default.")
@options.quiet_warnings
def sign(projector: str, key: str, out: str | None) -> int:
    """Sign PROJECTOR, after checking that it is sound. An older signature is replaced."""
    from efface.export.keys import load_private
    from efface.export.signature import beside, sign_projector

    target = options.writable_file(out if out is not None else str(beside(projector)))
    private = load_private(key, lambda: _passphrase(key))
    made = sign_projector(projector, private, target)
    click.echo(f"{target}: signature of {projector} (sha256 {made.sha256})")
    click.echo(f"key id {made.key_id}")
    return 0


@click.command("verify-signature")
@click.argument("projector", type=click.Path())
@click.option("--key", type=click.Path(), required=True, help="Public key, KEY.pub.")
@click.option("--signature", type=click.Path(), help="Its file; PROJECTOR.sig by default.")
def verify_signature(projector: str, key: str, signature: str | None) -> int:
    """Check that PROJECTOR is, byte for byte, what the owner of the key signed.

    \b
    Exit codes: 0 valid, 1 not valid, 2 something is missing or unreadable.
    """
    from efface.export.keys import load_public
    from efface.export.signature import beside, read_signature, verify_file

    public = load_public(key)
    found = read_signature(signature if signature is not None else beside(projector))
    why = verify_file(projector, found, public)
    if why:
        click.echo(f"{projector}: not valid: {why}", err=True)
        return NOT_VALID
    click.echo(f"{projector}: valid, signed with key {found.key_id}")
    return 0


def _passphrase(key: str, confirm: bool = False) -> bytes:
    """From the environment, so that a machine can sign; else from whoever sits there."""
    given = os.environ.get(PASSPHRASE, "")
    if not given and sys.stdin.isatty():
        given = click.prompt(
            f"Passphrase of {key}", hide_input=True, confirmation_prompt=confirm, err=True
        )
    if not given:
        raise ArtefactError(f"{key}: there is no passphrase for this key: set {PASSPHRASE}")
    return str(given).encode()
