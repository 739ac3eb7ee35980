"""Every registered attack keeps the contract of efface.types.Attack."""

from __future__ import annotations

from typing import Any

import pytest

from efface import registry
from efface.testing import check_attack

NAMES = [card.name for card in registry.cards("attack") if card.accepts == "embedding"]

# A contract does not need a trained network, only one that has been through its loop.
QUICK: dict[str, dict[str, Any]] = {"mlp": {"steps": 60, "hidden": (32, 32), "batch": 32}}


def test_every_shortcut_belongs_to_an_attack() -> None:
    assert set(QUICK) <= set(NAMES)


# An option that calibration people have settled is an attack too.
SETTLED: list[tuple[str, dict[str, Any]]] = [
    ("ridge", {"alpha": 1.0}),
    ("lda", {"shrinkage": 0.1, "weighing": "plda"}),
]


@pytest.mark.parametrize(("name", "params"), SETTLED, ids=lambda v: str(v))
def test_settled_attack_keeps_its_contract(name: str, params: dict[str, Any]) -> None:
    check_attack(lambda: registry.make("attack", name, **params))


@pytest.mark.parametrize("name", NAMES)
def test_attack_keeps_its_contract(name: str) -> None:
    check_attack(lambda: registry.make("attack", name, **QUICK.get(name, {})))
