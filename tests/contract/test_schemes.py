"""Every registered template scheme keeps the contract of efface.types.TemplateScheme."""

from __future__ import annotations

from typing import Any

import pytest

from efface import registry
from efface.protect.template import Argon2id, Hardening
from efface.testing import check_scheme

NAMES = [card.name for card in registry.cards("scheme")]
PEPPER = b"kept apart from the database"

# The made-up people have 48 dimensions; LLL at the paper's 180 takes seconds.
SMALL: dict[str, dict[str, Any]] = {
    "mrp": {"n": 24},
    "biohash": {"n": 32},
    "facial-fe": {},
    "l2fe-hash": {"m": 40, "l": 13, "scale": 0.02},
}
HARDER = {
    "pepper": Hardening(pepper=PEPPER),
    "votes": Hardening(probes="vote", votes=1),
    "everything": Hardening(
        kdf=Argon2id(passes=1, memory_kib=64, lanes=1), pepper=PEPPER, bind=True, probes="vote"
    ),
}
HASHING = ("facial-fe", "l2fe-hash")


def test_every_shortcut_belongs_to_a_scheme() -> None:
    assert set(SMALL) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_scheme_keeps_its_contract(name: str) -> None:
    check_scheme(lambda: registry.make("scheme", name, **SMALL[name]))


@pytest.mark.parametrize("how", HARDER)
@pytest.mark.parametrize("name", NAMES)
def test_hardened_scheme_keeps_its_contract(name: str, how: str) -> None:
    if how == "everything" and name not in HASHING:
        pytest.skip("it hashes nothing, and says so: see test_hardening")
    hardening = HARDER[how]
    check_scheme(lambda: registry.make("scheme", name, hardening=hardening, **SMALL[name]))


@pytest.mark.parametrize("name", NAMES)
def test_an_instance_is_a_subject_too(name: str) -> None:
    check_scheme(registry.make("scheme", name, **SMALL[name]))


@pytest.mark.parametrize("name", NAMES)
def test_the_card_says_what_breaks_it_with_a_figure_or_a_paper(name: str) -> None:
    card = registry.find("scheme", name).card
    assert card.verdict.startswith("broken by ")
    assert any(character.isdigit() for character in card.verdict)
    assert card.yields == "template"
