"""Every registered attack keeps the contract of efface.types.Attack."""

from __future__ import annotations

from typing import Any

import pytest

from efface import registry
from efface.testing import check_attack

NAMES = [card.name for card in registry.cards("attack")]

# A contract does not need a trained network, only one that has been through its loop.
QUICK: dict[str, dict[str, Any]] = {"mlp": {"steps": 60, "hidden": (32, 32), "batch": 32}}


def test_every_shortcut_belongs_to_an_attack() -> None:
    assert set(QUICK) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_attack_keeps_its_contract(name: str) -> None:
    check_attack(lambda: registry.make("attack", name, **QUICK.get(name, {})))
