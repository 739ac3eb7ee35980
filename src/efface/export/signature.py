"""Ed25519 signatures of projector files: who vouches for this file, byte by byte.

A signature is a small JSON file, ``efface.signature/1``, beside the projector. What is signed is
not the projector itself but a message that names the purpose, the algorithm, the key and the
SHA-256 of the file, so that a signature made for anything else never fits here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from efface.errors import ArtefactError
from efface.export import strict_json
from efface.export.container import PathLike
from efface.export.files import write_whole
from efface.export.keys import key_id
from efface.export.safetensors import read_projector

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey as PrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey as PublicKey

FORMAT = "efface.signature/1"
ALGORITHM = "Ed25519"
_LARGEST = 1 << 16
_CHUNK = 1 << 20

Hex64 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A detached signature, as it stands in its file."""

    format: Literal["efface.signature/1"]
    algorithm: Literal["Ed25519"]
    key_id: Hex64
    """SHA-256 of the 32 bytes of the public key."""
    sha256: Hex64
    """SHA-256 of the signed file."""
    signature: str
    """64 bytes in base64."""


def beside(path: PathLike) -> Path:
    """Where the signature of a file lies unless another place is named."""
    file = Path(path)
    return file.with_name(f"{file.name}.sig")


def sign_projector(path: PathLike, key: PrivateKey, out: PathLike | None = None) -> Signature:
    """Sign a sound projector and write the signature, in place of an older one if there is one."""
    sha256 = read_projector(path).sha256
    ours = key_id(key.public_key())
    signed = base64.b64encode(key.sign(message(ours, sha256))).decode()
    made = Signature(
        format="efface.signature/1", algorithm="Ed25519", key_id=ours, sha256=sha256,
        signature=signed,
    )  # fmt: skip
    text = msgspec.json.format(msgspec.json.encode(made), indent=2)
    write_whole(beside(path) if out is None else out, text + b"\n")
    return made


def verify_file(path: PathLike, signature: Signature, key: PublicKey) -> str:
    """Why the signature is not that of this file by this key; empty if it is."""
    return verify_digest(file_digest(path), signature, key)


def verify_digest(sha256: str, signature: Signature, key: PublicKey) -> str:
    """The same for a file that has been read already."""
    from cryptography.exceptions import InvalidSignature

    if signature.key_id != key_id(key):
        return f"it was made with another key ({signature.key_id[:16]})"
    if not hmac.compare_digest(signature.sha256, sha256):
        return "the file is not the one that was signed"
    try:
        key.verify(_raw(signature), message(signature.key_id, sha256))
    except (InvalidSignature, ValueError):
        return "the signature itself was changed or forged"
    return ""


def message(key: str, sha256: str) -> bytes:
    """What is signed: purpose, algorithm, key and file, a line each."""
    return f"{FORMAT}\n{ALGORITHM}\n{key}\n{sha256}\n".encode("ascii")


def _raw(signature: Signature) -> bytes:
    """The 64 bytes; ValueError for another text than the one that base64 makes of them."""
    raw = base64.b64decode(signature.signature, validate=True)  # its error is a ValueError
    if base64.b64encode(raw).decode() != signature.signature:
        raise ValueError("the text has spare bits that are not zero")
    return raw


def read_signature(path: PathLike) -> Signature:
    """The signature in a file; what is no signature of this format is refused."""
    try:
        with open(path, "rb") as file:
            blob = file.read(_LARGEST + 1)
    except OSError as error:
        raise ArtefactError(
            f"{path}: the signature cannot be read ({error.strerror or error}): check the path, or "
            "make one with 'efface sign'"
        ) from error
    try:
        found: Any = strict_json.parse(blob) if len(blob) <= _LARGEST else None
        return msgspec.convert(found, Signature)
    except ValueError as error:
        raise ArtefactError(
            f"{path}: is no {FORMAT} ({error}): get a sound copy, or sign again"
        ) from error


def file_digest(path: PathLike) -> str:
    """SHA-256 of a file of any size."""
    try:
        sha = hashlib.sha256()
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                sha.update(chunk)
        return sha.hexdigest()
    except OSError as error:
        raise ArtefactError(
            f"{path}: cannot be read ({error.strerror or error}): check the path"
        ) from error
