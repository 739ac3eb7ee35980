"""``efface apply --scheduler``: other machines, the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from efface.cli.main import invoke
from efface.export.safetensors import save_eraser
from efface.protect.linear.eraser import LinearEraser


def test_a_cluster_writes_the_same_file(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the workers stand elsewhere
    rng = np.random.default_rng(0)
    np.save("raw.npy", rng.normal(size=(400, 16)).astype(np.float32))
    save_eraser(LinearEraser(np.linalg.qr(rng.normal(size=(16, 4)))[0]), "p.safetensors")
    words = ["apply", "p.safetensors", "raw.npy", "--part-rows", "30", "--out"]
    assert invoke([*words, "one.npy", "--workers", "1"]) == 0
    assert invoke([*words, "many.npy", "--scheduler", cluster.scheduler_address]) == 0
    assert Path("many.npy").read_bytes() == Path("one.npy").read_bytes()
    assert Path("many.npy.receipt.json").exists()
