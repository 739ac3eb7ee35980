from __future__ import annotations

from collections.abc import Iterator

import pytest
import report_world
from chromium import Browser, executable

from efface.results import Report


@pytest.fixture(scope="session")
def full_report() -> Report:
    return report_world.build()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if executable() is None:
        pytest.skip("no Chromium on this machine: install the package `chromium` to run this")
    found = Browser(tmp_path_factory.mktemp("chromium"))
    yield found
    found.close()
