"""From one configuration to the next, into a backup and out of it, and into a thief's hands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from vault_world import (
    OTHER_PEPPER,
    PEOPLE,
    PEPPER,
    Clock,
    biohash,
    closing,
    face,
    l2fe,
    made,
    mrp,
    peppered,
    population,
    replace,
    rows,
    vault_at,
)

from efface.errors import AttemptsError, DataError, PlanError, VaultError
from efface.protect.template import MRP
from efface.results import Threat
from efface.types import Claim, Release, Samples
from efface.vault import dump
from efface.vault.attempts import Rule, Rules
from efface.vault.drill import drill, loot, share, template_attacks

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")


def both() -> tuple[bytes, ...]:
    return OTHER_PEPPER, PEPPER


MOVES = {
    "scheme": (mrp, l2fe),
    "parameters": (mrp, lambda: mrp(hardening=peppered())),
    "pepper": (
        lambda: l2fe(hardening=peppered(PEPPER)),
        lambda: l2fe(hardening=peppered(OTHER_PEPPER)),
    ),
}


@pytest.mark.parametrize("move", MOVES)
def test_people_move_at_their_next_successful_login(address: str, move: str) -> None:
    old, new = MOVES[move]
    with closing(made(address, old(), peppers=both)) as vault:
        for person, name in enumerate(["ann", "bob"]):
            vault.enrol(name, face(person))
        vault.configure(new())
        assert _numbers(vault) == {"ann": 1, "bob": 1}
        assert not vault.verify("ann", face(1)), "a wrong face moves nobody"
        assert _numbers(vault) == {"ann": 1, "bob": 1}
        assert vault.verify("ann", face(0, 1))
        assert _numbers(vault) == {"ann": 2, "bob": 1}
        assert vault.verify("ann", face(0, 2)), "by the new template"
        assert not vault.verify("ann", face(1))
        vault.enrol("eve", face(2))
        assert _numbers(vault)["eve"] == 2
    with closing(vault_at(address, peppers=both)) as again:
        assert again.verify("bob", face(1, 1))
        assert _numbers(again)["bob"] == 2


def test_a_service_that_runs_notices_another_configuration(address: str) -> None:
    with closing(made(address)) as running, closing(vault_at(address)) as other:
        running.enrol("ann", face(0))
        other.configure(l2fe())
        assert running.verify("ann", face(0, 1))
        assert _numbers(running) == {"ann": 2}


def test_who_is_revoked_while_moving_stays_revoked(address: str) -> None:
    """Revoked and enrolled anew between the reading and the writing of a migration."""
    with closing(made(address)) as vault:
        vault.enrol("ann", face(0))
        vault.configure(l2fe())
        second = replace(vault)

        def meanwhile() -> np.random.Generator:
            second.revoke("ann")
            second.enrol("ann", face(1))
            return np.random.default_rng(3)

        assert replace(vault, rng=meanwhile).verify("ann", face(0, 1))
        assert not vault.verify("ann", face(0))
        assert vault.verify("ann", face(1))
        assert ("renew", "overtaken") in rows(vault, "SELECT event, outcome FROM vault_audit")


def test_a_lost_older_pepper_is_a_wrong_face(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Of all names, or whoever asks would learn who is enrolled; the log tells the operator."""
    with closing(made(address, l2fe(hardening=peppered(PEPPER)), peppers=both)) as vault:
        vault.enrol("ann", face(0))
        vault.configure(l2fe(hardening=peppered(OTHER_PEPPER)))
    with closing(vault_at(address, peppers=lambda: (OTHER_PEPPER,))) as poor:
        for name in ("ann", "nobody"):
            assert poor.verify(name, face(0)) is False
    assert "cannot be tried: VaultError" in caplog.text


