"""Pictures to a file of vectors: every picture is in it or on the list, with the reason."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from encode_world import WANTED, Means, Picky, flat, listed, order, people, picture, read
from PIL import Image

import efface
from efface.data.parquet import ENCODING_KEY
from efface.encoders.fit import fitted
from efface.encoding.finish import left_out_path, near_path
from efface.encoding.run import encode
from efface.errors import DataError, EffaceWarning
from efface.facts import GeometryFacts
from efface.pictures.decode import Limits


def test_each_vector_is_that_of_its_picture(tmp_path: Path) -> None:
    root, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    made = encode(order(root, out))
    rows = read(out)
    assert rows["name"] == [f"p{p}/{n:02}.png" for p in range(3) for n in range(4)]
    assert rows["identity"] == [f"p{p}" for p in range(3) for _ in range(4)]
    assert (rows["width"][0], rows["height"][0]) == (30, 40)
    by_hand = [Means().encode([fitted(picture(100 * p + n), WANTED)])[0]
               for p in range(3) for n in range(4)]  # fmt: skip
    assert np.array_equal(np.array(rows["embedding"], np.float32), by_hand)
    assert (made.pictures.found, made.pictures.encoded, made.pictures.people) == (12, 12, 3)
    assert listed(left_out_path(out)) == []
    assert listed(near_path(out)) == []
    assert not list(tmp_path.glob("*efface-work"))


def test_the_record_travels_and_load_reads_it(tmp_path: Path) -> None:
    root, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    made = encode(order(root, out))
    samples = efface.load(out)
    assert samples.encoding == made
    assert samples.encoding.encoder.weights == "ab" * 32
    assert samples.take(np.arange(3)).encoding == made
    assert samples.replace(samples.data).encoding == made
    assert len(samples) == 12


def test_a_damaged_record_costs_a_warning_and_not_the_vectors(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    root, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    encode(order(root, out))
    table = pq.read_table(out)
    pq.write_table(table.replace_schema_metadata({ENCODING_KEY: b"{"}), out)
    with pytest.warns(EffaceWarning, match="note on the encoder cannot be read"):
        samples = efface.load(out)
    assert samples.encoding is None


def test_files_of_two_encoders_in_one_folder_are_not_mixed(tmp_path: Path) -> None:
    root = people(tmp_path / "in")
    (tmp_path / "both").mkdir()

    class Other(Means):
        facts = msgspec.structs.replace(Means.facts, weights="cd" * 32)

    encode(order(root, tmp_path / "both" / "a.parquet"))
    encode(order(root, tmp_path / "both" / "b.parquet", encoder=Other()))
    with pytest.raises(DataError, match="2 different encoders"):
        efface.load(tmp_path / "both")


def test_any_number_of_workers_and_any_batch_give_the_same_rows(tmp_path: Path) -> None:
    root = people(tmp_path / "in", count=3, each=5)
    alone = encode(order(root, tmp_path / "a.parquet"))
    several = encode(order(root, tmp_path / "b.parquet", workers=3))
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert alone == several
    encode(order(root, tmp_path / "c.parquet", batch=7))
    assert read(tmp_path / "a.parquet") == read(tmp_path / "c.parquet")


def broken(root: Path) -> dict[str, str]:
    """Every kind of thing that lies among pictures: name -> kind it is listed under."""
    one = root / "p0" / "00.png"
    (root / "p0" / "text.jpg").write_text("no picture")
    (root / "p0" / "empty.png").touch()
    (root / "p1" / "half.png").write_bytes(one.read_bytes()[:300])
    Image.fromarray(np.zeros((1, 1, 3), np.uint8)).save(root / "p1" / "dot.png")
    Image.fromarray(np.zeros((200, 200, 3), np.uint8)).save(root / "p1" / "huge.png")
    (root / "p2" / "gone.jpg").symlink_to(root / "nowhere.jpg")
    (root / "p2" / "张伟 é.heic").write_bytes(b"ftypheic" * 9)
    shutil.copy(one, root / "stray.png")
    return {
        "p0/text.jpg": "not a picture", "p0/empty.png": "empty file", "p1/half.png": "damaged",
        "p1/dot.png": "too small", "p1/huge.png": "too large", "p2/gone.jpg": "missing",
        "p2/张伟 é.heic": "not a picture", "stray.png": "no identity",
    }  # fmt: skip


@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_be_used_is_listed_and_nothing_is_lost(tmp_path: Path, workers: int) -> None:
    root, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    wrong = broken(root)
    (root / "notes.txt").touch()
    made = encode(order(root, out, workers=workers, limits=Limits(max_pixels=10_000)))
    assert {row["name"]: row["kind"] for row in listed(left_out_path(out))} == wrong
    assert all(row["why"] for row in listed(left_out_path(out)))
    counts = made.pictures
    assert counts.found == 12 + len(wrong)
    assert counts.encoded == 12
    assert sum(counts.left_out.values()) == len(wrong)
    assert counts.left_out["not a picture"] == 2
    assert counts.passed_over == {".txt": 1}
    assert made.limits == {"max_pixels": 10_000, "min_side": 16}


def test_when_nothing_can_be_used_the_list_says_why(tmp_path: Path) -> None:
    (tmp_path / "in" / "p").mkdir(parents=True)
    for number in range(3):
        (tmp_path / "in" / "p" / f"{number}.jpg").write_text("no picture")
    out = tmp_path / "emb.parquet"
    with pytest.raises(DataError, match=r"none of 3 pictures .* \(3 not a picture\).*left-out"):
        encode(order(tmp_path / "in", out))
    assert len(listed(left_out_path(out))) == 3
    assert not out.exists()


def test_a_geometry_may_refuse_measure_and_remark(tmp_path: Path) -> None:
    root, out = tmp_path / "in", tmp_path / "emb.parquet"
    for name, level in {"a/dark": 0, "a/mid": 100, "b/bright": 240, "b/odd": 90}.items():
        flat(root / f"{name}.png", level)
    made = encode(order(root, out, geometry=Picky(WANTED)))
    assert {r["name"]: (r["kind"], r["why"]) for r in listed(left_out_path(out))} == {
        "a/dark.png": ("no face", "brightness 4"),
        "b/odd.png": ("refused", "points in one place"),
    }
    assert made.pictures.treated == {"bright": 1}
    levels = read(out)["brightness"]
    mean, spread, largest = made.geometry.achieved["brightness"]
    assert (mean, spread, largest) == pytest.approx((np.mean(levels), np.std(levels), max(levels)))


def test_a_picture_that_kills_its_decoder_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("efface.scale.runner.RERUNS", 0)
    root, out = people(tmp_path / "in", count=2, each=4), tmp_path / "emb.parquet"
    for who in ("p0", "p1"):
        flat(root / who / "01deadly.png", 99)
    made = encode(order(root, out, workers=2, geometry=Picky(WANTED)))
    found = {row["name"]: row["kind"] for row in listed(left_out_path(out))}
    assert found == {"p0/01deadly.png": "deadly", "p1/01deadly.png": "deadly"}
    assert made.pictures.encoded == 8
    assert read(out)["name"] == sorted(read(out)["name"])


class Faulty(Means):
    """Gives no vector, or a huge one, for pictures that are red."""

    def __init__(self, value: float) -> None:
        self.value = value

    def encode(self, images: Any) -> Any:
        found = super().encode(images)
        red = np.stack(images)[..., 0].mean(axis=(1, 2)) > 240
        found[red] = self.value
        return found


@pytest.mark.parametrize(
    ("value", "dtype", "why"),
    [
        (np.nan, "float32", "the encoder gives numbers that are none"),
        (0.0, "float32", "the encoder gives zeros only"),
        (1e6, "float16", "too large for float16"),
    ],
)
def test_what_gets_no_vector_is_listed(tmp_path: Path, value: float, dtype: str, why: str) -> None:
    root, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    Image.fromarray(np.full((30, 30, 3), (255, 0, 0), np.uint8)).save(root / "p1" / "red.png")
    made = encode(order(root, out, encoder=Faulty(value), dtype=dtype))
    (row,) = listed(left_out_path(out))
    assert (row["name"], row["kind"], row["why"]) == ("p1/red.png", "no vector", why)
    assert made.pictures.encoded == 12
    assert efface.load(out).stored_dtype == dtype


def test_pictures_that_two_people_share_are_reported(tmp_path: Path) -> None:
    root, out = people(tmp_path / "in"), tmp_path / "emb.parquet"
    again = Image.fromarray(picture(0))
    again.resize((60, 80), Image.Resampling.BICUBIC).save(root / "p2" / "copy.jpg", quality=80)
    shutil.copy(root / "p1" / "00.png", root / "p1" / "same.png")
    made = encode(order(root, out))
    (pair,) = listed(near_path(out))
    assert [pair[k] for k in ("name", "identity", "other", "other_identity")] == [
        "p0/00.png", "p0", "p2/copy.jpg", "p2",
    ]  # fmt: skip
    assert (made.pictures.near_duplicates_across, made.pictures.near_duplicates) == (1, 1)


def test_one_person_is_remarked(tmp_path: Path) -> None:
    root = people(tmp_path / "in", count=1)
    with pytest.warns(EffaceWarning, match="all pictures are of one person"):
        made = encode(order(root, tmp_path / "emb.parquet"))
    assert made.pictures.people == 1


def test_vectors_that_are_all_alike_are_remarked(tmp_path: Path) -> None:
    class Grey(Means):
        def encode(self, images: Any) -> Any:
            return super().encode(images) * 0.0001 + 1

    root = people(tmp_path / "in")
    with pytest.warns(EffaceWarning, match="nearly the same.*preprocessing is probably not"):
        encode(order(root, tmp_path / "a.parquet", encoder=Grey()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode(order(root, tmp_path / "b.parquet"))


def test_columns_of_a_list_come_along(tmp_path: Path) -> None:
    root = people(tmp_path / "in")
    text = "path,identity,split\np0/00.png,Ann,fit\np1/00.png,Bo,test\n"
    (root / "list.csv").write_text(text)
    encode(order(root / "list.csv", tmp_path / "emb.parquet"))
    samples = efface.load(tmp_path / "emb.parquet")
    assert samples.attributes["split"].tolist() == ["fit", "test"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"batch": 0}, "at least 1"),
        ({"workers": 0}, "at least 1"),
        ({"dtype": "int8"}, "float16 or float32"),
    ],
)
def test_orders_that_make_no_sense(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    root = people(tmp_path / "in")
    with pytest.raises(DataError, match=says):
        encode(order(root, tmp_path / "emb.parquet", **changes))
    with pytest.raises(DataError, match=r"name it \.parquet"):
        encode(order(root, tmp_path / "emb.npz"))


def test_files_in_one_folder_are_counted_together(tmp_path: Path) -> None:
    (tmp_path / "both").mkdir()
    for name, count in (("a", 2), ("b", 3)):
        root = people(tmp_path / name, count=count, each=2)
        (root / "p0" / f"{name}.jpg").write_text("no picture")
        flat(root / "p1" / "dark.png", 5)
        encode(order(root, tmp_path / "both" / f"{name}.parquet", geometry=Picky(WANTED)))
    made = efface.load(tmp_path / "both").encoding
    assert made is not None
    assert (made.pictures.found, made.pictures.encoded, made.pictures.people) == (14, 10, 3)
    assert made.pictures.left_out == {"not a picture": 2, "no face": 2}
    brightness = [
        level
        for name in ("a", "b")
        for level in read(tmp_path / "both" / f"{name}.parquet")["brightness"]
    ]
    wanted = (np.mean(brightness), np.std(brightness), max(brightness))
    assert made.geometry.achieved["brightness"] == pytest.approx(wanted, rel=1e-6)

    class Other(Picky):
        facts = GeometryFacts(name="whole picture", settings={"picky": 2})  # type: ignore[assignment]

    root = people(tmp_path / "c")
    encode(order(root, tmp_path / "both" / "c.parquet", geometry=Other(WANTED)))
    assert efface.load(tmp_path / "both").encoding is None
