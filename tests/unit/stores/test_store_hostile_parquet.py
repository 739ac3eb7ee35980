"""Damaged and hostile Parquet files: refused in words, never the end of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_runs import expected, run
from test_store_parquet import table_of

from efface.data.readers import read_vectors
from efface.errors import DataError
from efface.stores.parquet_footer import footer_bytes, read_footer
from efface.stores.thrift import BINARY, I32, I64, LIST, STRUCT, Items, Struct, get

# A process of its own: a library that ends the process would end this one's tests with it.
_TRY_ALL = """
import sys, os
sys.path[:0] = sys.argv[1:2]
from pathlib import Path
from file_runs import run
from efface.errors import EffaceError
from efface.data.readers import read_vectors
folder, step = Path(sys.argv[2]), int(sys.argv[3])
whole = (folder / "whole.parquet").read_bytes()
clean = read_vectors(folder / "clean.parquet")
refused = same = 0
for name, damaged in {damages}:
    (folder / "old.parquet").write_bytes(damaged)
    for path in folder.glob("new*"):
        import shutil
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    try:
        run(folder / "old.parquet", folder / "new.parquet", part_rows=9, embedding="emb")
        got = read_vectors(folder / "new.parquet", "emb")
        same += got.shape == clean.shape and bool((got == clean).all())
    except EffaceError as error:
        assert "parquet" in str(error) or "column" in str(error), error
        assert not (folder / "new.parquet").exists(), (name, error)
        refused += 1
