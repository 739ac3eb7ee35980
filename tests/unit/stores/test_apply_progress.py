"""The progress line of a terminal: rows, rate, time left; earlier runs do not make it faster."""

from __future__ import annotations

import io
import sys

import pytest

from efface.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_rate_counts_this_run_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress[None]("apply", 0, unit="row") as bar:
        bar.of(500_000, 2_000_000)
        bar.of(1_000_000, 2_000_000)
        shown = {**bar._bar.format_dict, "elapsed": 10.0, "rate": None}
        line = bar._bar.format_meter(**shown)
    assert "apply:  50%" in line
    assert "1.00M/2.00M" in line
    assert "00:10<00:20" in line
    assert "50.0krow/s" in line
