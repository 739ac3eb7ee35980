"""What a row of a configuration says of peppers: which one it takes, and a seal over itself.

Who can write the database could put a laxer radius, an older scheme, or one without a pepper in
force. So a pepper, which is not in the database, seals the row. Forms of the column:

    ""              no pepper, and none has ever been given to this vault
    64 hex digits   takes the pepper of this tag; as older releases wrote it, not sealed
    p:TAG:SEAL      takes the pepper of TAG and is sealed by it
    n:TAG:SEAL      takes none, and is sealed by the pepper of TAG

A row that is not sealed counts only in a vault without a sealed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from efface.errors import VaultError
from efface.hazmat.derive import peppered, same
from efface.vault.peppers import choose, find, missing

_TAG, _SEAL = 24, 32


@dataclass(frozen=True)
class Sealed:
    """What a seal is over: a row's number, its scheme, and the template of nobody."""

    number: int
    scheme: bytes
    decoy: bytes

    def by(self, pepper: bytes, *, takes: bool) -> str:
        """The column of a row that is sealed."""
        kind = "p" if takes else "n"
        return f"{kind}:{_tag(pepper)}:{self._seal(pepper, kind)}"

    def _seal(self, pepper: bytes, kind: str) -> str:
        message = b"".join(
            [kind.encode(), self.number.to_bytes(8, "little"), _framed(self.scheme), self.decoy]
        )
        return peppered(pepper, "vault configuration", message).hex()[:_SEAL]

    def pepper(
        self, mark: str, others: Sequence[str], peppers: Sequence[bytes], *, adopt: bool = False
    ) -> bytes | None:
        """The pepper that the row takes, or a VaultError: changed, or one that does not count.

        ``others`` are the columns of all rows. With ``adopt`` a vault that had no pepper so far is
        read though one is given: its first one is about to come into force.
        """
        if is_sealed(mark):
            return self._checked(mark, peppers)
        if any(is_sealed(other) for other in others) or (mark == "" and peppers and not adopt):
            raise VaultError(
                f"configuration {self.number} is not sealed by the pepper: if this vault had none "
                "so far, put one in force with 'efface vault rotate --new-pepper' and a file that "
                "is not there yet, or give none; else somebody changed the database: restore a "
                "backup"
            )
        return choose(peppers, mark)

    def _checked(self, mark: str, peppers: Sequence[bytes]) -> bytes | None:
        kind, wanted, _ = mark.split(":")
        pepper = next((p for p in peppers if _tag(p) == wanted), None)
        if pepper is None:
            raise missing()
        if not same(self.by(pepper, takes=kind == "p").encode(), mark.encode()):
            raise VaultError(
                f"configuration {self.number} was changed in the database: restore a backup"
            )
        return pepper if kind == "p" else None


def mark_of(row: Sealed, own: bytes | None, peppers: Sequence[bytes]) -> str:
    """The column of a row: sealed by its own pepper, else by the newest there is."""
    keeper = own if own is not None else next(iter(peppers), None)
    return "" if keeper is None else row.by(keeper, takes=own is not None)


def taken(mark: str, peppers: Sequence[bytes]) -> bytes | None:
    """The pepper among these that a row takes; its seal is not looked at."""
    if not is_sealed(mark):
        return find(peppers, mark)
    kind, wanted, _ = mark.split(":")
    return next((p for p in peppers if kind == "p" and _tag(p) == wanted), None)


def is_sealed(mark: str) -> bool:
    return mark[:2] in ("p:", "n:") and mark.count(":") == 2


def _tag(pepper: bytes) -> str:
    """Another one than older releases wrote: that does not help who wants to write as they did."""
    return peppered(pepper, "vault tag 2", b"").hex()[:_TAG]


def _framed(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text
