"""What is wrong with a request is said before anything is attacked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import efface
from efface.api import fit_projector
from efface.auditing import table
from efface.data import synthetic
from efface.errors import DataError, EffaceError, PlanError
from efface.types import Samples

NAN = float("nan")


@pytest.fixture(scope="module")
def samples() -> Samples:
    return synthetic.embedding_world(people=60, images=5, dim=24, rank=6, context_rank=6).samples


def narrow() -> Samples:
    return synthetic.embedding_world(people=40, images=5, dim=16, rank=4, context_rank=4).samples


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        *(({"fail_above": bad}, PlanError, "--fail-above") for bad in (NAN, -0.1, 1.01)),
        *(({"target": bad}, PlanError, "the target is") for bad in (NAN, -0.1, 1.01)),
        *(({"level": bad}, PlanError, "level must lie") for bad in (NAN, 0.0, 1.0, -1.0)),
        *(({"far": bad}, PlanError, "far must lie") for bad in (NAN, 0.0, 1.0)),
        *(({"seed": bad}, PlanError, "seed is a whole") for bad in (-1, 0.5, "x", True)),
        *(({"bootstrap": bad}, PlanError, "bootstrap needs") for bad in (199, 250.5)),
        *(({"shots": bad}, PlanError, "whole numbers") for bad in ((), (0,), (1.5,))),
        ({"sweep": ("ranks",)}, PlanError, "no sweep named"),
        ({"utility": narrow()}, DataError, "utility vectors have 16 dimensions"),
        ({"utility": [narrow()]}, DataError, "utility needs one encoder"),
        ({"transfer": narrow()}, DataError, "transfer vectors have 16 dimensions"),
    ],
)
def test_refused_before_any_attack(
    samples: Samples,
    change: dict[str, Any],
    error: type[EffaceError],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("attacked already")

    monkeypatch.setattr(table, "run", refuse)
    given = {"far": 1e-2, "protections": [efface.ISP(rank=3)], "attacks": ["cosine"], **change}
    with pytest.raises(error, match=words):
        efface.audit(samples, **given)


@pytest.mark.parametrize("target", [NAN, -0.1, 1.01])
def test_fit_refuses_a_target_that_is_no_share(samples: Samples, target: float) -> None:
    with pytest.raises(PlanError, match="the target is"):
        fit_projector(samples, target=target)


@pytest.mark.filterwarnings("ignore:the gate is 0")
def test_the_ends_are_shares(samples: Samples) -> None:
    for limit in (0, 1):
        efface.audit(
            samples, attacks=["cosine"], far=1e-2, bootstrap=200, sweep=(), fail_above=limit,
            target=np.float64(limit),
        )  # fmt: skip