def test_a_pepper_that_has_yet_to_come_tells_nobody_who_is_enrolled(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Put in force elsewhere: this service goes on by what it knows, for all names alike."""
    here = [PEPPER]
    with (
        closing(made(address, mrp(hardening=peppered()), peppers=lambda: here)) as running,
        closing(vault_at(address, peppers=both)) as other,
    ):
        running.enrol("ann", face(0))
        other.configure(mrp(hardening=peppered(OTHER_PEPPER)))
        for name in ("ann", "nobody"):
            assert running.verify(name, face(1)) is False
        assert "the configuration in force cannot be read" in caplog.text
        assert running.verify("ann", face(0, 1))
        assert _numbers(running) == {"ann": 1}
        with pytest.raises(VaultError, match="pepper"):
            running.enrol("bob", face(1))
        here.insert(0, OTHER_PEPPER)
        assert running.verify("ann", face(0, 1))
        assert _numbers(running) == {"ann": 2}


def test_vectors_of_another_length_are_another_vault(address: str) -> None:
    x = np.random.default_rng(0).standard_normal((20, 48))
    others = Samples(x / np.linalg.norm(x, axis=1, keepdims=True), np.arange(20),
                     np.arange(20).astype(str))  # fmt: skip
    with closing(made(address)) as vault:
        with pytest.raises(VaultError, match="another encoder"):
            vault.configure(MRP(n=24).fit(others))
        with pytest.raises(VaultError, match="vault already"):
            vault.configure(mrp(), first=True)


# --- backup and restore ---------------------------------------------------------------------


def test_a_backup_restores_everything(address: str, tmp_path: Path) -> None:
    rules, clock, file = Rules(Rule(3, 300.0), Rule(9, 300.0)), Clock(), tmp_path / "backup"
    with closing(made(address, peppers=both, rules=rules, clock=clock)) as vault:
        vault.enrol("ann", face(0))
        vault.configure(l2fe(hardening=peppered()))
        vault.enrol("bob", face(1))
        for _ in range(3):
            assert not vault.verify("bob", face(9))
        dump.write(file, dump.take(vault.store, clock()))
        taken = dump.take(vault.store, clock())
    read = dump.read(file)
    assert read == taken
    assert file.stat().st_mode & 0o077 == 0
    with closing(vault_at(str(tmp_path / "new.db"), both, rules=rules, clock=clock)) as new:
        dump.restore(new.store, read)
        assert dump.take(new.store, clock()) == taken
        assert new.verify("ann", face(0, 1))
        with pytest.raises(AttemptsError):
            new.verify("bob", face(1))
        with pytest.raises(VaultError, match="holds a vault already"):
            dump.restore(new.store, read)


def test_a_restored_server_goes_on_counting(postgres: Any, tmp_path: Path) -> None:
    from vault_world import schema

    with closing(made(str(tmp_path / "v.db"))) as vault:
        vault.enrol("ann", face(0))
        taken = dump.take(vault.store, 1.0)
    with closing(vault_at(schema(postgres, "restored").uri)) as new:
        dump.restore(new.store, taken)
        assert new.verify("ann", face(0, 1))
        new.enrol("bob", face(1))
        numbers = [n for (n,) in rows(new, "SELECT number FROM vault_audit ORDER BY number")]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("damage", ["byte", "cut", "row", "format", "empty", "head", "kind"])
def test_a_damaged_backup_is_refused_whole(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "backup"
    with closing(made(str(tmp_path / "v.db"))) as vault:
        vault.enrol("ann", face(0))
        dump.write(file, dump.take(vault.store, 1.0))
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.write_bytes({
        "byte": whole.replace(b'"user":"ann"', b'"user":"eve"', 1),
        "cut": whole[: len(whole) // 2],
        "row": _signed([lines[0], *lines[2:-1]]),
        "format": _signed([lines[0].replace(b"vault/1", b"vault/9"), *lines[1:-1]]),
        "empty": b"",
        "head": whole[len(lines[0]) :],
        "kind": _signed([*lines[:-2], b'{"row":"person","user":5}\n']),
    }[damage])  # fmt: skip
    assert file.read_bytes() != whole
    with pytest.raises(VaultError, match="backup"):
        dump.read(file)


def _signed(lines: list[bytes]) -> bytes:
    import hashlib

    body = b"".join(lines)
    return body + f'{{"sha256":"{hashlib.sha256(body).hexdigest()}"}}\n'.encode()


def _numbers(vault: Any) -> dict[str, int]:
    return dict(rows(vault, 'SELECT "user", configuration FROM vault_people'))  # type: ignore[arg-type]


# --- the drill ------------------------------------------------------------------------------


@dataclass
class Inside:
    """An attack that knows the answer: the arm that must be let in."""

    truth: Any
    schemes: tuple[str, ...] = ()

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        return self

    def options(self) -> Sequence[Self]:
        return (self,)

    def settings(self) -> dict[str, Any]:
        return {}

    def run(self, release: Release) -> Claim:
        assert release.scheme is not None
        assert release.scheme.hardening.pepper != PEPPER  # type: ignore[attr-defined]
        return Claim(self.truth(len(release.templates)), "embeddings")


def test_the_drill_counts_who_would_be_let_in(address: str) -> None:
    arms = {
        "knows": Inside(lambda n: np.stack([face(p, 1) for p in range(n)])),
        "guesses": Inside(lambda n: np.stack([face(39 - p) for p in range(n)])),
        "gives nothing": Inside(lambda n: np.full((n, 32), np.nan)),
        "too few": Inside(lambda n: np.empty((0, 32))),
        "of another scheme": Inside(lambda n: np.empty((0, 32)), ("mrp",)),
    }
    with closing(made(address, l2fe(hardening=peppered()), peppers=both)) as vault:
        for person in range(8):
            vault.enrol(f"{person}", face(person))
        taken = loot(dump.take(vault.store, 1.0), (PEPPER,))
    every = drill(taken, arms, PEOPLE, np.random.default_rng(0))
    found = {f.attack: f for f in every if f.leakage == "full"}
    assert set(found) == set(arms) - {"of another scheme"}
    assert found["knows"].accepted.value == 1
    assert found["guesses"].accepted.value == 0
    assert found["gives nothing"].accepted.value == 0
    assert found["too few"].accepted.value is None
    assert "recovered 0 vectors of 8" in found["too few"].note


def test_without_the_pepper_the_door_cannot_be_asked_and_the_drill_says_so(tmp_path: Path) -> None:
    """Not: nobody was let in."""
    knows = {"knows": Inside(lambda n: np.stack([face(p, 1) for p in range(n)]))}
    with closing(made(str(tmp_path / "v"), l2fe(hardening=peppered()), peppers=both)) as vault:
        vault.enrol("ann", face(0))
        stolen = dump.take(vault.store, 1.0)
    for given, value in (((), None), ((OTHER_PEPPER,), None), ((PEPPER,), 1.0)):
        for found in drill(loot(stolen, given), knows, PEOPLE, np.random.default_rng(0)):
            assert found.accepted.value == value
            assert ("give its file with --pepper" in found.note) == (value is None)


def test_every_registered_attack_runs_on_a_leak(tmp_path: Path) -> None:
    """MRP without a pepper falls to its pseudo-inverse; who knows nothing is turned away."""
    with closing(made(str(tmp_path / "v.db"), mrp())) as vault:
        for person in range(12):
            vault.enrol(f"{person}", face(person))
        taken = loot(dump.take(vault.store, 1.0))
    attacks = template_attacks()
    assert len(attacks) >= 3
    found = {(f.attack, f.leakage): f for f in drill(taken, attacks, population(seed=9), _rng())}
    assert found["pipe", "full"].accepted.value == 1.0
    assert found["preimage", "full"].accepted.value == 1.0
    assert found["pipe", "partial"].accepted.value == 0.0
    for name in ("dictionary", "preimage"):
        lost = found[name, "partial"]
        assert lost.accepted.value is None
        assert "nothing to start from" in lost.note


def test_an_attack_that_is_not_there_is_named() -> None:
    with pytest.raises(PlanError, match="did you mean 'centre-query'"):
        template_attacks(["center-query"])


@pytest.mark.parametrize(
    ("hits", "people", "low", "high"),
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (1, 2, 0.0126, 0.9874), (5, 10, 0.1871, 0.8129)],
)
def test_intervals_are_those_of_the_tables(hits: int, people: int, low: float, high: float) -> None:
    found = share(hits, people)
    assert (found.low, found.high) == (pytest.approx(low, abs=2e-4), pytest.approx(high, abs=2e-4))


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_biohash_can_be_migrated_too(tmp_path: Path) -> None:
    with closing(made(str(tmp_path / "v.db"), biohash())) as vault:
        vault.enrol("ann", face(0))
        vault.configure(mrp())
        assert vault.verify("ann", face(0, 1))
        with pytest.raises(DataError):
            vault.verify("ann", face(0)[:-1])
