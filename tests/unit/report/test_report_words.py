"""Numbers in words must be exact where they are a target and never flatter what was measured."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.report.words import (
    apart,
    at_most,
    between,
    clean,
    clip,
    exactly,
    interval,
    one_in,
    percent,
    rate,
    share,
    times,
)
from efface.results import Estimate

SHARES = st.floats(1e-6, 1 - 1e-6)


def fraction(words: str) -> Fraction:
    part, whole = re.findall(r"[\d,]+", words)
    return Fraction(int(part.replace(",", "")), int(whole.replace(",", "")))


@pytest.mark.parametrize(
    ("far", "words"),
    [
        (0.01, "1 in 100"),
        (0.001, "1 in 1,000"),
        (0.0001, "1 in 10,000"),
        (1e-6, "1 in 1,000,000"),
        (0.05, "1 in 20"),
        (0.003, "3 in 1,000"),
        (1 / 3000, "1 in 3,000"),
        (1028 / 934_560, "about 1 in 909"),
        (0.0, "none"),
    ],
)
def test_false_accept_rates_read_as_people_say_them(far: float, words: str) -> None:
    assert one_in(far) == words


@settings(deadline=None)
@given(st.integers(1, 999), st.integers(3, 7))
def test_a_target_with_few_digits_is_exact(count: int, power: int) -> None:
    far = count / 10**power
    assert fraction(one_in(far)) == Fraction(count, 10**power)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.62, "62 of 100"),
        (0.624, "62 of 100"),
        (1.0, "100 of 100"),
        (0.996, "996 of 1,000"),
        (0.0042, "4 of 1,000"),
        (0.0146, "15 of 1,000"),
        (1e-12, "fewer than 1 of 1,000,000,000"),
        (1 - 1e-12, "more than 999,999,999 of 1,000,000,000"),
    ],
)
def test_measured_shares_in_words(value: float, words: str) -> None:
    assert share(value) == words


@settings(deadline=None)
@given(SHARES)
def test_a_measured_share_is_within_five_percent_and_never_all_or_none(value: float) -> None:
    said = fraction(share(value))
    assert 0 < said < 1
    assert abs(float(said) - value) <= 0.05 * min(value, 1 - value) * (1 + 1e-9)


@settings(deadline=None)
@given(SHARES)
def test_an_upper_end_is_rounded_up(value: float) -> None:
    said = float(fraction(at_most(value)))
    assert said >= value - 1e-9
    assert said <= value * 1.05 + 1e-9


@settings(deadline=None)
@given(SHARES, SHARES)
def test_an_interval_is_rounded_outwards(one: float, other: float) -> None:
    low, high = sorted((one, other))
    first, last, base = (int(n.replace(",", "")) for n in re.findall(r"[\d,]+", between(low, high)))
    assert first / base <= low + 1e-9
    assert last / base >= high - 1e-9


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_a_chosen_limit_is_never_rounded(count: int) -> None:
    assert fraction(exactly(count / 10_000)) == Fraction(count, 10_000)


def test_an_odd_limit_is_said_in_percent() -> None:
    assert exactly(1 / 3) == "33.3 %"


@settings(deadline=None)
@given(SHARES)
def test_type_never_says_all_for_less_than_all(value: float) -> None:
    assert rate(value) != "1"
    assert percent(value) != "100 %"


def test_rates_in_type() -> None:
    assert [rate(v) for v in (0.62134, 1.0, 0.0, 0.99999, None)] == [
        "0.6213", "1", "0", "0.99999", "–",
    ]  # fmt: skip
    assert [percent(v) for v in (0.62134, 1.0, 0.99999, None)] == [
        "62.1 %", "100 %", "99.999 %", "–",
    ]  # fmt: skip


def test_intervals_in_type() -> None:
    assert interval(Estimate(0.6213, 0.5501, 0.6899)) == "0.621 [0.55, 0.69]"
    assert interval(Estimate(0.6213, 0.5501, 0.6899), "percent") == "62.1 % [55, 69]"
    assert interval(Estimate(0.5)) == "0.5"
    assert interval(Estimate(None)) == "–"


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_two_numbers_that_differ_read_differently(one: float, other: float) -> None:
    said = apart(one, other)
    assert (said[0] == said[1]) == (one == other)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(0.5, "0.5 times"), (1.0, "1.0 times"), (3.24, "3.2 times"), (9.97, "10 times"),
     (62.1, "62 times"), (621.3, "620 times"), (98_300.0, "98,000 times")],
)  # fmt: skip
def test_times_chance_has_two_digits(ratio: float, words: str) -> None:
    assert times(ratio) == words


def test_characters_that_hide_or_reorder_are_made_visible() -> None:
    assert clean("a\u202eb\x00c\ud800d\ufffee") == "a�b�c�d�e"
    assert clean("שלום – Åsa 李\n\t") == "שלום – Åsa 李\n\t"


@settings(deadline=None)
@given(st.text(), st.integers(2, 50))
def test_a_clipped_name_is_one_clean_line(text: str, limit: int) -> None:
    line = clip(text, limit)
    assert len(line) <= limit
    assert line == clean(line)
    assert len(line.splitlines()) <= 1
