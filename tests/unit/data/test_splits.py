"""Parts of a split: right sizes, nobody twice, the same people whatever the order (P3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from efface.data.samples import samples
from efface.data.splits import split, split_by_column
from efface.errors import SplitError
from efface.types import PARTS, Samples, Split


def crowd(people: int, images: int = 2, names: list[str] | None = None) -> Samples:
    who = np.repeat(np.arange(people), images)
    labels = who if names is None else np.array(names)[who]
    return samples(np.ones((len(who), 2)), labels, dataset="crowd")


def sizes(made: Split) -> list[int]:
    return [len(made.people(part)) for part in PARTS]


# --- sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "asked", "expected"),
    [
        (100, {}, [40, 20, 20, 20]),
        (100, {"fit": 0.6, "calibration": 0.2, "test": 0.2}, [60, 0, 20, 20]),
        (100, {"fit": 0.7, "calibration": 0.2, "test": 0.1}, [70, 0, 20, 10]),
        (100, {"fit": 0.57, "shadow": 0.0, "calibration": 0.2, "test": 0.23}, [57, 0, 20, 23]),
        (100, {"fit": 10, "shadow": 0, "calibration": 5, "test": 7}, [10, 0, 5, 7]),
        (100, {"fit": 10, "calibration": 5, "test": 7}, [10, 78, 5, 7]),
        (100, {"fit": 50, "shadow": 0.1, "calibration": 0.2, "test": 20}, [50, 10, 20, 20]),
        (100, {"fit": 1, "shadow": 1, "calibration": 2, "test": 2}, [1, 1, 2, 2]),
        (11, {}, [5, 2, 2, 2]),
        (13, {}, [5, 3, 3, 2]),
        (10, {"fit": 0.1, "shadow": 0.1, "calibration": 0.2, "test": 0.2}, [1, 1, 2, 2]),
        (3, {"fit": 1 / 3, "calibration": 1 / 3, "test": 1 / 3}, None),
        (7, {"fit": 1 / 3, "calibration": 1 / 3, "test": 1 / 3}, [3, 0, 2, 2]),
    ],
)
def test_largest_remainders(people: int, asked: dict[str, Any], expected: list[int] | None) -> None:
    if expected is None:
        with pytest.raises(SplitError, match="calibration would get 1 of 3"):
            split(crowd(people), **asked)
        return
    assert sizes(split(crowd(people), **asked)) == expected


shares = st.floats(0, 1, allow_subnormal=False)


@given(people=st.integers(6, 300), weights=st.lists(shares, min_size=4, max_size=4))
def test_every_part_is_within_one_of_its_share_and_everyone_is_used(
    people: int, weights: list[float]
) -> None:
    assume(sum(weights) > 0.1)
    asked = dict(zip(PARTS, [w / sum(weights) for w in weights], strict=True))
    assume(asked["fit"] * people >= 1)
    assume(min(asked["calibration"], asked["test"]) * people >= 2)
    for given_sizes in (asked, {k: v for k, v in asked.items() if k != "shadow"}):
        made = split(crowd(people), **given_sizes)
        assert sum(sizes(made)) == people
        for part, size in zip(PARTS, sizes(made), strict=True):
            assert abs(size - asked[part] * people) < 1 + 1e-6


@given(counts=st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(2, 9), st.integers(2, 9)))
def test_counts_are_exact(counts: tuple[int, ...]) -> None:
    asked = dict(zip(PARTS, counts, strict=True))
    assert sizes(split(crowd(40), **asked)) == list(counts)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"fit": 0.6, "calibration": 0.3, "test": 0.2},
            r"fit 0\.6 \+ calibration 0\.3 \+ test 0\.2 is 22 people, there are 20",
        ),
        ({"fit": 21, "calibration": 2, "test": 2}, r"is 25 people, there are 20: lower"),
        ({"fit": 10, "calibration": 0.5, "test": 2}, r"is 22 people"),
        ({"fit": 0.0}, r"fit would get 0 of 20 identities and needs at least 1"),
        ({"calibration": 1}, "calibration would get 1 of 20 .* at least 2"),
        ({"test": 0.05}, r"test would get 1 of 20 .*\(fit 8, shadow 7, calibration 4, test 1\)"),
        ({"fit": 1.5}, r"fit=1\.5: give a share between 0\.0 and 1\.0, or a whole number"),
        ({"fit": -0.1}, "fit=-0.1"),
        ({"shadow": -3}, "shadow=-3"),
        ({"test": float("nan")}, "test=nan"),
        ({"fit": True}, "fit=True"),
        ({"fit": "0.4"}, "fit='0.4'"),
    ],
)
def test_sizes_that_cannot_be(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(SplitError, match=f"crowd: .*{words}"):
        split(crowd(20), **asked)


# --- who is where ---------------------------------------------------------------------------


def members(made: Split, whole: Samples) -> dict[str, set[str]]:
    return {part: {str(n) for n in whole.names[made.people(part)]} for part in PARTS}


@given(st.integers(0, 2**32 - 1), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(seed: int, shuffle: Any) -> None:
    names = [f"person {i}" for i in range(15)]
    whole = crowd(15, 3, names)
    rows = list(range(len(whole)))
    shuffle.shuffle(rows)
    mixed = samples(whole.data[rows], whole.names[whole.identity[rows]])
    assert members(split(whole, seed=seed), whole) == members(split(mixed, seed=seed), mixed)


def test_codes_with_gaps_do_not_matter() -> None:
    names = [f"person {i:02}" for i in range(30)]
    whole = crowd(30, 2, names)
    few = whole.take(np.flatnonzero(whole.identity % 2 == 1))
    fresh = samples(few.data, few.names[few.identity])
    assert few.people.tolist() != fresh.people.tolist()
    assert members(split(few, seed=4), few) == members(split(fresh, seed=4), fresh)


def test_rows_are_all_rows_of_their_people_ascending() -> None:
    whole = crowd(20, 3)
    made = split(whole, seed=1)
    for part in PARTS:
        rows = made.part(part)
        assert (np.diff(rows) > 0).all()
        expected = np.flatnonzero(np.isin(whole.identity, made.people(part)))
        np.testing.assert_array_equal(rows, expected)
    together = np.concatenate([made.part(part) for part in PARTS])
    assert sorted(together) == list(range(60))


def test_seeds_differ_and_every_person_gets_everywhere() -> None:
    whole = crowd(20)
    assert split(whole, seed=5).digest() == split(whole, seed=5).digest()
    in_test = np.zeros(20)
    for seed in range(500):
        in_test[split(whole, seed=seed).people("test")] += 1
    # 500 draws at 0.2: mean 100, standard deviation 8.9
    assert in_test.min() > 100 - 5 * 8.9
    assert in_test.max() < 100 + 5 * 8.9


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({}, "by identity, seed 3: fit 0.4, shadow 0.2, calibration 0.2, test 0.2"),
        (
            {"fit": 0.6, "calibration": 0.2, "test": 0.2},
            "by identity, seed 3: fit 0.6, shadow 0, calibration 0.2, test 0.2",
        ),
        (
            {"fit": 50, "calibration": 20, "test": 10},
            "by identity, seed 3: fit 50, shadow 20, calibration 20, test 10",
        ),
        (
            {"fit": 50, "shadow": 0.05, "calibration": 20, "test": 10},
            "by identity, seed 3: fit 50, shadow 0.05, calibration 20, test 10",
        ),
        (
            {"taken": np.arange(10)},
            "by identity, seed 3: fit the 10 people given, shadow 30, calibration 30, test 30",
        ),
    ],
)
def test_the_rule_in_words(asked: dict[str, Any], rule: str) -> None:
    made = split(crowd(100), seed=3, **asked)
    assert made.rule == rule
    assert made.seed == 3


# --- people that are taken ------------------------------------------------------------------


@given(
    st.sets(st.integers(0, 39), min_size=1, max_size=30),
    st.integers(0, 99),
    st.sampled_from([{}, {"fit": 0.6}, {"shadow": 0.0}, {"fit": 5, "shadow": 5}]),
)
def test_taken_people_are_the_fit_part(taken: set[int], seed: int, asked: dict[str, Any]) -> None:
    made = split(crowd(40), seed=seed, taken=sorted(taken), **asked)
    assert set(made.people("fit")) == taken
    assert sum(sizes(made)) == 40
    rest = 40 - len(taken)
    quota = {"shadow": 8, "calibration": 8, "test": 8}
    if "shadow" in asked:
        quota["shadow"] = asked["shadow"]
    elif "fit" in asked:
        quota["shadow"] = 0
    for part, due in quota.items():
        expected = due / sum(quota.values()) * rest
        assert abs(len(made.people(part)) - expected) < 1 + 1e-6


def test_nobody_taken_is_an_ordinary_split() -> None:
    whole = crowd(20)
    assert split(whole, taken=[]).digest() == split(whole).digest()


def test_taken_people_that_leave_nobody_or_are_unknown() -> None:
    with pytest.raises(SplitError, match="calibration would get 1 of 10"):
        split(crowd(10), taken=np.arange(8))
    with pytest.raises(SplitError, match="calibration would get 0 of 10"):
        split(crowd(10), taken=np.arange(10))
    with pytest.raises(SplitError, match="identity code 10, which no row has"):
        split(crowd(10), taken=[1, 10])


# --- by column ------------------------------------------------------------------------------


def labelled(parts: list[Any], who: list[int] | None = None) -> Samples:
    who = list(range(len(parts))) if who is None else who
    return samples(np.ones((len(who), 2)), who, attributes={"part": parts}, dataset="crowd")


def test_a_column_says_who_is_where() -> None:
    words = ["train", "Fit", "shadow", "VAL", " validation ", "calibration", "test", "TEST"]
    made = split_by_column(labelled(words), "part")
    assert [made.part(part).tolist() for part in PARTS] == [[0, 1], [2], [3, 4, 5], [6, 7]]
    assert made.rule == "by column part"


@pytest.mark.parametrize(
    ("parts", "who", "words"),
    [
        (["fit", "val", "val", "tset", "test"], None, "part is tset in row 3 .*: use fit, train"),
        (["fit", None, "val", "test", "test"], None, "part is None in row 1 "),
        ([1, 2, 3, 4, 5], None, "part is 1 in row 0 "),
        (
            ["fit", "val", "val", "test", "test"],
            [0, 1, 2, 3, 0],
            "identity 0 is in both 'fit' and 'test'",
        ),
        (["fit", "val", "test", "test", "test"], None, "calibration would get 1 of 5"),
        (["val", "val", "test", "test"], None, "fit would get 0 of 4"),
    ],
)
def test_columns_that_are_no_split(parts: list[Any], who: list[int] | None, words: str) -> None:
    with pytest.raises(SplitError, match=words):
        split_by_column(labelled(parts, who), "part")


def test_an_unknown_column() -> None:
    with pytest.raises(SplitError, match=r"no attribute 'prt' \(did you mean 'part'\?"):
        split_by_column(labelled(["fit"] * 3), "prt")
