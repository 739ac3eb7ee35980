"""The meter on real faces: what the docs say of the schemes is so, on fewer people."""

from __future__ import annotations

from pathlib import Path

import pytest

import efface
from efface.auditing.curve import guess_curve
from efface.auditing.curve_cost import Costs, words
from efface.auditing.curve_rules import CurveRules
from efface.hazmat.derive import Argon2id, Blake2b
from efface.protect.template import L2FEHash, Shared
from efface.protect.template.facial_fe import FacialFE
from efface.protect.template.mrp import MRP
from efface.readings import AttackReading, Reading
from efface.types import Samples

pytestmark = [
    pytest.mark.shared,
    pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning"),
]


@pytest.fixture(scope="module")
def faces(shared: Path) -> Samples:
    return efface.load(shared / "data" / "lfw" / "embeddings" / "dlib128.npz")


def attack(reading: Reading, name: str, leakage: str = "full") -> AttackReading:
    return next(a for a in reading.attacks if (a.attack, a.leakage) == (name, leakage))


def test_a_projection_with_its_seed_is_the_person_and_without_is_nobody(faces: Samples) -> None:
    found = efface.meter(
        faces, MRP(n=64, threshold=0.5), people=60, attacks=["pipe", "preimage"], bootstrap=200
    )
    assert (attack(found, "preimage").accepted.value or 0) == 1.0
    assert (attack(found, "pipe", "partial").near.high or 1) < 0.7
    assert found.verdict.finding == "broken"


def test_where_facial_fe_accepts_people_the_mean_and_the_sketch_open_it(faces: Samples) -> None:
    found = efface.meter(
        faces, FacialFE(fnr=0.1), people=60, attacks=["pipe", "centre-query"], bootstrap=200
    )
    assert (found.tpr.value or 0) > 0.7
    assert (attack(found, "pipe").near.value or 0) > 0.9
    assert (attack(found, "centre-query").opened.value or 0) > 10 * (found.fpr.value or 0)


def test_several_pictures_cost_a_thief_more_and_votes_less_than_their_mean(shared: Path) -> None:
    """What the page on the meter says of hardening, with a smaller lattice and fewer people."""
    faces = efface.load(shared / "data" / "lfw" / "embeddings" / "face_mobile_512.npz")
    rules = CurveRules(people=60, guesses=150, lattices=1, bootstrap=200)
    costs = Costs(1e-5, {words(k): 1.0 for k in (Blake2b(), Argon2id())})
    scheme = L2FEHash(m=60, l=20, bases=Shared(1))
    curve = guess_curve(faces, scheme, images=5, rules=rules, costs=costs)
    half = {}
    for arm in curve.arms:
        near = min(arm.points, key=lambda p: abs((p.tpr.value or 0) - 0.9))
        half[arm.name] = near.guesses_50 or float("inf")
    assert half["paper"] <= 2, "there is something to harden"
    assert half["paper, 5 pictures"] > 5 * half["paper"]
    assert half["hardened, mean of 5"] > half["hardened, 3 of 5 votes"] >= half["paper"]
