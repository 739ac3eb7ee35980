"""TPR against the cost of guessing: borders, points, the best of a way, and what is said of it."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

import efface
from efface.auditing.curve import guess_curve
from efface.auditing.curve_borders import Borders, Crowd, borders, direction
from efface.auditing.curve_cost import YEAR, Costs, core_time, measured, stated, words
from efface.auditing.curve_rules import Arm, CurveRules, Way, arms_for
from efface.cli.main import cli
from efface.errors import DataError, PlanError
from efface.hazmat.derive import Argon2id, Blake2b
from efface.measure.guesses import guesses_for_half
from efface.protect.template import MRP, FacialFE, Hardening, L2FEHash, Shared
from efface.readings import GuessArm, GuessCurve
from efface.report.charts.guess_cost import guess_cost
from efface.report.meter import from_json, to_html, to_json, to_text
from efface.types import Samples

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
SLOW = Argon2id(passes=1, memory_kib=64, lanes=1)
COSTS = Costs(1e-5, {words(Blake2b()): 1e-6, words(Argon2id()): 0.1, words(SLOW): 0.1})
RULES = CurveRules(guesses=60, strangers=8, lattices=1, bootstrap=200)
LATTICE = Shared(1)


def noisy(people: int, images: int, seed: int = 0) -> Samples:
    """People whose pictures differ much from each other, so that averaging pays."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), images)
    x = rng.standard_normal((people, 48))[who] + 0.7 * rng.standard_normal((len(who), 48)) + 0.5
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return Samples(x, who, np.array([f"p{i}" for i in range(people)]))


def lattice(**given: Any) -> L2FEHash:
    return L2FEHash(m=24, l=8, q=10007, scale=0.05, bases=LATTICE, **given)


@pytest.fixture(scope="module")
def people() -> Samples:
    return noisy(80, 8)


@pytest.fixture(scope="module")
def curve(people: Samples) -> GuessCurve:
    return guess_curve(people, lattice(), images=4, rules=RULES, costs=COSTS)


def arm(curve: GuessCurve, name: str) -> GuessArm:
    return next(a for a in curve.arms if a.name == name)


# --- arithmetic -----------------------------------------------------------------------------


def test_guesses_for_half_seen_by_rate_and_by_strangers() -> None:
    seen = np.array([1, 4, 9, 0, 0])  # of five people three fell: the third at guess 9
    assert guesses_for_half(seen, 100, 0.0) == (9.0, True)
    few = np.array([1, 0, 0, 0, 0])  # 100 log 0.5 / log 0.8: at that rate 100 open 0.2
    assert guesses_for_half(few, 100, 0.0) == (311.0, False)
    assert guesses_for_half(few, 100, 0.01) == (69.0, False)  # strangers are better guesses
    assert guesses_for_half(seen, 100, 0.25) == (3.0, False)
    assert guesses_for_half(np.zeros(5, np.int64), 100, 0.0) == (float("inf"), False)


def test_the_first_guess_that_opens() -> None:
    record = np.maximum.accumulate(np.array([[1.0, 5, 2], [1, 2, 9], [1, 2, 3]]), axis=1)
    found = Borders((), np.empty((3, 0)), record)
    assert found.tried(4.0).tolist() == [2, 3, 0]
    assert found.tried(0.5).tolist() == [1, 1, 1]


def test_core_time_is_in_core_years() -> None:
    assert core_time(YEAR * 3) == "3 core-years"
    assert core_time(7200.0) == "0.00023 core-years (2 core-hours)"
    assert core_time(0.5) == "1.6e-08 core-years (0.5 core-seconds)"


# --- borders are what verify does -----------------------------------------------------------


def test_borders_are_those_of_verify(people: Samples) -> None:
    """Of E8, where nothing is rounded: at three radii every try is as its border says."""
    scheme = FacialFE(scale=2.0).fit(people)
    crowd = Crowd.of(people, 4, 6, 0)
    rng = np.random.default_rng(0)
    guesses = rng.standard_normal((5, 48))
    for way in (Way(), Way(4, 2), Way(4, 4, 3), Way(2, 4, 1)):
        found = borders((scheme, scheme), crowd, way, guesses, RULES)
        every = np.unique(np.concatenate(found.genuine))
        for at in (0.2, 0.5, 0.8):
            radius = every[int(at * (len(every) - 1)) :][:2].mean()  # on no border itself
            made = replace_scale(scheme, float(radius), way)
            for i, x in enumerate(crowd.enrolled(way)):
                template = made.enrol(x, np.random.default_rng(i))
                tries = crowd.data[crowd.genuine(i, way)]
                said = found.genuine[i] > radius
                assert np.array_equal(made.verify_many(template, tries), said), way
                first = made.guess(template, guesses)
                number = int(first.argmax()) + 1 if first.any() else 0
                assert number == found.tried(radius)[i]


