"""The pages about exports, FAISS and LanceDB do what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from pages import DOCS
from test_examples import play

from efface import load_eraser


@pytest.mark.slow
def test_exports(tmp_path: Path) -> None:
    for name in ("faiss", "onnxruntime", "torch", "sklearn"):
        pytest.importorskip(name)
    said = play(DOCS / "exports.md", tmp_path)
    assert "25 dimensions instead of 32" in said
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js: install node to run the example in JavaScript")
    vectors = (tmp_path / "vectors.json").read_text(encoding="utf-8")
    words = [node, str(DOCS / "examples" / "erase.mjs"), str(tmp_path / "projector.json")]
    done = subprocess.run(words, input=vectors, capture_output=True, text=True, check=True)
    clean = load_eraser(tmp_path / "projector.safetensors").transform(np.array(json.loads(vectors)))
    assert np.allclose(json.loads(done.stdout), clean, atol=1e-12)


@pytest.mark.slow
def test_faiss_store(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    said = play(DOCS / "stores-faiss.md", tmp_path)
    assert "faces.faiss.before-efface" in said


@pytest.mark.slow
def test_lancedb_store(tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    assert ".jpg" in play(DOCS / "stores-lancedb.md", tmp_path)
