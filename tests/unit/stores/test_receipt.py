"""What a receipt says is so: counts, digests, and nothing that differs without a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from flat_store import FlatSink, FlatSource, load, save
from store_erasers import drawn

from efface.errors import StoreError
from efface.stores import digest
from efface.stores import receipt as receipts
from efface.stores.address import parse
from efface.stores.contract import Done, Part
from efface.stores.engine import apply_store
from efface.stores.receipt import Pending, Receipt

ERASER = drawn(8, 3)


def seconds(*times: float) -> Any:
    return iter(times).__next__


@pytest.fixture
def source(tmp_path: Path) -> FlatSource:
    vectors = np.random.default_rng(0).normal(size=(25, 8)).astype(np.float32)
    return FlatSource(save(tmp_path / "old", vectors, np.arange(25)))


def test_every_field_by_hand(tmp_path: Path, source: FlatSource) -> None:
    receipt = apply_store(
        ERASER, source, FlatSink(tmp_path / "new"), part_rows=10, clock=seconds(5.0, 7.0),
        date="2024-02-30", verify="full",
    )  # fmt: skip
    before, after = load(tmp_path / "old")[0], load(tmp_path / "new")[0]

    def digests(vectors: np.ndarray) -> str:
        parts = (vectors[start : start + 10] for start in (0, 10, 20))
        return blake3(b"".join(blake3(part.tobytes()).digest() for part in parts)).hexdigest()

    found = json.loads(receipt.to_json())
    assert found.pop("versions").keys() == {"efface", "numpy", "python"}
    assert found == {
        "format": "efface.receipt/1",
        "source": {
            "place": str(tmp_path / "old"), "fingerprint": source.fingerprint(), "rows": 25,
            "dim": 8, "dtype": "float32",
        },
        "target": str(tmp_path / "new"),
        "projector": {
            "digest": ERASER.digest(), "method": "linear", "rank": 3, "dim": 8, "normalise": True,
        },
        "rows": {"read": 25, "written": 25, "null_kept": 0, "null_dropped": 0},
        "vectors": {"before": digests(before), "after": digests(after)},
        "null": "fail",
        "parts": {"count": 3, "rows": 10},
        "verified": {"how": "full", "parts": 3, "rows": 25},
        "swapped": "",
        "live_fingerprint": "",
        "time": {"seconds": 2.0, "rows": 25, "rows_per_second": 12.5},
        "date": "2024-02-30",
    }  # fmt: skip


def test_equal_work_gives_equal_bytes(tmp_path: Path, source: FlatSource) -> None:
    texts = []
    for name in "ab":
        (tmp_path / name).mkdir()
        sink = FlatSink(tmp_path / name / "new")
        receipt = apply_store(ERASER, source, sink, part_rows=4, clock=seconds(1.0, 2.0))
        texts.append(receipt.to_json().replace(f"/{name}/", "/"))
    assert texts[0] == texts[1]


def test_a_second_run_counts_what_the_first_did_and_not_its_time(
    tmp_path: Path, source: FlatSource
) -> None:
    class Full(FlatSink):
        def commit(self, part: Part, prepared: Any, done: Done) -> None:
            if part.index == 4:
                raise OSError(28, "full")
            super().commit(part, prepared, done)

    told: list[tuple[int, int]] = []
    with pytest.raises(StoreError):
        apply_store(ERASER, source, Full(tmp_path / "new"), part_rows=4)
    receipt = apply_store(
        ERASER, source, FlatSink(tmp_path / "new"), part_rows=4, clock=seconds(0.0, 3.0),
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert told == [(16, 25), (20, 25), (24, 25), (25, 25)]
    assert receipt.rows.written == 25
    assert (receipt.time.rows, receipt.time.rows_per_second) == (9, 3.0)
    whole = apply_store(ERASER, source, FlatSink(tmp_path / "other"), part_rows=4)
    assert receipt.vectors == whole.vectors


def test_a_finished_target_is_refused_unless_resume_or_the_note_of_a_death(
    tmp_path: Path, source: FlatSource
) -> None:
    def again(**more: Any) -> Receipt:
        return apply_store(ERASER, source, FlatSink(tmp_path / "new"), part_rows=4, **more)

    again(receipt=tmp_path / "r.json")
    note = Pending.path(tmp_path / "r.json")
    assert note.exists()  # the caller takes it away with the last step
    again(receipt=tmp_path / "r.json")
    note.unlink()
    with pytest.raises(StoreError, match="--resume"):
        again(receipt=tmp_path / "r.json")
    assert again(resume=True).time.rows == 0
    Pending(job="of other work").write(tmp_path / "r.json")
    with pytest.raises(StoreError, match="--resume"):
        again(receipt=tmp_path / "r.json")
    note.write_bytes(b"{dam")
    with pytest.raises(StoreError, match="--resume"):
        again(receipt=tmp_path / "r.json")


class Careless(FlatSink):
    """Shows something else than it was given."""

    damage: str

    def finish(self) -> None:
        super().finish()
        vectors, ids, present = load(self.folder)
        if self.damage == "bit":
            vectors.view(np.uint32)[13, 2] ^= 1
        elif self.damage == "row":
            vectors, ids, present = vectors[:-1], ids[:-1], present[:-1]
        elif self.damage == "type":
            vectors = vectors.astype(np.float16)
        elif self.damage == "raw":
            vectors[:] = np.random.default_rng(0).normal(size=(25, 8))
        for name, array in (("vectors", vectors), ("ids", ids), ("present", present)):
            np.save(self.folder / f"{name}.npy", array)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("bit", r"part 3 \(4 rows, from row 12 of the source on\) does not hold what was written"),
        ("raw", "does not hold what was written"),
        ("row", "holds 24 rows of 8 float32, not 25 of 8 float32"),
        ("type", "holds 25 rows of 8 float16, not 25 of 8 float32"),
    ],
)
@pytest.mark.parametrize("verify", ["full", "sample"])
def test_verification_sees_what_is_not_as_written(
    tmp_path: Path, source: FlatSource, damage: str, words: str, verify: Any
) -> None:
    sink = Careless(tmp_path / "new")
    sink.damage = damage
    with pytest.raises(StoreError, match=words):
        apply_store(ERASER, source, sink, part_rows=4, verify=verify)


def test_a_sample_reads_the_first_the_last_and_others(tmp_path: Path, source: FlatSource) -> None:
    class Watched(FlatSink):
        def written(self, part: Part, done: Done) -> np.ndarray:
            read.append(part.index)
            return super().written(part, done)

    seen = []
    for seed in range(3):
        read: list[int] = []
        sink = Watched(tmp_path / f"new{seed}")
        receipt = apply_store(ERASER, source, sink, part_rows=1, seed=seed)
        assert (receipt.verified.parts, receipt.verified.rows) == (8, 8)
        assert read == sorted(set(read))
        assert (read[0], read[-1], len(read)) == (0, 24, 8)
        seen.append(read)
    assert seen[0] != seen[1] != seen[2]
    read = []
    receipt = apply_store(ERASER, source, Watched(tmp_path / "none"), part_rows=1, verify="none")
    assert (read, receipt.verified.parts) == ([], 0)


def test_written_whole_and_read_back(tmp_path: Path, source: FlatSource) -> None:
    path = tmp_path / "r.json"
    receipt = apply_store(ERASER, source, FlatSink(tmp_path / "new"))
    receipts.write(receipt, path)
    assert receipts.read(path) == receipt
    path.write_text(path.read_text().replace("receipt/1", "receipt/9"))
    with pytest.raises(StoreError, match=r"of format .*receipt/9"):
        receipts.read(path)
    path.write_bytes(b"{")
    with pytest.raises(StoreError, match="no receipt of efface"):
        receipts.read(path)
    with pytest.raises(StoreError, match="cannot be written"):
        receipts.write(receipt, tmp_path / "gone" / "r.json")


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("a/new.parquet", "a/new.parquet.receipt.json"),
        ("a/folder/", "a/folder.receipt.json"),
        ("postgresql://me:secret@host/db#faces_clean", "faces_clean.receipt.json"),
        ("lancedb:some/place#faces", "faces.receipt.json"),
        ("qdrant:http://host:6333#a/b", "a_b.receipt.json"),
    ],
)
def test_where_receipts_go(target: str, path: str) -> None:
    assert receipts.default_path(parse(target)) == Path(path)


def test_digests_do_not_depend_on_layout() -> None:
    x = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    same = [x, np.asfortranarray(x), x.astype(">f4"), np.repeat(x, 2, axis=0)[::2]]
    assert len({digest.of_vectors(y) for y in same}) == 1
    assert digest.of_vectors(x) == blake3(x.tobytes()).hexdigest()
    assert digest.of_vectors(x[:0]) == blake3().hexdigest()
    one, two = (digest.of_vectors(y) for y in (x[:3], x[3:]))
    assert digest.of_parts([one, two]) != digest.of_parts([two, one])
