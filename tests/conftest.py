"""Fixtures for the suite: real data, a browser and a seeded generator, or a reason to skip."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

# A suite that a shell starts in the background has Ctrl-C ignored, and so have its programs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the project; tests that use it are marked ``shared``."""
    folder = ROOT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"no real data in {folder.name!r} beside the project")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """A headless browser's path; tests that use it are marked ``browser``."""
    for name in (os.environ.get("CHROMIUM", ""), *_BROWSERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    pytest.skip("no Chromium found: install chromium, or name one in CHROMIUM")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed, fresh for every test."""
    return np.random.default_rng(20260101)