def replace_scale(scheme: FacialFE, radius: float, way: Way) -> FacialFE:
    policy = {"probes": "vote", "votes": way.votes} if way.votes else {}
    made = FacialFE(scale=radius, hardening=Hardening(**policy))  # type: ignore[arg-type]
    made.dim_, made.radius_ = scheme.dim_, radius
    return made


def test_people_try_with_pictures_that_are_not_enrolled_and_once_each(people: Samples) -> None:
    crowd = Crowd.of(people, 3, None, 0)
    assert len(crowd) == 80
    for i in range(3):
        rows = crowd.genuine(i, Way(3, 2))
        assert rows.shape == (2, 2)
        assert not set(rows.ravel()) & set(crowd.enrol[i])
        assert len(set(rows.ravel())) == rows.size
        for row in crowd.strangers(Way(3, 2), 5, 0)[i]:
            assert not set(row) & set(crowd.enrol[i]) | set(row) & set(crowd.own[i])
    x = crowd.enrolled(Way(3, 1))[0]
    assert np.allclose(x, direction(crowd.data[crowd.enrol[0]]))


# --- the curve ------------------------------------------------------------------------------


def test_along_a_curve_fewer_are_accepted_and_more_guesses_needed(curve: GuessCurve) -> None:
    for each in curve.arms:
        tpr = [p.tpr.value for p in each.points]
        cost = [p.guesses_50 or np.inf for p in each.points]
        assert tpr == sorted(tpr, reverse=True)
        assert cost == sorted(cost)
        assert all(p.guesses_50_low <= c for p, c in zip(each.points, cost, strict=True))


def test_one_picture_falls_to_the_first_guess_and_several_cost_more(curve: GuessCurve) -> None:
    one, several = arm(curve, "paper").best, arm(curve, "paper, 4 pictures").best
    assert one is not None
    assert several is not None
    assert (one.point.first.value or 0) > 0.5, "there is something to harden"
    assert (one.point.guesses_50 or 0) <= 2
    assert (several.point.guesses_50 or np.inf) > 4 * (one.point.guesses_50 or 0)
    assert curve.best == "hardened, mean of 4"


def test_the_best_holds_when_people_are_enrolled(curve: GuessCurve) -> None:
    for each in curve.arms:
        if each.best is None:
            continue
        assert (each.best.point.tpr.value or 0) >= 0.9
        assert (each.best.check.tpr.value or 0) >= 0.9
    assert any("chosen on the people it is measured on" in note for note in curve.notes)
    one = arm(curve, "paper").best
    assert one is not None
    assert one.check.guesses_50 is not None
    assert (one.check.opened.value or 0) > 0.9


def test_what_decoding_leaves_tells_the_right_guess(people: Samples) -> None:
    """From some dimension on; in a small lattice a wrong guess can leave little, too."""
    scheme = L2FEHash(m=48, l=16, q=10007, bases=Shared(1))
    found = guess_curve(people, scheme, arms=[Arm("paper")], rules=RULES, costs=COSTS)
    best = found.arms[0].best
    assert best is not None
    assert best.check.told.n > 10
    assert best.check.told.value == 1.0
    assert "told the right guess for 100 %" in " ".join(found.sentences)


def test_a_slow_hash_prices_guesses_and_decides_nobody(curve: GuessCurve) -> None:
    fast, slow = arm(curve, "paper, 4 pictures"), arm(curve, "hardened, mean of 4")
    assert [p.guesses_50 for p in fast.points] == [p.guesses_50 for p in slow.points]
    assert slow.best is not None
    count = slow.best.point.guesses_50
    assert count is not None
    assert slow.best.seconds_hashed == pytest.approx(count * (0.1 + 1e-5))
    assert slow.best.seconds == pytest.approx(0.1 + count * 1e-5), "one hash, whatever it costs"


