"""What can be added to any scheme (P27): a hash that costs, a pepper, several pictures, votes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from numpy.typing import NDArray

from efface.errors import DataError, PlanError, TemplateError
from efface.hazmat.derive import (
    Argon2id,
    Blake2b,
    KeyDerivation,
    check_pepper,
    owner_digest,
    peppered,
)
from efface.protect.template.parts import bytes_part
from efface.results import Scalar

ELSEWHERE = b""
"""Stands for a pepper that exists and is not known here."""


@dataclass(frozen=True)
class Hardening:
    """How records are derived and how several pictures of a try are put together.

    ``kdf`` is H_k. ``pepper`` is a secret of the service, kept apart from what is stored: it covers
    the record or the sketch as well as the hash, because a sketch in the clear lets a thief test
    guesses without the hash. ``bind`` hashes the helper along, so that an altered one is noticed.

    ``probes="mean"`` averages the pictures of a try; ``"vote"`` asks each and accepts from
    ``votes`` on, of ``of`` pictures at most (0: any number): every picture more is a chance more.
    Votes bind who comes through ``verify``: a thief needs one picture that decodes.

    ``owner`` ties a template to whom it was enrolled for: the name goes into the hash of schemes
    that hash and under the seal of a pepper, so a template put in another's place is refused.

    ``radius_images`` and ``radius_tries`` say for how many pictures enrolled and in a try the
    radius was set (0: not said). They change no answer; ``doubt`` speaks of another number.
    """

    kdf: KeyDerivation = field(default_factory=Blake2b)
    pepper: bytes | None = field(default=None, repr=False)
    bind: bool = False
    probes: Literal["mean", "vote"] = "mean"
    votes: int = 1
    of: int = 0
    owner: bool = False
    radius_images: int = 0
    radius_tries: int = 0

    @classmethod
    def hardened(cls, pepper: bytes | None = None) -> Hardening:
        """P27 for schemes that hash: Argon2id, a bound helper, tries averaged, a pepper if given.

        The radius is the scheme's: ``scheme.calibrate(people, fmr, images=...)``.
        """
        return cls(kdf=Argon2id(), pepper=pepper, bind=True)

    def check(self) -> None:
        if not isinstance(self.kdf, KeyDerivation):
            raise PlanError("hardening: kdf takes a key derivation: Blake2b() or Argon2id()")
        if self.probes not in ("mean", "vote"):
            raise PlanError(f"hardening: probes takes mean or vote, not {self.probes!r}")
        if type(self.votes) is not int or self.votes < 1:
            raise PlanError("hardening: votes takes a whole number above zero")
        if type(self.of) is not int or (self.of and self.of < self.votes):
            raise PlanError(f"hardening: {self.votes} votes of {self.of} pictures cannot be")
        if self.pepper:
            check_pepper(self.pepper)

    def public(self) -> Hardening:
        """The same without the pepper itself."""
        return self if self.pepper is None else replace(self, pepper=ELSEWHERE)

    def secret(self) -> bytes | None:
        """The pepper where there is one; where it is kept elsewhere nothing can be done."""
        if self.pepper == ELSEWHERE:
            raise TemplateError("this scheme has a pepper, which is not known here")
        return self.pepper

    def derive(self, key: bytes, message: bytes, bound: bytes) -> bytes:
        """H_k(message); with ``bind`` over the helper too, with a pepper only for who holds it."""
        if self.bind:
            message = hashlib.blake2b(bound, digest_size=32).digest() + message
        pepper = self.secret()
        if pepper is not None:
            message = peppered(pepper, "hash", message)
        return self.kdf.derive(key, message)

    def settings(self) -> dict[str, Scalar]:
        return {
            **self.kdf.settings(),
            "pepper": self.pepper is not None,
            "bind": self.bind,
            "probes": self.probes,
            "votes": self.votes,
            # What is new is said only where it is used: older configurations stay as they were.
            **({"of": self.of} if self.of else {}),
            **({"owner": True} if self.owner else {}),
            **({"radius_images": self.radius_images} if self.radius_images else {}),
            **({"radius_tries": self.radius_tries} if self.radius_tries else {}),
        }

    def doubt(self, count: int, place: str) -> str:
        """What to know of an enrolment or a probe of so many pictures; nothing where the radius was
        set for it. It depends on the number alone."""
        probe = place == "probe"
        wanted = self.radius_tries if probe else self.radius_images
        if not wanted or count == wanted or (probe and self.probes == "vote"):
            return ""
        what = "in this try" if probe else "enrolled"
        return (
            f"{count} {what}: the radius is for {self.radius_images} pictures enrolled and "
            f"{self.radius_tries} in a try; with another number the rates are others"
        )

    def owner_parts(self, owner: bytes) -> dict[str, NDArray[Any]]:
        """What a template holds of its owner: a digest, and nothing where it is nobody's."""
        if bool(owner) != self.owner:
            raise DataError(
                "an owner is given and taken with Hardening(owner=True), and only with it"
            )
        return {"owner": bytes_part(owner_digest(owner))} if owner else {}

    def check_pictures(self, count: int, place: str) -> None:
        """Refuse a try with too few pictures for its votes, or more than it may have."""
        if self.probes != "vote":
            return
        if self.votes > count:
            raise DataError(f"{place}: {count} pictures cannot give {self.votes} votes: take more")
        if self.of and count > self.of:
            raise DataError(f"{place}: {count} pictures, and a try has {self.of} at most")


PAPER = Hardening()
"""As published: one fast keyed hash, one picture, nothing else."""
