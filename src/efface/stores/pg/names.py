"""Names and texts inside SQL: quoted, and no longer than the server keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

LONGEST = 63
"""Bytes of a name that PostgreSQL keeps; it cuts the rest off without an error."""


def ident(*parts: str) -> str:
    """A name, with its schema before it where one is given."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts if part)


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def listed(names: Iterable[str], alias: str = "") -> str:
    """Columns with commas between them."""
    return ", ".join(ident(alias, name) if alias else ident(name) for name in names)


def fit(name: str) -> str:
    """The name itself, or a shorter one that differs where the long ones do."""
    if len(name.encode()) <= LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    kept = name.encode()[: LONGEST - 9].decode(errors="ignore")
    return f"{kept}_{digest}"


def renamed(name: str, before: str, after: str) -> str:
    """The name of an index or sequence that carries its table's name, for another table."""
    return fit(after + name[len(before) :] if name.startswith(before) else f"{after}_{name}")
