"""``efface reproduce``: how it ends where there is no figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from efface.auditing import reproduce
from efface.auditing.printed import Printed
from efface.cli.main import invoke

NONE = Printed("1", "t", ["data", "model", "k=1 RAW"], [["emb", "this data", "-"]], [], ["few"])
SOME = Printed("5", "t", ["data", "model", "r=0"], [["emb", "this data", "3.0 [1, 4]"]], [])
EMPTY = Printed("2", "t", ["data", "model", "k-NN"], [], [], ["not measured: give vectors"])


@pytest.mark.parametrize(
    ("tables", "code", "said"),
    [
        ([NONE], 3, "nothing could be measured: few\n"),
        ([EMPTY], 3, "nothing could be measured: not measured: give vectors\n"),
        ([NONE, EMPTY, SOME], 0, ""),
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_only_dashes_end_with_3_and_say_why(
    tables: list[Printed], code: int, said: str, more: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    x = np.random.default_rng(0).standard_normal((8, 4))
    np.savez(tmp_path / "emb.npz", embedding=x, identity=np.arange(8) // 2)
    monkeypatch.setattr(reproduce, "reproduce", lambda *args, **kwargs: tables)
    given = ["reproduce", "isp-cvpr2026", "--data", str(tmp_path / "emb.npz"), *more]
    assert invoke(given) == code
    assert capsys.readouterr().err == said
