"""One catalogue of protections, attacks, encoders and judges. Docs, CLI and contract tests
follow from it: adding a thing is one file with ``@register`` and one line in ``_MODULES``."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from efface.errors import PlanError
from efface.results import Card

T = TypeVar("T")

_MODULES = (
    "efface.protect.linear.isp",
    "efface.protect.linear.leace",
    "efface.protect.linear.sal",
    "efface.protect.linear.inlp",
    "efface.protect.linear.rlace",
    "efface.attack.verify.cosine",
    "efface.attack.verify.ridge",
    "efface.attack.verify.lda",
    "efface.attack.verify.mlp",
    "efface.attack.verify.fusion",
    "efface.attack.template.pipe",
    "efface.attack.template.centre_query",
    "efface.attack.template.dictionary",
    "efface.attack.template.lattice_reduction",
    "efface.attack.template.preimage",
    "efface.judge.verification",
    "efface.judge.template",
    "efface.protect.template.mrp",
    "efface.protect.template.facial_fe",
    "efface.protect.template.l2fe_hash",
    "efface.protect.template.biohash",
    "efface.encoders.onnx",
    "efface.encoders.arcface",
    "efface.encoders.torchscript",
    "efface.encoders.huggingface",
    "efface.encoders.dlib",
)
_ENTRIES: dict[tuple[str, str], tuple[Card, Any]] = {}


def register(card: Card) -> Callable[[type[T]], type[T]]:
    """Class decorator: put the class in the catalogue under ``card``."""

    def enter(cls: type[T]) -> type[T]:
        key = (card.role, card.name)
        known = _ENTRIES.get(key)
        if known is not None and known[1].__qualname__ != cls.__qualname__:
            raise PlanError(f"two {card.role}s are named {card.name!r}")
        _ENTRIES[key] = (card, cls)
        cls.card = card  # type: ignore[attr-defined]
        return cls

    return enter


def cards(role: str | None = None) -> list[Card]:
    """Every card, in catalogue order, of one role if given."""
    _load()
    return [card for card, _ in _ENTRIES.values() if role in (None, card.role)]


def find(role: str, name: str) -> Any:
    """The class registered under a name; an unknown name is answered with the nearest."""
    _load()
    entry = _ENTRIES.get((role, name.lower()))
    if entry is None:
        names = [card.name for card in cards(role)]
        raise PlanError(f"no {role} named {name!r}{nearest(name, names)}")
    return entry[1]


def make(role: str, name: str, **params: Any) -> Any:
    """Build a registered thing; unknown parameters are refused with the nearest known one."""
    cls = find(role, name)
    import inspect

    known = [
        p for p in inspect.signature(cls).parameters if not p.endswith("_")
    ]  # x_ is learnt, not given
    for param in params:
        if param not in known:
            raise PlanError(f"{name} has no parameter {param!r}{nearest(param, known)}")
    made = cls(**params)
    check = getattr(made, "check", None)
    if check is not None:
        check()
    return made


def nearest(word: str, known: list[str]) -> str:
    """`` (did you mean 'x'? known: ...)`` for an error message."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f" ({hint}known: {', '.join(sorted(known))})"


def _load() -> None:
    for module in _MODULES:
        importlib.import_module(module)
