"""Transfer: no eraser is tested on people it was fitted on, in whichever data set they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import efface
from efface.auditing import partner as partners
from efface.auditing import run as running
from efface.auditing import table as tables
from efface.auditing.cases import Rules
from efface.auditing.partner import in_both, partner
from efface.auditing.scene import Scene
from efface.data import synthetic
from efface.data.samples import curate
from efface.errors import DataError, PlanError
from efface.results import Transfer
from efface.types import Samples

FAST: dict[str, Any] = {"far": 1e-2, "bootstrap": 200, "sweep": ()}
RULES = Rules(far=1e-2)


def people(count: int, seed: int = 0, images: int = 6) -> Samples:
    return synthetic.embedding_world(
        people=count, images=images, dim=32, rank=8, context_rank=8, seed=seed
    ).samples


def named(samples: Samples, prefix: str) -> Samples:
    return efface.samples(samples.data, [f"{prefix}{c:03d}" for c in samples.identity])


def scene(samples: Samples, seed: int = 0) -> Scene:
    return Scene.of(samples, efface.split(samples, seed=seed))


def names(scene: Scene, *parts: str) -> set[str]:
    codes = np.concatenate([scene.split.people(part) for part in parts])
    return {str(scene.samples.names[code]) for code in codes}


@pytest.mark.parametrize("seed", [0, 3])
def test_two_selections_of_the_same_people_keep_their_parts_apart(seed: int) -> None:
    whole = people(80, images=12)
    one = scene(curate(whole, 5, seed=0), seed)
    two, note = partner(one, curate(whole, 5, seed=1), RULES)
    assert not names(one, "fit") & names(two, "calibration", "test")
    assert not names(two, "fit") & names(one, "calibration", "test")
    assert len(names(two, "fit")) == 32
    assert note.startswith("80 people are in both datasets")


def test_people_are_recognised_by_a_vector_under_other_names() -> None:
    whole = people(80)
    one = scene(named(whole, "a"))
    # Other names; of the first forty the same pictures, stored as float16; the others are new.
    new = people(80, seed=1).data
    mixed = np.where((whole.identity < 40)[:, None], whole.data.astype(np.float16), new)
    other = efface.samples(mixed, [f"b{c:03d}" for c in whole.identity])
    common = in_both(one, other)
    assert sorted(common.everybody.tolist()) == list(range(40))
    two, note = partner(one, other, RULES)
    fitted, judged = (
        {int(n[1:]) for n in names(one, *parts)} for parts in (["fit"], ["calibration", "test"])
    )
    mine = {int(n[1:]) for n in names(two, "fit")}
    tested = {int(n[1:]) for n in names(two, "calibration", "test")}
    assert not {n for n in fitted if n < 40} & tested
    assert not mine & {n for n in judged if n < 40}
    assert note.startswith("40 people are in both datasets")


def test_strangers_are_split_as_ever() -> None:
    one, other = scene(named(people(60), "a")), named(people(60, seed=2), "b")
    two, note = partner(one, other, RULES)
    assert note == ""
    assert two.split.digest() == efface.split(other, seed=0).digest()


def test_one_who_is_two_in_the_first_data_set_is_left_out() -> None:
    whole = named(people(60), "a")
    one = scene(whole)
    fitted, tested = one.split.people("fit")[0], one.split.people("test")[0]
    other = named(people(60, seed=2), "b")
    data = other.data.copy()
    data[np.flatnonzero(other.identity == 0)[:2]] = [
        whole.data[whole.identity == who][0] for who in (fitted, tested)
    ]
    two, _ = partner(one, efface.samples(data, other.names[other.identity]), RULES)
    assert "b000" not in {str(n) for n in two.samples.names[two.samples.people]}


def test_too_few_other_people_are_refused_with_names() -> None:
    one = scene(people(60))
    few = one.samples.take(np.flatnonzero(np.isin(one.samples.identity, one.split.people("fit"))))
    with pytest.raises(DataError, match=r"24 of 24 people are in the first dataset too \(.+other"):
        efface.audit(
            one.samples, split=one.split, protections=[efface.ISP(rank=4)], transfer=few, **FAST
        )


# --- as part of an audit ------------------------------------------------------------------------


def moved(cache: Path | None = None, **more: Any) -> Transfer:
    whole = people(80, images=10)
    one, other = (curate(whole, 5, seed=seed) for seed in (0, 1))
    asked = {"attacks": ["cosine", "ridge"], **FAST, **more}
    report = efface.audit(
        one, protections=[efface.ISP(rank=4)], cache=cache, transfer=other, **asked
    )
    assert report.transfer is not None
    return report.transfer


def test_the_section_says_who_attacked_and_who_is_in_both() -> None:
    note = moved(attacks=["cosine", "ridge", "mlp"], mode="paper", shots=(1,)).note
    assert "Attackers: cosine, ridge; left out: mlp." in note
    assert "80 people are in both datasets" in note


def test_transfer_is_cached_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = moved(tmp_path)

    def refuse(*args: Any) -> None:
        raise AssertionError("played again")

    assert tables.run is running.run
    monkeypatch.setattr(tables, "run", refuse)
    assert moved(tmp_path) == first


@pytest.mark.parametrize("protections", [[], ["stored"], ["custom"]])
def test_a_transfer_without_a_protection_to_fit_is_refused_before_any_work(
    protections: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("attacked already")

    class Custom:
        def fit(self, given: Samples, /) -> Custom:
            return self

        def release(self, given: Samples, rng: np.random.Generator) -> Any:
            raise AssertionError("released already")

    monkeypatch.setattr(tables, "run", refuse)
    one, other = people(60), people(60, seed=2)
    made = {"stored": efface.ISP(rank=4).fit(people(60, seed=5)), "custom": Custom()}
    with pytest.raises(PlanError, match="transfer fits one protection on each data set"):
        efface.audit(one, protections=[made[p] for p in protections], transfer=other, **FAST)


def test_a_rank_that_the_second_data_set_refuses_costs_the_matrix_only() -> None:
    one, other = people(90), named(people(12, seed=2), "b")
    report = efface.audit(
        one, protections=[efface.ISP(rank=12)], attacks=["cosine"], transfer=other, **FAST
    )
    assert report.transfer is None
    assert any(s.startswith("Transfer could not be measured") for s in report.verdict.sentences)


def test_shares_follow_those_of_every_split() -> None:
    assert efface.split(people(50), seed=0).counts()["fit"][0] == round(partners._FIT * 50)
