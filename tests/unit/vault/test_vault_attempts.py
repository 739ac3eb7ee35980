"""Limits of attempts: how many pass, who is counted, and that no clock opens them."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vault_world import Clock, closing, face, made, rows

from efface.errors import AttemptsError, PlanError
from efface.vault.attempts import Bucket, Rule, Rules, drained, neighbours, wait
from efface.vault.service import Vault

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
RULES = Rules(user=Rule(3, 300.0), source=Rule(5, 300.0))


def failures(vault: Vault, user: str, source: str = "", most: int = 50) -> int:
    """How many wrong faces are tried before the vault refuses to look."""
    for number in range(most):
        try:
            assert not vault.verify(user, face(9), source)
        except AttemptsError:
            return number
    return most


@pytest.mark.parametrize("user", ["ann", "nobody"])
def test_so_many_failures_and_then_none(address: str, user: str) -> None:
    clock = Clock()
    with closing(made(address, rules=RULES, clock=clock)) as vault:
        vault.enrol("ann", face(0))
        assert failures(vault, user) == 3
        with pytest.raises(AttemptsError) as refused:
            vault.verify(user, face(0))
        assert refused.value.wait == pytest.approx(100)
        clock.now += 99
        assert failures(vault, user) == 0
        clock.now += 2
        assert failures(vault, user) == 1, "one for each third of the window"
        clock.now += 10_000
        assert failures(vault, user) == 3, "a long rest gives no more than the limit"


def test_a_source_is_counted_over_all_users_and_others_go_on(address: str) -> None:
    with closing(made(address, rules=RULES)) as vault:
        vault.enrol("ann", face(0))
        assert sum(failures(vault, f"guess {n}", "10.0.0.1", 1) for n in range(5)) == 5
        with pytest.raises(AttemptsError):
            vault.verify("ann", face(0), "10.0.0.1")
        assert vault.verify("ann", face(0), "10.0.0.2")
        assert failures(vault, "ann", "10.0.0.3") == 3, "the refusal was not charged to ann"


def test_neighbours_of_the_sixth_version_are_one_source(address: str) -> None:
    """One customer has 2^64 addresses: a limit for each would be none."""
    with closing(made(address, rules=RULES)) as vault:
        for n in range(5):
            assert failures(vault, f"guess {n}", f"2001:db8::{n}", 1) == 1
        with pytest.raises(AttemptsError):
            vault.verify("ann", face(0), "2001:db8:0:0:ffff::1")
        assert not vault.verify("ann", face(0), "2001:db8:0:1::1")
        logged = rows(vault, "SELECT source FROM vault_audit WHERE outcome = 'limited'")
        assert logged == [("2001:db8:0:0:ffff::1",)], "the log has the address itself"


@pytest.mark.parametrize(
    ("source", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::7%eth0", "2001:db8::/64"),
        ("door", "door"),
        ("192.0.2.7, 10.0.0.1", "192.0.2.7, 10.0.0.1"),
    ],
)
def test_what_a_source_is_counted_as(source: str, counted: str) -> None:
    assert neighbours(source) == counted


def test_success_is_not_charged_and_forgives_no_failure(address: str) -> None:
    with closing(made(address, rules=RULES)) as vault:
        vault.enrol("ann", face(0))
        for _ in range(20):
            assert vault.verify("ann", face(0, 1), "door")
        for _ in range(2):
            assert not vault.verify("ann", face(9), "door")
            assert vault.verify("ann", face(0, 1), "door")
        assert failures(vault, "ann", "door") == 1


def test_tries_at_once_do_not_pass_the_limit(address: str) -> None:
    with closing(made(address, rules=RULES)) as vault:
        vault.enrol("ann", face(0))
        said: list[bool] = []

        def attempt() -> None:
            with suppress(AttemptsError):
                said.append(vault.verify("ann", face(9)))

        threads = [threading.Thread(target=attempt) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert said == [False] * 3


@pytest.mark.parametrize("step", [-1.0, -299.0, -301.0, -1e6, -1e9])
def test_a_clock_set_back_opens_nothing_and_closes_nothing_for_ever(
    address: str, step: float
) -> None:
    clock = Clock(2e9)
    with closing(made(address, rules=RULES, clock=clock)) as vault:
        vault.enrol("ann", face(0))
        assert failures(vault, "ann") == 3
        clock.now += step
        assert failures(vault, "ann") == 0, "nothing was forgiven"
        clock.now += 2 * RULES.user.window + 1
        assert vault.verify("ann", face(0)), "not locked out for as long as the clock went back"


def test_limits_outlive_the_process_and_old_failures_are_forgotten(address: str) -> None:
    clock = Clock()
    with closing(made(address, rules=RULES, clock=clock)) as vault:
        vault.enrol("ann", face(0))
        assert failures(vault, "ann", "10.0.0.1") == 3
    from vault_world import vault_at

    with closing(vault_at(address, rules=RULES, clock=clock)) as again:
        assert failures(again, "ann") == 0
        assert again.tidy() == 0
        clock.now += 601
        assert again.tidy() == 2
        assert rows(again, "SELECT count(*) FROM vault_attempts") == [(0,)]


@given(
    st.lists(st.tuples(st.floats(-1e4, 1e4), st.booleans()), max_size=60),
    st.integers(1, 9),
    st.floats(1, 1e4),
)
def test_whatever_the_clock_does_no_more_pass_than_its_forward_steps_allow(
    steps: list[tuple[float, bool]], most: int, window: float
) -> None:
    """Forgiven is at most what the clock went forward: steps back give nothing of themselves."""
    rule, now, forward, passed = Rule(most, window), 0.0, 0.0, 0
    bucket = Bucket(0.0, now)
    for step, attempt in steps:
        now, forward = now + step, forward + max(0.0, step)
        before = bucket
        bucket = drained(bucket, now, rule)
        assert 0 <= bucket.level <= before.level
        if attempt and wait(bucket, rule) == 0:
            bucket, passed = Bucket(bucket.level + 1, bucket.last), passed + 1
        assert bucket.level <= most
    assert passed <= most + forward * rule.rate + 1e-6


def test_two_clocks_that_disagree_by_seconds_forgive_nothing() -> None:
    """Two machines take turns: the one behind must not make the other seem to go forward."""
    rule, bucket = Rule(5, 900.0), Bucket(4.0, 1000.0)
    for turn in range(1000):
        bucket = drained(bucket, 1000.0 if turn % 2 else 990.0, rule)
    assert bucket == Bucket(4.0, 1000.0)


@pytest.mark.parametrize(("most", "window"), [(0, 1.0), (1, 0.0), (1, float("inf"))])
def test_a_limit_that_is_none_is_refused(most: int, window: float) -> None:
    with pytest.raises(PlanError):
        Rule(most, window)
