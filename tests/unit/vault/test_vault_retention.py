"""The audit log is kept for a time, and not longer; no clock alone empties it."""

from __future__ import annotations

import asyncio

import pytest
from vault_world import Clock, closing, face, made, rows

from efface.errors import PlanError
from efface.vault import app, retention
from efface.vault.retention import DAY
from efface.vault.service import Vault

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
NOW = 1_000_000_000.0


def events(vault: Vault) -> list[tuple[float, str]]:
    found = rows(vault, "SELECT at, event FROM vault_audit ORDER BY number")
    return [((at - NOW) / DAY, event) for at, event in found]


def test_older_lines_go_and_newer_ones_stay(address: str) -> None:
    clock = Clock(NOW)
    with closing(made(address, clock=clock, keep=10 * DAY)) as vault:
        vault.enrol("ann", face(0))
        clock.now = NOW + 5 * DAY
        vault.verify("ann", face(0, 1))
        assert vault.prune() == 0
        clock.now = NOW + 11 * DAY
        vault.verify("ann", face(0, 1))
        assert vault.prune() == 2
        assert events(vault) == [(5, "verify"), (11, "verify"), (11, "prune")]
        assert vault.tidy() == 0, "and it does not write a line for nothing"
        assert len(events(vault)) == 3
        assert vault.verify("ann", face(0, 1)), "templates are no part of the log"


def test_many_lines_go_in_several_transactions(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_CHUNK", 3)
    clock = Clock(NOW)
    with closing(made(address, clock=clock, keep=DAY)) as vault:
        for _ in range(9):
            vault.note("leak", "done")
        clock.now = NOW + 2 * DAY
        vault.note("backup", "done")
        assert vault.prune() == 10, "nine, and that it was configured"
        assert events(vault) == [(2, "backup"), (2, "prune")]


def test_a_clock_set_forward_under_which_something_happens_empties_the_log(address: str) -> None:
    """What the docs say is not promised: it looks like a vault that nobody asked for years."""
    clock = Clock(NOW)
    with closing(made(address, clock=clock, keep=10 * DAY)) as vault:
        vault.enrol("ann", face(0))
        clock.now = NOW + 4000 * DAY
        vault.verify("ann", face(0, 1))
        assert vault.prune() == 2


def test_a_clock_set_forward_empties_nothing_by_itself(address: str) -> None:
    clock = Clock(NOW)
    with closing(made(address, clock=clock, keep=10 * DAY)) as vault:
        vault.enrol("ann", face(0))
        clock.now = NOW + 4000 * DAY
        assert vault.prune() == 0
        clock.now = NOW - 4000 * DAY
        assert vault.prune() == 0
        assert len(events(vault)) == 2


def test_nought_keeps_all_and_nonsense_is_refused(address: str) -> None:
    clock = Clock(NOW)
    with closing(made(address, clock=clock, keep=0)) as vault:
        vault.enrol("ann", face(0))
        clock.now = NOW + 4000 * DAY
        vault.verify("ann", face(0))
        assert vault.prune() == 0
        assert len(events(vault)) == 3
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(PlanError, match="audit log"):
            made(address, keep=wrong)


def test_the_service_tidies_while_it_runs(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first round fails as a database that is away does; the next comes all the same."""
    from efface.errors import UnavailableError

    monkeypatch.setattr(app, "TIDY_EVERY", 0.001)
    rounds: list[int] = []

    def tidy(vault: Vault) -> int:
        rounds.append(1)
        if len(rounds) == 2:
            raise UnavailableError("away")
        return 0

    monkeypatch.setattr(Vault, "tidy", tidy)

    async def running() -> None:
        with closing(made(address)) as vault:
            service = app.create_app(vault)
            async with service.router.lifespan_context(service):
                while len(rounds) < 4:
                    await asyncio.sleep(0.001)

    asyncio.run(running())
