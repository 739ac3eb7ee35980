"""Every registered protection keeps the contract of efface.types.Protection."""

from __future__ import annotations

from typing import Any

import pytest

from efface import registry
from efface.testing import check_protection

NAMES = [card.name for card in registry.cards("protection")]

# Beside the defaults: settings that take another path through the code.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {"rank": 3, "dtype": "float16"}) for name in NAMES),
    ("isp", {"whiten": True, "rank": 3}),
]


@pytest.mark.parametrize("name", NAMES)
def test_default_protection_keeps_its_contract(name: str) -> None:
    check_protection(registry.find("protection", name))


@pytest.mark.parametrize(("name", "params"), VARIANTS, ids=lambda v: str(v))
def test_protection_with_settings_keeps_its_contract(name: str, params: dict[str, Any]) -> None:
    check_protection(lambda: registry.make("protection", name, **params))
