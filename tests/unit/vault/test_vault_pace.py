"""How long the slowest refusal takes: of whoever has not moved yet, and of every picture."""

from __future__ import annotations

from typing import Any

import pytest
from vault_world import OTHER_PEPPER, PEPPER, closing, face, l2fe, made, peppered, vault_at

from efface.protect.template import Argon2id, Hardening
from efface.vault.pace import slowest
from efface.vault.service import Vault

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
SLOW = Argon2id(passes=1, memory_kib=64, lanes=1)


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that only a slow hash moves."""
    done: list[int] = []
    derive = Argon2id.derive

    def counted(kdf: Argon2id, key: bytes, message: bytes) -> bytes:
        done.append(1)
        return derive(kdf, key, message)

    monkeypatch.setattr(Argon2id, "derive", counted)
    return done


def paced(vault: Vault, hashes: list[int]) -> float:
    return slowest(vault.configurations, lambda: float(len(hashes)))


def test_who_has_not_moved_is_hashed_as_before(address: str, hashes: list[int]) -> None:
    with closing(made(address, l2fe(hardening=Hardening(kdf=SLOW)))) as vault:
        assert paced(vault, hashes) == 1
        vault.enrol("ann", face(0))
        vault.configure(l2fe())
        assert paced(vault, hashes) == 1, "ann has not moved"
        assert vault.verify("ann", face(0, 1))
        assert paced(vault, hashes) == 0, "nobody is left there"


def test_every_picture_of_a_vote_counts(address: str, hashes: list[int]) -> None:
    voting: dict[str, Any] = {"kdf": SLOW, "probes": "vote", "votes": 2, "of": 3}
    with closing(made(address, l2fe(hardening=Hardening(**voting)))) as vault:
        assert paced(vault, hashes) == 3


def test_what_cannot_be_read_takes_no_time(address: str, hashes: list[int]) -> None:
    both = lambda: (OTHER_PEPPER, PEPPER)  # noqa: E731
    with closing(made(address, l2fe(hardening=peppered(kdf=SLOW)), peppers=both)) as vault:
        vault.enrol("ann", face(0))
        vault.configure(l2fe(hardening=peppered(OTHER_PEPPER)))
    with closing(vault_at(address, lambda: (OTHER_PEPPER,))) as poor:
        assert paced(poor, hashes) == 0
    with closing(vault_at(address, both)) as rich:
        assert paced(rich, hashes) == 1
