"""The audit as a whole: what it must find, and what it must not claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import efface
from efface.data import synthetic
from efface.errors import DataError, PlanError, SplitError
from efface.results import Estimate, Report
from efface.types import Samples

FAST = {"far": 1e-2, "bootstrap": 300, "sweep": ()}


@pytest.fixture(scope="module")
def world() -> synthetic.World:
    return synthetic.embedding_world(people=180, images=6, dim=64, rank=16, seed=1)


@pytest.fixture(scope="module")
def report(world: synthetic.World) -> Report:
    return efface.audit(
        world.samples,
        protections=[efface.ISP(rank=8), efface.ISP(rank=20)],
        attacks=["cosine", "ridge", "lda"],
        **FAST,
    )


def tar(report: Report, release: str, attack: str, knowledge: str) -> float:
    found = [
        m.tar.value
        for m in report.measurements
        if (m.case.release, m.case.attack.name, m.case.threat.knowledge)
        == (release, attack, knowledge)
    ]
    assert len(found) == 1
    assert found[0] is not None
    return found[0]


def test_the_leak_was_there_and_full_erasure_takes_it(report: Report) -> None:
    before, half, after = (report.worst(n).tar.value for n in ("raw", "isp-8", "isp-20"))
    assert before is not None
    assert half is not None
    assert after is not None
    assert before > 0.9
    assert (
        half > 0.5
    )  # half of the identity directions are left, and the strong attacker finds them
    assert after < 0.1


def test_every_attacker_plays_naive_and_parrot_on_a_protected_release(report: Report) -> None:
    played = {
        (m.case.attack.name, m.case.threat.knowledge)
        for m in report.measurements
        if m.case.release == "isp-8"
    }
    assert played == {
        ("cosine", "none"), ("ridge", "naive"), ("ridge", "parrot"), ("lda", "naive"),
        ("lda", "parrot"),
    }  # fmt: skip


def test_the_worst_case_is_the_largest_and_covers_every_upper_end(report: Report) -> None:
    for release in ("raw", "isp-8", "isp-20"):
        mine = [m for m in report.measurements if m.case.release == release]
        worst = report.worst(release)
        values = [m.tar.value for m in mine if m.tar.value is not None]
        highs = [m.tar.high for m in mine if m.tar.high is not None]
        lows = [m.family_low for m in mine if m.family_low is not None]
        assert worst.tar.value == max(values)
        assert worst.tar.high == max(highs)
        assert worst.tar.low == min(max(lows), max(values))
        assert worst.attackers == len(mine)
        for m in mine:
            assert m.family_low is not None
            assert m.tar.low is not None
            assert m.family_low <= m.tar.low


def test_the_control_arm_sits_at_chance_where_the_leak_is_large(report: Report) -> None:
    raw = [m for m in report.measurements if m.case.release == "raw"]
    for m in raw:
        assert m.tar.value is not None
        assert m.tar.value > 0.5
        assert m.control.value is not None
        assert m.control.value < 0.05


def test_counts_make_the_rates(report: Report) -> None:
    for m in report.measurements:
        c = m.counts
        assert c is not None
        assert m.tar.value == pytest.approx(c.mated_accepted / c.mated)
        assert m.far.value == pytest.approx(c.impostor_accepted / c.impostor)
        assert m.fnmr.value == pytest.approx(1 - m.tar.value)
        assert c.calibration_accepted <= c.calibration_allowed
        assert c.calibration_allowed == int(0.01 * c.calibration_impostor + 1e-9)


def test_test_people_never_move_the_threshold(world: synthetic.World) -> None:
    split = efface.split(world.samples, seed=0)
    other = world.samples.data.copy()
    rng = np.random.default_rng(0)
    other[split.test] = rng.standard_normal((len(split.test), world.samples.dim))
    changed = efface.samples(other, world.samples.names[world.samples.identity])
    one, two = (
        efface.audit(s, split=split, attacks=["ridge", "lda"], **FAST)
        for s in (world.samples, changed)
    )
    for a, b in zip(one.measurements, two.measurements, strict=True):
        assert a.threshold == pytest.approx(b.threshold, abs=1e-6)
        assert a.setting == b.setting
        assert a.tar.value != b.tar.value


def test_an_attacker_with_people_of_its_own_undoes_erasure(world: synthetic.World) -> None:
    """P10: trained only on the people the eraser was fitted on, a ridge probe looks harmless."""
    from efface.auditing.cases import Rules, case
    from efface.auditing.run import Player, run
    from efface.auditing.scene import Scene
    from efface.results import Spec, Threat

    samples = synthetic.embedding_world(
        people=300, images=6, dim=64, rank=40, context_rank=6, seed=5
    ).samples
    scene = Scene.of(samples, efface.split(samples, fit=30, shadow=150, calibration=60, test=60))
    shipped = scene.ship(efface.ISP(rank=20), "isp", Spec("isp"), 0)
    rules = Rules(far=1e-2, bootstrap=300)
    player = Player(scene, bootstrap=300)
    weak, strong = (
        run(case(scene, shipped, Spec("ridge"), Threat(pool=pool), rules), shipped, player)  # type: ignore[arg-type]
        for pool in ("fit", "shadow")
    )
    assert weak.tar.value is not None
    assert strong.tar.value is not None
    assert strong.tar.value > weak.tar.value + 0.1


def test_sweeps_have_their_axes_and_the_chosen_rank(world: synthetic.World) -> None:
    report = efface.audit(
        world.samples, protections=[efface.ISP(rank=16)], attacks=["cosine", "ridge"],
        far=1e-2, bootstrap=300,
    )  # fmt: skip
    by_axis = {s.axis: s for s in report.sweeps}
    assert set(by_axis) == {"rank", "people fitted", "people attacking"}
    ranks = by_axis["rank"]
    assert [p.x for p in ranks.points] == [0, 4, 8, 16]
    assert ranks.chosen == 16
    values = [p.tar.value for p in ranks.points]
    assert values[0] == report.worst("raw").tar.value
    assert values[-1] == report.worst("isp-16").tar.value
    assert by_axis["people fitted"].points[-1].x == report.subject.parts["fit"][0]
    pool = report.subject.parts["fit"][0] + report.subject.parts["shadow"][0]
    assert by_axis["people attacking"].points[-1].x == pool


def test_paper_mode_is_parrot_on_fit_people_with_k_images(world: synthetic.World) -> None:
    report = efface.audit(
        world.samples, protections=[efface.ISP(rank=8)], attacks=["ridge", "lda"], far=1e-2,
        mode="paper", shots=(1, 4, 5), resamples=3, quota=5, bootstrap=300,
    )  # fmt: skip
    for m in report.measurements:
        assert m.case.threat.pool == "fit"
        k = m.case.threat.images
        assert k is not None
        # Nobody has seven images; and LDA has no meaning with one, whatever the data.
        unplayed = {5: "insufficient data"}.get(k)
        if k == 1 and m.case.attack.name == "lda":
            unplayed = "not applicable"
        if unplayed:
            assert m.status == unplayed
            assert m.note
            continue
        assert m.counts is not None
        people = report.subject.parts["test"][0]
        queries = 6 - k
        assert m.counts.mated == 3 * people * queries * (queries - 1) // 2
        pairs = people * (people - 1) // 2
        assert m.counts.impostor == 3 * pairs * min(5, queries**2)


def test_insufficient_data_is_an_outcome_not_a_number(world: synthetic.World) -> None:
    report = efface.audit(world.samples, attacks=["cosine"], far=1e-7, fail_above=0.1, sweep=())
    worst = report.worst()
    assert worst.status == "insufficient data"
    assert worst.tar == Estimate(None, method=worst.tar.method)
    assert "impostor pairs" in worst.note
    assert report.verdict.outcome == "inconclusive"
    assert report.measurements[0].pauc.value is not None  # the fallback of A.4, with its interval
    assert report.measurements[0].threshold is None


def test_cache_gives_the_same_report_and_survives_damage(
    world: synthetic.World, tmp_path: Path
) -> None:
    def play() -> Report:
        return efface.audit(
            world.samples, protections=[efface.SAL(rank=8)], attacks=["cosine", "lda"],
            cache=tmp_path, **FAST,
        )  # fmt: skip

    first = play()
    entries = sorted(tmp_path.rglob("*.json"))
    assert len(entries) == len(first.measurements)
    stamps = [e.stat().st_mtime_ns for e in entries]
    assert play() == first
    assert [e.stat().st_mtime_ns for e in entries] == stamps  # nothing was played again
    entries[0].write_bytes(b'{"case": 1}')
    entries[1].write_bytes(entries[2].read_bytes())  # another case under this name
    assert play() == first
    assert b'"case": 1' not in entries[0].read_bytes()


def test_a_projector_is_not_judged_on_people_it_was_fitted_on(world: synthetic.World) -> None:
    from efface.api import fit_projector

    eraser, _ = fit_projector(world.samples, rank=8, seed=0)
    with pytest.raises(SplitError, match="was fitted on"):
        efface.audit(
            world.samples, protections=[eraser], split=efface.split(world.samples, seed=1),
            attacks=["cosine"],
        )  # fmt: skip
    report = efface.audit(world.samples, protections=[eraser], attacks=["cosine"], seed=1, **FAST)
    assert report.subject.parts["fit"][0] == eraser.identities


def test_worst_refuses_a_release_that_is_not_there(report: Report) -> None:
    with pytest.raises(KeyError, match="isp-8"):
        report.worst("isp-9")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"attacks": ["rigde"]}, PlanError),
        ({"attacks": []}, PlanError),
        ({"far": 0.0}, PlanError),
        ({"mode": "weak"}, PlanError),
        ({"fail_above": 1.5}, PlanError),
        ({"protections": [3]}, PlanError),
        ({"sweep": ["ranks"]}, PlanError),
        ({"transfer": "self"}, PlanError),
    ],
)
def test_bad_arguments_are_refused_by_name(
    world: synthetic.World, change: dict[str, object], error: type[Exception]
) -> None:
    if change.get("transfer") == "self":
        change = {"transfer": world.samples}
    with pytest.raises(error):
        efface.audit(world.samples, **{**FAST, "attacks": ["cosine"], **change})  # type: ignore[arg-type]


def test_transfer_needs_one_encoder(world: synthetic.World) -> None:
    other: Samples = synthetic.embedding_world(people=40, dim=50, rank=8, context_rank=4).samples
    with pytest.raises(DataError, match="one encoder"):
        efface.audit(
            world.samples, protections=[efface.ISP(rank=4)], attacks=["cosine"], transfer=other,
            **FAST,
        )  # fmt: skip
