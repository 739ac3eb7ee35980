"""The meter: its three verdicts, its arithmetic, its page, its command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

import efface
from efface.auditing.meter import guessing
from efface.auditing.meter_verdict import judged
from efface.cli.main import cli
from efface.errors import ArtefactError, DataError, PlanError
from efface.protect.template.bases import Shared
from efface.protect.template.facial_fe import FacialFE
from efface.protect.template.l2fe_hash import L2FEHash
from efface.protect.template.mrp import MRP
from efface.readings import AttackReading, Reading
from efface.report.meter import from_json, to_html, to_json, to_text
from efface.results import Estimate, Spec
from efface.testing.common import world
from efface.types import Samples

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
QUICK: dict[str, Any] = {"bootstrap": 200, "guesses": 20, "strangers": 5}


@pytest.fixture(scope="module")
def people() -> Samples:
    return world(60, 4, 48, np.float64)


@pytest.fixture(scope="module")
def lattice(people: Samples) -> Reading:
    scheme = L2FEHash(m=24, l=8, q=10007, scale=0.05, bases=Shared(1))
    return efface.meter(people, scheme, **QUICK)


def rate(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value, value if low is None else low, value if high is None else high, 100, 100)


def attack(**changes: Any) -> AttackReading:
    none = rate(0.0, 0.0, 0.03)
    plain = AttackReading(
        attack="some", leakage="full", distance_mean=1.0, distance_deviation=0.1,
        near=none, accepted=none, opened=none, exact=none,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def test_one_query_above_chance_is_broken() -> None:
    fpr = rate(0.01, 0.005, 0.02)
    broken = attack(tries=1, accepted=rate(0.4, 0.3, 0.5))
    assert judged([broken], rate(0.9), fpr, guessing(fpr), 0.01).finding == "broken"
    # The same share of strangers is accepted: a query of the mean is no better than any.
    loose = rate(0.4, 0.3, 0.5)
    assert judged([broken], rate(0.9), loose, guessing(loose), 0.01).finding == "guessable"


def test_an_embedding_found_is_broken_though_it_does_not_verify() -> None:
    none = rate(0.0, 0.0, 1e-12)
    found = attack(near=rate(1.0, 0.9, 1.0))
    verdict = judged([found], rate(0.3), none, guessing(none), 0.01)
    assert verdict.finding == "broken"
    assert "finds an embedding of 100 %" in verdict.headline


def test_guesses_seen_and_guesses_by_rate() -> None:
    fpr = rate(0.001, 0.0005, 0.002)
    assert judged([], rate(0.9), fpr, guessing(fpr), 0.0).tries == 693  # log 0.5 / log 0.999
    seen = attack(tries=200, guesses_50=12, opened=rate(0.8))
    assert judged([seen], rate(0.9), fpr, guessing(fpr), 0.0).tries == 12


def test_holds_only_where_no_stranger_and_no_guess_got_in() -> None:
    none = rate(0.0, 0.0, 0.001)
    verdict = judged([attack(tries=200)], rate(0.5), none, guessing(none), 0.01)
    assert verdict.finding == "holds"
    assert any("vouch for 10.0 bits" in s for s in verdict.sentences)  # -log2 0.001 = 9.97
    some = attack(tries=200, opened=rate(0.01))
    assert judged([some], rate(0.5), none, guessing(none), 0.01).finding == "guessable"


def test_one_query_that_opens_a_few_is_not_repeated_into_a_search() -> None:
    fpr = rate(0.001, 0.0005, 0.002)
    mean = attack(tries=1, opened=rate(0.06), accepted=rate(0.06, 0.03, 0.1))
    assert judged([mean], rate(0.9), fpr, guessing(fpr), 0.0).tries == 693
    search = attack(tries=200, opened=rate(0.4))  # 200 log 0.5 / log 0.6
    assert judged([mean, search], rate(0.9), fpr, guessing(fpr), 0.0).tries == 272


def test_bits_of_both_ends() -> None:
    found = guessing(rate(0.25, 0.125, 0.5))
    assert (found.bits_low, found.bits, found.bits_high) == (1, 2, 3)
    assert guessing(rate(0.0, 0.0, 0.5)).bits is None


def test_a_scheme_that_accepts_far_is_broken_by_the_mean(lattice: Reading) -> None:
    mean = next(a for a in lattice.attacks if a.attack == "centre-query")
    assert lattice.verdict.finding in ("broken", "guessable")
    assert (mean.accepted.value or 0) > 0.2
    assert (lattice.tpr.value or 0) > (lattice.fpr.value or 0)
    assert lattice.theorem is not None
    assert not lattice.theorem.holds
    middle = {s.name: s.median for s in lattice.distances.spreads}
    assert middle["mean"] < middle["impostor"]


def test_what_has_nothing_to_start_from_is_said_in_text_and_page(lattice: Reading) -> None:
    """Every attack at both leakages is read, or is in the list with its reason."""
    read = {(a.attack, a.leakage) for a in lattice.attacks}
    idle = {(n.attack, n.leakage): n.why for n in lattice.not_run}
    names = {"pipe", "centre-query", "dictionary", "dictionary (model)"}
    assert {(n, k) for n in names for k in ("full", "partial")} <= read | set(idle)
    assert ("centre-query", "partial") in read
    assert "nothing to start from" in idle["dictionary", "partial"]
    assert "dictionary, partial leakage: not run" in to_text(lattice)
    assert "nothing to start from" in to_html(lattice)


def test_the_sketch_of_facial_fe_is_the_person(people: Samples) -> None:
    found = efface.meter(people, FacialFE(scale=0.5), attacks=["pipe"], t=0.5, **QUICK)
    full, partial = found.attacks
    assert (full.leakage, full.near.value, full.exact.value) == ("full", 1.0, 1.0)
    assert (partial.leakage, partial.exact.value) == ("partial", 0.0)
    assert found.verdict.finding == "broken"


def test_equal_runs_give_equal_pages(people: Samples) -> None:
    one, two = (efface.meter(people, MRP(n=24), attacks=["preimage"], **QUICK) for _ in range(2))
    assert to_json(one) == to_json(two)
    assert to_html(one) == to_html(two)


def test_people_of_the_population_who_are_users_are_taken_out(people: Samples) -> None:
    known = people.take(np.flatnonzero(people.identity < 40))
    users = people.take(np.flatnonzero(people.identity >= 30))
    found = efface.meter(users, MRP(n=24), population=known, attacks=["centre-query"], **QUICK)
    assert (found.users.left_out, found.users.population_people) == (10, 30)
    with pytest.raises(DataError, match="is a user too"):
        efface.meter(users, "mrp", population=users, **QUICK)


def test_what_cannot_be_measured_is_refused(people: Samples) -> None:
    with pytest.raises(PlanError, match="reads embeddings"):
        efface.meter(people, MRP(n=24), attacks=["ridge"], **QUICK)
    with pytest.raises(PlanError, match="images takes"):
        efface.meter(people, MRP(n=24), images=0)
    with pytest.raises(DataError, match="more than 4 pictures"):
        efface.meter(people, MRP(n=24), images=4, **QUICK)


def test_a_radius_for_a_rate(people: Samples) -> None:
    strict = efface.meter(people, MRP(n=24), fmr=0.02, attacks=["pipe"], **QUICK)
    loose = efface.meter(people, MRP(n=24), fmr=0.3, attacks=["pipe"], **QUICK)
    assert (strict.fpr.value or 0) < (loose.fpr.value or 0)


def test_a_dictionary_with_its_own_number_of_guesses(people: Samples) -> None:
    spec = Spec("dictionary", {"guesses": 7, "source": "model"})
    found = efface.meter(people, MRP(n=24), attacks=[spec], **QUICK).attacks
    assert [(a.attack, a.tries) for a in found] == [("dictionary (model)", 7)]


def test_the_reading_comes_back_and_a_damaged_one_does_not(lattice: Reading) -> None:
    assert from_json(to_json(lattice)) == lattice
    with pytest.raises(ArtefactError, match="efface vault meter"):
        from_json(to_json(lattice)[:-20])
    other = json.loads(to_json(lattice)) | {"schema": "efface.meter/9"}
    with pytest.raises(ArtefactError, match="meter/9"):
        from_json(json.dumps(other).encode())


def test_the_page_needs_nothing_beside_it_and_shows_the_theorem(lattice: Reading) -> None:
    page = to_html(lattice).replace("\N{NO-BREAK SPACE}", " ")
    assert "<script" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert lattice.verdict.headline in page
    for word in ("Theorem 1", "centre-query", "population mean", "bits"):
        assert word in page
    assert "<b>evil" not in to_html(msgspec.structs.replace(lattice, command="<b>evil</b>"))


def test_the_text_says_verdict_attacks_and_theorem(lattice: Reading) -> None:
    text = to_text(lattice)
    assert text.startswith(lattice.verdict.headline)
    assert "Theorem 1 promises nothing" in text
    assert "centre-query" in text


def test_the_command_writes_both_files_and_its_code_is_the_verdict(
    people: Samples, tmp_path: Path
) -> None:
    file = tmp_path / "people.npz"
    np.savez(file, embedding=people.data, identity=people.names[people.identity])
    run = ["vault", "meter", str(file), "--scheme", "facial-fe", "--param", "scale=0.5"]
    done = CliRunner().invoke(cli, [*run, "--out", str(tmp_path / "out")], standalone_mode=False)
    assert done.return_value == 1, done.output
    assert "Broken" in done.output
    reading = from_json((tmp_path / "out" / "meter.json").read_bytes())
    assert (tmp_path / "out" / "meter.html").read_text(encoding="utf-8") == to_html(reading)
    assert str(tmp_path) not in reading.command
    wrong = CliRunner().invoke(cli, [*run[:-1], "scale=much"], standalone_mode=False)
    assert isinstance(wrong.exception, PlanError)
