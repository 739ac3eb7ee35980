"""The pages on Parquet, Arrow and NumPy files run as written, from raw to clean to live."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pages import DOCS
from test_examples import play

from efface import load_eraser
from efface.errors import EffaceError
from efface.protect.linear.eraser import LinearEraser
from efface.stores.address import open_source, parse
from efface.stores.check import check_store
from efface.stores.run import Order, run

SAID = {
    "parquet": "1200 rows of 3 days",
    "arrow": "1200 rows, door 1",
    "numpy": "float16 front door",
}
STORES = {  # live again after the swap, and what was live before it
    "parquet": ("faces", "faces.before-efface"),
    "arrow": ("faces.arrow", "faces.arrow.before-efface"),
    "numpy": ("faces.npy", "faces.npy.before-efface"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAID)
def test_the_page_runs_and_leaves_a_clean_store_live(kind: str, tmp_path: Path) -> None:
    said = play(DOCS / f"stores-{kind}.md", tmp_path)
    assert SAID[kind] in said
    live, before = (tmp_path / name for name in STORES[kind])
    eraser = load_eraser(tmp_path / "projector.safetensors")
    assert str(before.name) in said
    assert check_store(open_source(parse(str(live))), eraser).outcome == "clean"
    moved = before.rename(tmp_path / f"raw{live.suffix}")
    assert check_store(open_source(parse(str(moved))), eraser).outcome == "raw"


def test_what_the_page_on_numpy_refuses_is_refused(tmp_path: Path) -> None:
    refused = {
        "whole.npy": (np.ones((4, 3), np.int64), "whole numbers", "convert them to float32"),
        "flat.npy": (np.ones(12, np.float32), "two dimensions", "must be a 2-D array"),
    }
    page = (DOCS / "stores-numpy.md").read_text(encoding="utf-8")
    eraser = LinearEraser(np.eye(3)[:, :1])
    for name, (array, promised, said) in refused.items():
        assert promised in page
        np.save(tmp_path / name, array)
        order = Order(*(parse(str(tmp_path / n)) for n in (name, "out.npy")), tmp_path / "r.json")
        with pytest.raises(EffaceError, match=said):
            run(order, eraser)
        assert not (tmp_path / "out.npy").exists()
