"""Peppers: secrets of the service in a file or the environment, never in the database.

One in hexadecimal on each line. After a rotation the older ones stay until everybody has moved.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from efface.data.atomic import atomic_write
from efface.errors import VaultError
from efface.hazmat.derive import check_pepper, peppered

ENVIRONMENT = "EFFACE_VAULT_PEPPER"
_BYTES = 32


def tag(pepper: bytes | None) -> str:
    """What the database may know of a pepper: enough to find it among others."""
    return "" if pepper is None else peppered(pepper, "vault tag", b"").hex()


def read_peppers(path: str | os.PathLike[str] | None) -> tuple[bytes, ...]:
    """Of the file, or else of the environment; none where there is neither."""
    if path is None:
        return _parse(os.environ.get(ENVIRONMENT, ""), f"${ENVIRONMENT}")
    try:
        text = Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise VaultError(
            f"{path}: the pepper cannot be read ({type(error).__name__}): without it nobody can "
            "be verified; restore the file"
        ) from None
    found = _parse(text, str(path))
    if not found:
        raise VaultError(f"{path}: there is no pepper in it: restore the file")
    return found


def add_pepper(
    path: str | os.PathLike[str], entropy: Callable[[int], bytes] = os.urandom
) -> tuple[bytes, ...]:
    """Put a new pepper before those of the file, which is made where it is not."""
    older = read_peppers(path) if Path(path).exists() else ()
    found = (entropy(_BYTES), *older)
    with atomic_write(path) as partial:
        partial.chmod(0o600)
        partial.write_text("".join(f"{pepper.hex()}\n" for pepper in found), encoding="ascii")
    return found


def choose(peppers: Sequence[bytes], wanted: str) -> bytes | None:
    """The pepper of this tag, None where none is wanted."""
    if not wanted:
        return None
    found = find(peppers, wanted)
    if found is None:
        raise missing()
    return found


def find(peppers: Sequence[bytes], wanted: str) -> bytes | None:
    return next((pepper for pepper in peppers if tag(pepper) == wanted), None)


def missing() -> VaultError:
    return VaultError(
        "the pepper of this vault is not given, or is another one: give its file with --pepper or "
        f"set {ENVIRONMENT}"
    )


def _parse(text: str, place: str) -> tuple[bytes, ...]:
    try:
        found = tuple(bytes.fromhex(line) for line in text.split())
    except ValueError:
        raise VaultError(f"{place}: a pepper is written in hexadecimal, one on a line") from None
    for pepper in found:
        check_pepper(pepper)
    return found
