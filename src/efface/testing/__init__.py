"""The contracts of :mod:`efface.types` as checks: call them from a plug-in's tests.
AssertionError names, in a sentence, the first rule broken."""

from __future__ import annotations

from efface.encoders.contract import check_encoder
from efface.testing.games import check_attack, check_protection
from efface.testing.schemes import check_scheme

__all__ = ["check_attack", "check_encoder", "check_protection", "check_scheme"]
