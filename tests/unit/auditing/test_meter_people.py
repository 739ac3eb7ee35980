"""The meter on real faces: what the docs say of the schemes is so, on fewer people."""

from __future__ import annotations

from pathlib import Path

import pytest

import efface
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
