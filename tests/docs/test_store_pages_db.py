"""The pages on databases, followed by a stranger: a real PostgreSQL server, a Qdrant folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from pages import DOCS
from test_examples import play

_STOP = "import pgserver; pgserver.get_server('pgdata', cleanup_mode='delete').cleanup()"


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short name that other users may enter: a server's socket is below it."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # both wait for the disk often
    with tempfile.TemporaryDirectory(prefix="page", dir=memory) as made:
        folder = Path(made)
        folder.chmod(0o755)
        yield folder
        if (folder / "pgdata" / "postmaster.pid").exists():
            subprocess.run([sys.executable, "-c", _STOP], cwd=folder, check=True)
        shutil.rmtree(folder / "pgdata", ignore_errors=True)


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(find_spec, ("psycopg", "pgvector", "pgserver"))),
    reason="needs psycopg, pgvector and pgserver, which has no build for every Python",
)
def test_the_page_on_postgres(short: Path) -> None:
    said = play(DOCS / "stores-postgres.md", short)
    receipt = json.loads((short / "pictures.receipt.json").read_text())
    assert receipt["rows"]["written"] == receipt["verified"]["rows"] == 1000
    assert receipt["swapped"] == "pictures"
    assert "USING hnsw (embedding vector_cosine_ops)" in said
    assert not (short / "pgdata").exists()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("qdrant_client") is None, reason="needs qdrant-client")
def test_the_page_on_qdrant(short: Path) -> None:
    said = play(DOCS / "stores-qdrant.md", short)
    receipt = json.loads((short / "pictures.receipt.json").read_text())
    assert receipt["rows"]["written"] == receipt["verified"]["rows"] == 150
    assert "pictures__before_efface -> pictures_v1" in said
