"""FAISS files that are damaged or of a form that cannot be projected; work that is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faiss_files import DIM, ROWS, ids, make, raw
from killing import Forks, until_done
from store_erasers import drawn

from efface.cli.main import invoke
from efface.errors import DataError, StoreError
from efface.export.safetensors import save_eraser
from efface.stores.address import open_sink, open_source, parse
from efface.stores.engine import apply_store
from efface.stores.faiss_layout import mappable
from efface.stores.faiss_rows import opened

faiss = pytest.importorskip("faiss")

ORIGINALS = "project the original vectors"
REFUSED = {
    "PQ4x4": ("compressed", ORIGINALS),
    "SQ8": ("fewer than 16 bits", ORIGINALS),
    "SQbf16": ("another form than float16", ORIGINALS),
    "IVF4,SQfp16": ("difference from a centroid", ORIGINALS),
    "IVF4,PQ4x4": ("compressed", ORIGINALS),
    "PCA4,Flat": ("changes vectors before it stores them", "the index inside"),
    "Flat,RFlat": ("not known here", ORIGINALS),
    "IVF4,FlatDedup": ("not known here", ORIGINALS),
    "NSG8,Flat": ("not known here", ORIGINALS),
}


@pytest.mark.parametrize("key", REFUSED)
def test_forms_that_give_back_other_vectors_are_refused(tmp_path: Path, key: str) -> None:
    make(key, tmp_path / "x.faiss", metric="L2")
    why, way_out = REFUSED[key]
    with pytest.raises(DataError, match=rf"x\.faiss: Index\w+ .*{why}.*: .*{way_out}"):
        opened(tmp_path / "x.faiss")


@pytest.mark.parametrize("key", ["Flat", "IDMap2,Flat", "HNSW4", "IVF2,Flat", "SQfp16"])
def test_a_file_cut_short_anywhere_or_changed_never_gets_past(tmp_path: Path, key: str) -> None:
    """A changed number in a vector is another vector; whatever else is changed is noticed."""
    make(key, tmp_path / "sound.faiss")
    blob, path = (tmp_path / "sound.faiss").read_bytes(), tmp_path / "x.faiss"
    rng = np.random.default_rng(8)
    cuts = np.unique([*range(60), *rng.integers(60, len(blob), 100)])
    for cut in cuts.tolist():
        path.write_bytes(blob[:cut])
        with pytest.raises(DataError, match=r"x\.faiss: is no FAISS index or is damaged"):
            opened(path)
    for at in rng.integers(0, min(len(blob), 800), 250).tolist():
        changed = bytearray(blob)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            found = opened(path)
        except DataError:
            continue
        assert found.vectors(slice(0, found.total)).shape == (found.total, found.form.dim)


def test_only_flat_files_that_are_whole_are_mapped(tmp_path: Path) -> None:
    for key, expected in (("Flat", True), ("IDMap,Flat", True), ("HNSW4", False)):
        make(key, tmp_path / "x.faiss")
        assert mappable(tmp_path / "x.faiss") is expected
    make("Flat", tmp_path / "x.faiss")
    blob = (tmp_path / "x.faiss").read_bytes()
    for other in (blob[:-1], blob + b"x", b"", b"IxFI", blob[:20]):
        (tmp_path / "x.faiss").write_bytes(other)
        assert not mappable(tmp_path / "x.faiss")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_named_by_their_ids(tmp_path: Path, value: float) -> None:
    index = faiss.IndexIDMap(faiss.IndexFlatIP(DIM))
    x = raw()
    x[7, 3] = value
    index.add_with_ids(x, ids())
    faiss.write_index(index, str(tmp_path / "x.faiss"))
    source = open_source(parse(str(tmp_path / "x.faiss")))
    sink = open_sink(parse(str(tmp_path / "y.faiss")), source)
    with pytest.raises(DataError, match=rf"row {ids()[7]} \("):
        apply_store(drawn(DIM, 3), source, sink, part_rows=50)
    assert not (tmp_path / "y.faiss").exists()


# --- kill -9 ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks("efface.stores.faiss", "faiss") as server:
        yield server


@pytest.mark.parametrize("key", ["Flat", "IDMap,HNSW8", "IVF4,Flat"])
def test_killed_at_random_points_it_ends_as_if_nothing_had_been(
    tmp_path: Path, forks: Forks, key: str
) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    one = drawn(DIM, 3)
    save_eraser(one, folder / "p.safetensors")
    make(key, folder / "raw.faiss")
    killed, rng = 0, np.random.default_rng(9)
    while killed < 5:  # a quick run may end before it is killed: then with another target
        name = f"clean{killed}.faiss"
        words = ["apply", "p.safetensors", "raw.faiss", "--out", name, "--part-rows", "20",
                 "--workers", "1"]  # fmt: skip
        receipt = f"{name}.receipt.json"
        for old in folder.glob(f"{name}*"):
            old.unlink()
        killed += until_done(forks, words, folder, rng, kills=12, receipt=receipt).killed
        assert np.array_equal(rows_of(folder / name), one.transform(raw()))
        assert not (folder / f"{name}.efface-work").exists()


def rows_of(path: Path) -> np.ndarray:
    found = opened(path)
    return found.vectors(slice(0, found.total))


def test_a_full_disk_is_named_and_the_same_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from efface.stores import faiss_build

    make("HNSW8", tmp_path / "raw.faiss")
    source = open_source(parse(str(tmp_path / "raw.faiss")))
    sink = open_sink(parse(str(tmp_path / "clean.faiss")), source)

    class Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(faiss, name)

        def write_index(self, *_: Any) -> None:
            raise RuntimeError("write error in clean.faiss: 0 != 1 (No space left on device)")

    with monkeypatch.context() as patch:
        patch.setattr(faiss_build, "need", lambda *_: Full())
        with pytest.raises(StoreError, match="the disk or its quota is full"):
            apply_store(drawn(DIM, 3), source, sink, part_rows=90)
    assert not (tmp_path / "clean.faiss").exists()
    receipt = apply_store(drawn(DIM, 3), source, sink, part_rows=90)
    assert receipt.time.rows == 0  # the parts were all there
    assert rows_of(tmp_path / "clean.faiss").shape == (ROWS, DIM)


def test_a_missing_file_and_another_ending_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_eraser(drawn(DIM, 3), tmp_path / "p.safetensors")
    projector, source = str(tmp_path / "p.safetensors"), str(tmp_path / "raw.faiss")
    assert invoke(["apply", projector, source, "--out", str(tmp_path / "y.faiss")]) == 2
    assert "raw.faiss" in capsys.readouterr().err
    make("Flat", Path(source))
    assert invoke(["apply", projector, source, "--out", str(tmp_path / "y.npy")]) == 2
    assert "same kind" in capsys.readouterr().err
