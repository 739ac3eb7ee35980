"""A fitted scheme as a small JSON text: what a service needs to read its templates again.

The pepper is not in it. Neither are vectors: what a scheme learns are a few numbers.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgspec

from efface.errors import EffaceError, TemplateError
from efface.hazmat.derive import named
from efface.protect.template.base import TemplateShell
from efface.protect.template.hardening import ELSEWHERE, Hardening
from efface.registry import find
from efface.results import Scalar

FORMAT = "efface.scheme/1"


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    scheme: str
    version: int
    settings: dict[str, Scalar]


def describe(scheme: TemplateShell) -> bytes:
    """The text of a fitted scheme; equal schemes give equal texts."""
    found = _Stored(FORMAT, scheme.card.name, scheme.version, scheme.settings())
    return msgspec.json.encode(found, order="deterministic")


def restore(text: bytes, *, pepper: bytes | None = None, **runtime: Any) -> TemplateShell:
    """The fitted scheme that a text describes, or a TemplateError.

    Without its ``pepper`` a scheme that has one can be looked at and reads no template. ``runtime``
    are parameters that are no plain values, such as ``bases``.
    """
    try:
        found = msgspec.json.decode(text, type=_Stored)
    except msgspec.MsgspecError as error:
        raise TemplateError(f"the configuration of a scheme cannot be read: {error}") from None
    if found.format != FORMAT:
        raise TemplateError(f"a configuration of format {found.format!r}, not {FORMAT!r}")
    try:
        scheme = _made(found, pepper, runtime)
    except TemplateError:
        raise
    except (EffaceError, TypeError, ValueError) as error:
        raise TemplateError(f"the configuration of a scheme does not hold: {error}") from None
    if scheme.settings() != found.settings:
        raise TemplateError("the configuration of a scheme has settings that it does not know")
    return scheme


def _made(found: _Stored, pepper: bytes | None, runtime: dict[str, Any]) -> TemplateShell:
    cls = find("scheme", found.scheme)
    if found.version != cls.version:
        raise TemplateError(
            f"a configuration of {found.scheme!r}, version {found.version}: this efface has "
            f"version {cls.version}"
        )
    given, names = found.settings, {f.name for f in fields(cls) if f.init} - {"hardening"}
    plain = {name: given[name] for name in names if name in given}
    scheme: TemplateShell = cls(hardening=_hardening(given, pepper), **plain, **runtime)
    scheme.check()
    dim, radius = given.get("dim"), given.get(cls.radius)
    if type(dim) is not int or dim < 1 or not isinstance(radius, int | float):
        raise TemplateError("the configuration of a scheme lacks what fit learnt")
    scheme.dim_, scheme.radius_ = dim, float(radius)
    scheme._restore(given)
    return scheme


def _hardening(given: dict[str, Scalar], pepper: bytes | None) -> Hardening:
    wanted = given.get("pepper") is True
    if pepper is not None and not wanted:
        raise TemplateError("a pepper is given for a scheme that was set up without one")
    probes, votes, of = (given.get(name) for name in ("probes", "votes", "of"))
    images, tries = (given.get(name) for name in ("radius_images", "radius_tries"))
    return Hardening(
        kdf=named(given),
        pepper=(pepper or ELSEWHERE) if wanted else None,
        bind=given.get("bind") is True,
        probes="vote" if probes == "vote" else "mean",
        votes=votes if type(votes) is int else 1,
        of=of if type(of) is int else 0,
        owner=given.get("owner") is True,
        radius_images=images if type(images) is int else 0,
        radius_tries=tries if type(tries) is int else 0,
    )
