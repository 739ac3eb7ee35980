"""Ed25519 keys in PEM files: private as PKCS #8 (mode 0600), public beside it as ``.pub``."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efface.errors import ArtefactError, EffaceWarning
from efface.export.container import PathLike
from efface.extras import need

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey as PrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey as PublicKey

_LARGEST = 1 << 16

Ask = Callable[[], bytes]
"""Gets the passphrase when it turns out that one is needed."""


def make_keys(path: PathLike, passphrase: bytes | None = None) -> str:
    """Write a new pair of keys and return its id. Files that exist are never overwritten."""
    private_file, public_file = Path(path), public_of(path)
    for file in (private_file, public_file):
        if os.path.lexists(file):
            raise ArtefactError(f"{file}: exists already: choose another name for the new key")
    form = _serialization()
    key = _ed25519().Ed25519PrivateKey.generate()
    lock = form.BestAvailableEncryption(passphrase) if passphrase else form.NoEncryption()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, lock)
    public = key.public_key().public_bytes(
        form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo
    )
    _create(private_file, private, 0o600)
    try:
        _create(public_file, public, 0o644)
    except BaseException:
        private_file.unlink(missing_ok=True)  # half a pair is of no use
        raise
    return key_id(key.public_key())


def public_of(path: PathLike) -> Path:
    """Where the public key of a private one lies."""
    file = Path(path)
    return file.with_name(f"{file.name}.pub")


def key_id(key: PublicKey) -> str:
    """SHA-256 of the raw public key."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def load_private(path: PathLike, ask: Ask | None = None) -> PrivateKey:
    """The private key in a file; ``ask`` is called only if it is locked with a passphrase."""
    need("cryptography", "sign")
    from cryptography.exceptions import UnsupportedAlgorithm

    blob = _read(path, private=True)
    load = _serialization().load_pem_private_key
    try:
        key = load(blob, None)
    except TypeError:  # it is locked
        key = _unlocked(path, blob, ask)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "private", blob) from error
    if not isinstance(key, _ed25519().Ed25519PrivateKey):
        raise _other_kind(path, key)
    found: PrivateKey = key
    return found


def _unlocked(path: PathLike, blob: bytes, ask: Ask | None) -> Any:
    passphrase = ask() if ask is not None else b""
    if not passphrase:
        raise ArtefactError(f"{path}: this key is locked: give its passphrase")
    try:
        return _serialization().load_pem_private_key(blob, passphrase)
    except ValueError as error:
        raise ArtefactError(f"{path}: the passphrase does not open this key") from error


def load_public(path: PathLike) -> PublicKey:
    """The public key in a file; a private key is refused, for it has no business here."""
    need("cryptography", "sign")
    from cryptography.exceptions import UnsupportedAlgorithm

    blob = _read(path)
    try:
        key = _serialization().load_pem_public_key(blob)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "public", blob) from error
    if not isinstance(key, _ed25519().Ed25519PublicKey):
        raise _other_kind(path, key)
    found: PublicKey = key
    return found


# --- files ----------------------------------------------------------------------------------


def _create(path: Path, blob: bytes, mode: int) -> None:
    """Whole or not at all, and never over something that is there: a hard link cannot replace."""
    partial = path.with_name(f"{path.name[:40]}.{secrets.token_hex(8)}.partial")
    try:
        handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(blob)
            file.flush()
            os.fsync(handle)
        os.link(partial, path)
    except OSError as error:
        raise ArtefactError(
            f"{path}: the key cannot be written ({error.strerror or error}): choose another place"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _read(path: PathLike, *, private: bool = False) -> bytes:
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            blob = file.read(_LARGEST)
    except OSError as error:
        raise ArtefactError(
            f"{path}: the key cannot be read ({error.strerror or error}): check the path, or make "
            "one with 'efface keygen'"
        ) from error
    if private and os.name == "posix" and mode & 0o077:
        warnings.warn(
            f"{path}: others may read this private key (mode {mode:04o}): chmod 600 it",
            EffaceWarning,
            stacklevel=3,
        )
    return blob


# --- the library ----------------------------------------------------------------------------


def _ed25519() -> Any:
    return need("cryptography.hazmat.primitives.asymmetric.ed25519", "sign")


def _serialization() -> Any:
    return need("cryptography.hazmat.primitives.serialization", "sign")


def _no_key(path: PathLike, wanted: str, blob: bytes) -> ArtefactError:
    other = {"private": "public", "public": "private"}[wanted]
    hint = f"it is a {other} key" if f"{other.upper()} KEY".encode() in blob else "no such PEM"
    return ArtefactError(
        f"{path}: holds no {wanted} key ({hint}): give the {wanted} half of a pair made with "
        "'efface keygen'"
    )


def _other_kind(path: PathLike, key: object) -> ArtefactError:
    kind = type(key).__name__.removesuffix("PrivateKey").removesuffix("PublicKey").lstrip("_")
    return ArtefactError(
        f"{path}: is a key of kind {kind}, not Ed25519: make one with 'efface keygen'"
    )
