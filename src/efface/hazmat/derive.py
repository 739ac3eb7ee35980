"""From a secret that a probe decodes to the bytes that are stored: keyed hashes and their cost."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from efface.errors import PlanError
from efface.extras import need
from efface.results import Scalar

KEY_BYTES = 32
_LEAST_PEPPER = 16


@runtime_checkable
class KeyDerivation(Protocol):
    """H_k: a random key ``k`` of the template, a message, 32 bytes that do not tell it."""

    def derive(self, key: bytes, message: bytes) -> bytes: ...

    def settings(self) -> dict[str, Scalar]: ...


@dataclass(frozen=True)
class Blake2b:
    """Keyed BLAKE2b (RFC 7693): the paper's H_k. A guess costs a microsecond."""

    def derive(self, key: bytes, message: bytes) -> bytes:
        return hashlib.blake2b(message, key=key, digest_size=KEY_BYTES).digest()

    def settings(self) -> dict[str, Scalar]:
        return {"kdf": "blake2b"}


@dataclass(frozen=True)
class Argon2id:
    """Argon2id; by default the second recommended option of RFC 9106, section 4 (64 MiB).

    ``first_choice()`` is the first: 2 GiB and one pass. The memory is per guess and per login.
    """

    passes: int = 3
    memory_kib: int = 65536
    lanes: int = 4

    @classmethod
    def first_choice(cls) -> Argon2id:
        return cls(passes=1, memory_kib=2097152, lanes=4)

    def __post_init__(self) -> None:
        if self.passes < 1 or self.lanes < 1 or self.memory_kib < 8 * self.lanes:
            raise PlanError(
                f"argon2id: {self.passes} passes, {self.lanes} lanes, {self.memory_kib} KiB: needs "
                "a pass, a lane and 8 KiB for each lane (RFC 9106, section 3.1)"
            )

    def derive(self, key: bytes, message: bytes) -> bytes:
        argon2 = need("argon2.low_level", "templates")
        found: bytes = argon2.hash_secret_raw(
            message, key, self.passes, self.memory_kib, self.lanes, KEY_BYTES, argon2.Type.ID
        )
        return found

    def settings(self) -> dict[str, Scalar]:
        return {
            "kdf": "argon2id",
            "kdf_passes": self.passes,
            "kdf_memory_kib": self.memory_kib,
            "kdf_lanes": self.lanes,
        }


def named(settings: dict[str, Scalar]) -> KeyDerivation:
    """The derivation that these settings describe: the way back from a stored configuration."""
    if settings.get("kdf") == "blake2b":
        return Blake2b()
    if settings.get("kdf") == "argon2id":
        numbers = [settings.get(f"kdf_{n}") for n in ("passes", "memory_kib", "lanes")]
        if all(type(n) is int for n in numbers):
            return Argon2id(*numbers)  # type: ignore[arg-type]
    raise PlanError(f"no key derivation {settings.get('kdf')!r}: known are blake2b and argon2id")


def same(one: bytes, other: bytes) -> bool:
    """Whether two strings are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one, other)


def owner_digest(owner: bytes) -> bytes:
    """What stands in a template for whose it is; no secret."""
    return hashlib.blake2b(owner, digest_size=KEY_BYTES, person=b"efface-owner").digest()


# --- a pepper: a secret of the service, kept apart from what is stored -----------------------


def check_pepper(pepper: bytes) -> None:
    if len(pepper) < _LEAST_PEPPER:
        raise PlanError(
            f"the pepper is shorter than {_LEAST_PEPPER} bytes: make one of 32 random bytes"
        )


def peppered(pepper: bytes, purpose: str, message: bytes) -> bytes:
    """A keyed digest that nobody without the pepper can compute or check."""
    key = hashlib.blake2b(pepper, digest_size=KEY_BYTES, person=b"efface-pepper").digest()
    label = len(purpose).to_bytes(1, "little") + purpose.encode()
    return hashlib.blake2b(label + message, key=key, digest_size=KEY_BYTES).digest()


def masked(data: bytes, pepper: bytes, purpose: str, salt: bytes) -> bytes:
    """The data under a one-time stream of pepper and salt; the same call takes it off again."""
    key = peppered(pepper, f"mask {purpose}", salt)
    cover = hashlib.shake_256(key).digest(len(data))
    both = int.from_bytes(data, "little") ^ int.from_bytes(cover, "little")
    return both.to_bytes(len(data), "little")