print(refused, same)
"""


def try_all(folder: Path, damages: str, step: int) -> tuple[int, int]:
    words = [sys.executable, "-W", "ignore", "-c", _TRY_ALL.replace("{damages}", damages),
             str(Path(__file__).parent), str(folder), str(step)]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    refused, same = map(int, done.stdout.split())
    return refused, same


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = table_of("list", "float32", 40, 8, 0.0, 1)
    pq.write_table(
        table, tmp_path / "whole.parquet", row_group_size=20, write_page_checksum=True,
        use_dictionary=["id", "who"],
    )  # fmt: skip
    run(tmp_path / "whole.parquet", tmp_path / "clean.parquet")
    return tmp_path


def test_cut_short_anywhere(folder: Path) -> None:
    refused, same = try_all(
        folder, "((at, whole[:at]) for at in range(1, len(whole), step))", step=97
    )
    size = (folder / "whole.parquet").stat().st_size
    assert refused == len(range(1, size, 97))
    assert same == 0


def test_a_byte_of_the_footer_changed(folder: Path) -> None:
    """A change is refused, or it is of a kind that harms no vector, or it shows in the result."""
    damages = (
        "((at, whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1:]) for at in "
        "range(len(whole) - 8 - int.from_bytes(whole[-8:-4], 'little'), len(whole), step))"
    )
    refused, same = try_all(folder, damages, step=13)
    assert refused > 30
    assert same > 10


def test_a_byte_of_a_page_changed(folder: Path) -> None:
    """Pages have checksums here, so no change of their bytes goes through."""
    footer = read_footer(folder / "whole.parquet")
    at = [leaf.names[0] for leaf in footer.leaves].index("emb")
    column = footer.groups[0].columns[at]
    first, last = column.start + 40, column.start + column.size
    damages = (
        f"((at, whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1:]) for at in "
        f"range({first}, {last}, step))"
    )
    refused, same = try_all(folder, damages, step=71)
    assert refused == len(range(first, last, 71))
    assert same == 0


# --- footers that lie -----------------------------------------------------------------------


def edited(path: Path, change: Any) -> None:
    """The file with another footer."""
    footer = read_footer(path)
    groups = [group.raw for group in footer.groups]
    raw = dict(footer.raw)
    change(raw, groups)
    end = path.stat().st_size - 8 - int.from_bytes(path.read_bytes()[-8:-4], "little")
    data = path.read_bytes()[:end]
    path.write_bytes(data + footer_bytes(raw, groups))


def meta_of(groups: list[Struct], column: int = 0) -> Struct:
    meta: Struct = get(get(groups[0], 1, LIST)[column], 3, STRUCT)
    return meta


LIES: dict[str, tuple[Any, str]] = {
    "a codec nobody knows": (lambda raw, g: meta_of(g).update({4: (I32, 77)}), "compression 77"),
    "a place outside": (
        lambda raw, g: meta_of(g).update({9: (I64, 1 << 40), 11: (I64, 1 << 40)}),
        "outside of the file",
    ),
    "a negative size": (lambda raw, g: meta_of(g).update({7: (I64, -5)}), "field 7"),
    "an endless size": (lambda raw, g: meta_of(g).update({7: (I64, 1 << 62)}), "outside"),
    "more values than bytes": (
        lambda raw, g: meta_of(g).update({5: (I64, 1 << 60)}), "more values than its bytes",
    ),
    "more rows than values": (
        lambda raw, g: g[0].update({3: (I64, 1 << 20)}), "fewer values than its row group",
    ),
    "columns missing": (
        lambda raw, g: g[0].update({1: (LIST, Items(STRUCT, get(g[0], 1, LIST)[:2]))}),
        "other columns than the schema",
    ),
    "a column elsewhere": (
        lambda raw, g: get(g[0], 1, LIST)[0].update({1: (BINARY, b"/etc/passwd")}),
        "in another file",
    ),
    "no schema": (lambda raw, g: raw.update({2: (LIST, Items(STRUCT, []))}), "no schema"),
    "a schema without end": (
        lambda raw, g: get(raw, 2, LIST)[0].update({5: (I32, 1 << 20)}), "no tree",
    ),
    "text for a number": (lambda raw, g: meta_of(g).update({4: (BINARY, b"x")}), "field 4"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_footers_that_lie_are_refused(folder: Path, lie: str) -> None:
    change, words = LIES[lie]
    edited(folder / "whole.parquet", change)
    with pytest.raises(DataError, match=rf"whole\.parquet: cannot be read \(.*{words}"):
        run(folder / "whole.parquet", folder / "new.parquet", embedding="emb")
    assert not list(folder.glob("new*"))


def test_encrypted_and_empty_files_are_refused(folder: Path) -> None:
    (folder / "secret.parquet").write_bytes(b"PARE" + b"\0" * 40 + b"\x08\0\0\0PARE")
    with pytest.raises(DataError, match=r"secret\.parquet: is encrypted"):
        read_footer(folder / "secret.parquet")
    (folder / "small.parquet").write_bytes(b"PAR1PAR1")
    with pytest.raises(DataError, match=r"small\.parquet: cannot be read \(it has no footer"):
        read_footer(folder / "small.parquet")


def test_ragged_rows_that_make_up_the_right_sum_are_refused(tmp_path: Path) -> None:
    """6 + 10 values look like 8 + 8 to one who only counts."""
    rows = [[1.0] * 8] * 5 + [[1.0] * 6, [1.0] * 10] + [[1.0] * 8] * 5
    table = pa.table({"emb": pa.array(rows, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "old.parquet", use_dictionary=False)
    for part in (1, 3, 100):
        with pytest.raises(
            DataError, match=r"ragged: row 5 .* 6 elements where the first row .* 8"
        ):
            run(tmp_path / "old.parquet", tmp_path / f"new{part}.parquet", part_rows=part)
        assert not (tmp_path / f"new{part}.parquet").exists()


def test_gaps_inside_vectors_are_refused(tmp_path: Path) -> None:
    rows = [[1.0, 2.0, 3.0], [1.0, None, 3.0]]
    table = pa.table({"emb": pa.array(rows, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "old.parquet", use_dictionary=False)
    with pytest.raises(DataError, match=r"empty element in row 1"):
        run(tmp_path / "old.parquet", tmp_path / "new.parquet")


def test_encodings_that_are_not_plain_are_left_to_arrow(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((30, 8)).astype(np.float32)
    table = pa.table({"emb": pa.array(list(vectors), pa.list_(pa.float32()))})
    pq.write_table(
        table, tmp_path / "old.parquet", use_dictionary=False, use_byte_stream_split=True
    )
    run(tmp_path / "old.parquet", tmp_path / "new.parquet", part_rows=7)
    np.testing.assert_array_equal(read_vectors(tmp_path / "new.parquet"), expected(vectors))
