"""What a cached measurement depends on beside its case: the code and every parameter.

A measurement made by another version of an attack, or under other defaults, must not be taken
for one of this version, even if the version number was never raised.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from efface.registry import make
from efface.results import Spec

_SOURCE = Path(__file__).resolve().parents[1]
_PLAYS = (
    "attack", "auditing", "judge", "measure", "protect", "registry.py", "results.py", "types.py",
)  # fmt: skip
"""What takes part in a measurement; readers, reports and stores do not."""


@cache
def package_digest() -> str:
    """SHA-256 over the source of everything in efface that takes part in a measurement."""
    sha = hashlib.sha256()
    for name in _PLAYS:
        place = _SOURCE / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            sha.update(f"{file.relative_to(_SOURCE).as_posix()}\0".encode())
            sha.update(file.read_bytes())
    return sha.hexdigest()


def attack_digest(spec: Spec) -> str:
    """SHA-256 over an attack's parameters, defaults included, and over its code."""
    attack = make("attack", spec.name, **spec.params)
    kind = type(attack)
    params = {name: getattr(attack, name, None) for name in inspect.signature(kind).parameters}
    sha = hashlib.sha256(f"{package_digest()} {params!r}".encode())
    for base in kind.__mro__:
        if base is not object:
            sha.update("\0".join(_source(base)).encode())
    for part in getattr(attack, "parts", ()):
        sha.update(attack_digest(Spec(part)).encode())
    return sha.hexdigest()


def _source(base: type) -> Iterator[str]:
    """The module a class stands in, where there is one, and what its methods do right now: a
    class typed into a session, or changed by one, has no file to look at."""
    yield base.__qualname__
    if not base.__module__.startswith("efface."):
        yield _module(base)
    for name, value in sorted(vars(base).items()):
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if isinstance(function, FunctionType):
            yield f"{name} {''.join(_compiled(function.__code__))}"


def _module(base: type) -> str:
    module = inspect.getmodule(base)
    try:
        return "" if module is None else inspect.getsource(module)
    except (OSError, TypeError):
        return ""


def _compiled(code: CodeType) -> Iterator[str]:
    """Byte code, names and constants, those of inner functions as well: no addresses."""
    yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames}"
    for constant in code.co_consts:
        yield from _compiled(constant) if isinstance(constant, CodeType) else [_told(constant)]


def _told(constant: Any) -> str:
    """A set of constants has no order of its own."""
    return repr(sorted(constant, key=repr)) if isinstance(constant, frozenset) else repr(constant)
