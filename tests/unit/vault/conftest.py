"""Each vault test runs on SQLite and, where there is one, on a real PostgreSQL server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from vault_world import Database, database, schema

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Database]:
    with database("efface_vault", extension=False) as found:
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "vault.db")
    found: Database = request.getfixturevalue("postgres")
    return schema(found, f"vault_{next(_numbers)}").uri