def test_the_statement_says_bits_core_years_and_an_assumed_price(people: Samples) -> None:
    rules = replace(RULES, core_hour=0.05)
    found = guess_curve(people, lattice(), images=4, rules=rules, costs=COSTS)
    said = " ".join(found.sentences)
    for word in ("TPR of 90 %", "bits", "core-years", "assumed price of 0.05", "pepper"):
        assert word in said
    assert "no further than the service" in said, "what a stronger basis does is not kept quiet"
    assert not any("no further" in w for w in stated(with_(found, reduce_seconds=1.0)))
    assert any("without a guess" in w for w in stated(with_(found, scheme="facial-fe")))
    never = stated(with_(found, best=""))
    assert never == ["No way to run it accepts 90 % of genuine tries."]


def with_(curve: GuessCurve, **changes: Any) -> GuessCurve:
    return msgspec.structs.replace(curve, **changes)


def test_equal_runs_are_equal(people: Samples, curve: GuessCurve) -> None:
    again = guess_curve(people, lattice(), images=4, rules=RULES, costs=COSTS)
    assert msgspec.json.encode(again) == msgspec.json.encode(curve)


def test_ways_that_are_compared() -> None:
    assert [a.name for a in arms_for(5)] == [
        "paper", "paper, 5 pictures", "hardened, mean of 5", "hardened, 3 of 5 votes",
    ]  # fmt: skip
    assert arms_for(5, 4)[-1].way == Way(5, 5, 4)
    assert [a.name for a in arms_for(1)] == ["paper", "hardened"]


def test_own_ways_can_be_given(people: Samples) -> None:
    own = [Arm("three enrolled, one shown", Way(3, 1), SLOW)]
    found = guess_curve(people, lattice(), arms=own, rules=RULES, costs=COSTS)
    assert [a.name for a in found.arms] == ["three enrolled, one shown"]
    assert found.arms[0].kdf == words(SLOW)


def test_costs_are_measured_and_a_memory_hard_hash_costs_more(people: Samples) -> None:
    scheme = lattice().fit(people)
    template = scheme.enrol(people.data[0], np.random.default_rng(0))
    kdfs = [Blake2b(), Argon2id(passes=1, memory_kib=8192, lanes=1)]
    found = measured(scheme, template, people.data[:50].astype(float), kdfs)
    fast, slow = (found.hashes[words(k)] for k in kdfs)
    assert 0 < fast < slow
    assert found.decode > 0


def test_what_cannot_be_measured_is_refused(people: Samples) -> None:
    with pytest.raises(PlanError, match="read without a guess"):
        guess_curve(people, MRP(n=24), rules=RULES)
    with pytest.raises(DataError, match="10 pictures or more"):
        guess_curve(people, lattice(), images=5, rules=RULES)
    with pytest.raises(PlanError, match="read without a guess"):
        efface.meter(people, MRP(n=24), curve=2, guesses=10)
    with pytest.raises(PlanError, match="votes"):
        guess_curve(people, lattice(), images=2, votes=3, rules=RULES)
    with pytest.raises(PlanError, match="has a lattice"):
        guess_curve(people, FacialFE(scale=1.0), images=2, rules=replace(RULES, bkz=20))
    for wrong in ({"target": 1.0}, {"guesses": 0}, {"core_hour": -1.0}, {"bootstrap": 10}):
        with pytest.raises(PlanError, match="curve"):
            guess_curve(people, lattice(), images=2, rules=replace(RULES, **wrong))


@pytest.mark.skipif(
    importlib.util.find_spec("fpylll") is None,
    reason="fpylll (extra audit-gpl, GPL) is not installed: no reduction stronger than LLL",
)
def test_a_thief_with_a_stronger_basis_needs_fewer_guesses(people: Samples) -> None:
    """The service decodes as before, and so accepts whom it accepted."""
    scheme, only = L2FEHash(m=48, l=16, q=10007, bases=Shared(1)), [Arm("paper")]
    found = [
        guess_curve(people, scheme, arms=only, rules=replace(RULES, bkz=block)) for block in (0, 20)
    ]
    weak, strong = (f.arms[0].points for f in found)
    assert [p.tpr for p in weak] == [p.tpr for p in strong]
    first = [sum(p.first.value or 0 for p in points) for points in (weak, strong)]
    assert first[1] > first[0], "the mean opens more"
    assert found[1].basis == "a BKZ-20"
    assert found[1].reduce_seconds > 0
    best = found[1].arms[0].best
    assert best is not None
    assert (best.seconds or 0) > found[1].reduce_seconds


