"""What a plan says of an attack is checked when the attack is made, not hours later."""

from __future__ import annotations

from typing import Any

import pytest

from efface import registry
from efface.errors import PlanError

BAD: list[tuple[str, dict[str, Any]]] = [
    ("ridge", {"alphas": ()}),
    ("ridge", {"alphas": "x"}),
    ("ridge", {"alphas": (1.0, -1.0)}),
    ("ridge", {"alphas": (float("nan"),)}),
    ("lda", {"shrinkages": ("a",)}),
    ("lda", {"weighings": ("x",)}),
    ("lda", {"weighings": "plda"}),
    ("mlp", {"steps": 0}),
    ("mlp", {"hidden": (16, 2.5)}),
    ("mlp", {"batch": True}),
    ("mlp", {"rate": 0.0}),
    ("mlp", {"whitenings": (-0.1,)}),
    ("fusion", {"steps": (0.0,)}),
    ("fusion", {"parts": ("cosine", "fusion")}),
    ("fusion", {"parts": ("ridg",)}),
]


@pytest.mark.parametrize(("name", "params"), BAD, ids=str)
def test_a_senseless_parameter_is_refused_by_name(name: str, params: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=f"{name}: .*{next(iter(params))}"):
        registry.make("attack", name, **params)


def test_zero_is_a_whitening_and_a_decay() -> None:
    registry.make("attack", "mlp", whitenings=(0.0,), decay=0)
