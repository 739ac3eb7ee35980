"""What the tests of attribution share."""

from __future__ import annotations

from pathlib import Path

import pytest
from people_folder import folder


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return folder(tmp_path_factory.mktemp("world") / "people")