# --- in the meter ---------------------------------------------------------------------------


def test_the_meter_shows_the_curve(people: Samples) -> None:
    quick: dict[str, Any] = {"bootstrap": 200, "guesses": 20, "strangers": 5}
    hard = lattice(hardening=Hardening(kdf=SLOW))
    reading = efface.meter(
        people, hard, attacks=["centre-query"], curve=2, curve_rules=RULES, **quick
    )
    assert reading.curve is not None
    assert reading.settings["kdf"] == "argon2id"
    assert any("in place of argon2id" in note for note in reading.notes)
    assert {a.kdf for a in reading.curve.arms} == {words(Blake2b()), words(SLOW)}
    assert from_json(to_json(reading)) == reading
    page = to_html(reading)
    assert "TPR against the cost of guessing" in page
    assert "<script" not in page
    text = to_text(reading)
    for sentence in reading.curve.sentences:
        assert sentence in text
    older = json.loads(to_json(reading))
    del older["curve"], older["not_run"]
    assert from_json(json.dumps(older).encode()).curve is None, "older readings are read"


def test_the_chart_draws_each_way_once(curve: GuessCurve) -> None:
    drawn = guess_cost(curve, "cost")
    assert drawn.count("<polyline") == 3, "hash alone differs in two of four: they are one line"
    assert drawn.count("<polygon") == 3
    assert "<polyline" not in guess_cost(with_(curve, arms=[]), "cost")
    free = [msgspec.structs.replace(p, bits=None, guesses_50=None) for p in curve.arms[0].points]
    lost = msgspec.structs.replace(curve.arms[0], points=free)
    assert "<polyline" not in guess_cost(with_(curve, arms=[lost]), "cost"), "no number, no line"


def test_the_command_takes_the_curve(people: Samples, tmp_path: Path) -> None:
    file = tmp_path / "people.npz"
    np.savez(file, embedding=people.data, identity=people.names[people.identity])
    run = ["vault", "meter", str(file), "--param", "m=24", "--param", "l=8", "--param", "q=10007",
           "--param", "scale=0.05", "--attack", "centre-query", "--bases", "1", "--curve", "2",
           "--core-hour", "0.05", "--out", str(tmp_path / "out")]  # fmt: skip
    done = CliRunner().invoke(cli, run, standalone_mode=False)
    assert done.return_value in (0, 1), done.output
    assert "Best at a TPR of 90 % or more, 40 people:" in done.output
    assert "assumed price of 0.05" in done.output
    reading = from_json((tmp_path / "out" / "meter.json").read_bytes())
    assert reading.curve is not None
    assert reading.curve.core_hour == 0.05


def test_the_command_takes_votes_and_the_preset(people: Samples, tmp_path: Path) -> None:
    file = tmp_path / "people.npz"
    np.savez(file, embedding=people.data, identity=people.names[people.identity])
    run = ["vault", "meter", str(file), "--param", "m=24", "--param", "l=8", "--param", "q=10007",
           "--attack", "centre-query", "--bases", "1", "--json"]  # fmt: skip
    voted = CliRunner().invoke(
        cli, [*run, "--votes", "2", "--tries", "3", "--fmr", "0.05"], standalone_mode=False
    )
    settings = from_json(voted.output.encode()).settings
    assert (settings["probes"], settings["votes"], settings["of"]) == ("vote", 2, 3)
    hard = CliRunner().invoke(
        cli, [*run, "--hardened", "--images", "3", "--fmr", "0.05"], standalone_mode=False
    )
    reading = from_json(hard.output.encode())
    assert reading.settings["kdf"] == "argon2id"
    assert reading.settings["bind"] is True
    assert reading.users.enrolled_pictures == 3
    wrong = CliRunner().invoke(cli, [*run, "--votes", "4", "--tries", "3"])
    assert wrong.exit_code == 2
