"""From a folder to figures: what is drawn, what is counted, what is remembered."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from attributed_people import SETTINGS, eraser, run
from PIL import Image
from seeing import SIDE, Seeing

from efface.attributing import encode
from efface.attributing.run import attribution
from efface.attributing.settings import Settings
from efface.data.rendered.world import World, triplets
from efface.report.attribution import to_json


def test_every_picture_is_counted_once(people: tuple[Path, Path], tmp_path: Path) -> None:
    images = tmp_path / "people"
    shutil.copytree(people[0], images)
    (images / "person 0" / "0.png").write_bytes((images / "person 0" / "0.png").read_bytes()[:900])
    (images / "person 1" / "text.jpg").write_text("no picture")
    (images / "person 1" / "notes.txt").write_text("nothing")
    Image.fromarray(np.zeros((90, 90, 3), np.uint8)).save(images / "person 2" / "black.png")
    shutil.rmtree(images / "person 3")
    (images / "person 3").mkdir()
    shutil.copy(people[0] / "person 3" / "0.png", images / "person 3" / "0.png")
    found = run((images, people[1]), tmp_path / "cache")
    got, drawn = found.pictures, found.drawn
    assert got.found == got.usable + sum(got.left_out.values()) == 24 - 2 + 2
    assert got.left_out == {"damaged": 1, "not a picture": 1, "no face": 1}
    assert got.passed_over == {".txt": 1}
    assert drawn.lone == 1
    assert drawn.people == 7
    assert drawn.queries == drawn.pairs + sum(drawn.lost_pairs.values())
    assert drawn.queries == drawn.triplets + sum(drawn.lost_triplets.values())
    assert drawn.queries == 6 * 2 + 1  # one where there are two pictures
    assert found.geometry.coverage.mean == pytest.approx(0.33, abs=0.005)
    assert (found.geometry.area_difference.largest or 1) <= 0.02


def test_a_given_face_that_is_none_is_counted_and_ends_no_run(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    with np.load(people[1]) as held:
        arrays = {name: held[name] for name in held.files}
    arrays["box"][4] = arrays["box"][4][[2, 3, 0, 1]]  # right of its left edge
    np.savez(tmp_path / "faces.npz", **arrays)
    found = run((people[0], tmp_path / "faces.npz"), tmp_path / "cache")
    assert found.pictures.left_out == {"refused": 1}
    assert found.pictures.usable == 23


def test_triplets_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    made = triplets(World(people=8, contexts=8, size=SIDE, pose=0.3, seed=1), count=6)
    made.identity_match.boxes[0] += [100, 0, 100, 0]  # beyond the edge
    found = attribution(made, [Seeing(0.5)], settings=SETTINGS, cache=tmp_path)
    assert found.drawn.queries == len(made.query) - 1
    assert found.drawn.passed_over == {"a picture of the triplet cannot be used": 1}


def test_the_same_seed_gives_the_same_bytes_whatever_the_workers(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    one, two = (
        run(people, tmp_path / name, workers=workers) for name, workers in (("a", 1), ("b", 2))
    )
    assert to_json(one) == to_json(two)
    other = run(people, tmp_path / "a", settings=Settings(**{**vars(SETTINGS), "seed": 1}))
    assert other.findings[0].importance != one.findings[0].importance


def test_a_second_run_opens_no_picture_and_encodes_none(
    people: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again = Seeing(0.5), Seeing(0.5)
    before = run(people, tmp_path / "cache", encoders=[first])
    monkeypatch.setattr("efface.attributing.survey.decode", None)  # any use would fail
    monkeypatch.setattr("efface.attributing.stimuli.altered", None)
    monkeypatch.setattr("efface.attributing.run.examples", lambda *_: [])
    made = [eraser(first.facts.dimension), eraser(first.facts.dimension, 9)]
    after = run(people, tmp_path / "cache", encoders=[again], projectors=made)
    assert first.calls == before.views[0].encoded > 0
    assert again.calls == after.views[0].encoded == 0
    assert after.views[0].remembered == first.calls
    assert [f.release for f in after.findings] == ["raw", "isp-5", "isp-9"]
    assert after.findings[0] == before.findings[0]
    assert after.findings[1].importance != before.findings[0].importance


def test_no_picture_is_encoded_twice_in_one_run(people: tuple[Path, Path], tmp_path: Path) -> None:
    encoder = Seeing(0.5)
    found = run(people, tmp_path / "cache", encoders=[encoder])
    # A person's three pictures in 3 + 1 + 4 forms, and two context matches in 3 + 4.
    assert encoder.calls == 8 * (3 * 8 + 2 * 7) == found.views[0].encoded


def test_a_run_that_is_killed_goes_on_where_it_stopped(
    people: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(Seeing):
        def encode(self, images: object, /) -> object:  # type: ignore[override]
            if self.calls > 150:
                raise KeyboardInterrupt
            return super().encode(images)  # type: ignore[arg-type]

    monkeypatch.setattr(encode, "_FLUSH", 64)
    with pytest.raises(KeyboardInterrupt):
        run(people, tmp_path / "cache", encoders=[Killed(0.5)])
    rest = Seeing(0.5)
    found = run(people, tmp_path / "cache", encoders=[rest])
    assert 0 < rest.calls < 8 * 38 - 100
    assert found.findings == run(people, None).findings


@pytest.mark.parametrize("ending", [".npy", ".keys"])
def test_a_damaged_part_of_the_cache_is_made_again(
    people: tuple[Path, Path], tmp_path: Path, ending: str
) -> None:
    before = run(people, tmp_path / "cache")
    [part] = (tmp_path / "cache").glob(f"vectors-*/*{ending}")
    part.write_bytes(part.read_bytes()[:100])
    again = Seeing(0.5)
    after = run(people, tmp_path / "cache", encoders=[again])
    assert again.calls == before.views[0].encoded
    assert after.findings == before.findings


def test_swaps_without_a_record_are_made_again_and_not_encoded_again(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    before = run(people, tmp_path / "cache")
    [record] = (tmp_path / "cache").glob("swaps-*.json")
    record.write_bytes(record.read_bytes()[:100])
    again = Seeing(0.5)
    after = run(people, tmp_path / "cache", encoders=[again])
    assert again.calls == 0
    assert (after.findings, after.drawn) == (before.findings, before.drawn)


def test_crops_that_were_cut_short_are_made_again(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    before = run(people, tmp_path / "cache")
    [part] = (tmp_path / "cache").glob("faces-*/*.npy")
    part.write_bytes(part.read_bytes()[:5000])
    assert run(people, tmp_path / "cache").findings == before.findings


def test_another_encoder_costs_only_its_own_pictures(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    run(people, tmp_path / "cache")
    one, two = Seeing(0.5), Seeing(0.9)
    found = run(people, tmp_path / "cache", encoders=[one, two])
    assert (one.calls, two.calls) == (0, found.views[1].encoded)
    assert found.headline.count(";") == 1


def test_more_blurs_cost_only_what_is_new(people: tuple[Path, Path], tmp_path: Path) -> None:
    run(people, tmp_path / "cache")
    encoder = Seeing(0.5)
    wider = Settings(**{**vars(SETTINGS), "sigmas": (0.0, 2.0, 3.0, 4.0)})
    run(people, tmp_path / "cache", encoders=[encoder], settings=wider)
    assert encoder.calls == 8 * (3 + 2)


def test_pictures_of_people_are_shown_only_when_asked_for(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    assert run(people, tmp_path / "cache").examples == []
    shown = run(people, tmp_path / "cache", show_pictures=True)
    assert len(shown.examples) == 3
    assert len(shown.examples[0].strips) == 5


def test_near_duplicates_are_no_other_context(people: tuple[Path, Path], tmp_path: Path) -> None:
    images = tmp_path / "people"
    shutil.copytree(people[0], images)
    for name in ("1.png", "2.png"):
        shutil.copy(images / "person 0" / "0.png", images / "person 0" / name)
    with np.load(people[1]) as held:
        arrays = {name: held[name] for name in held.files}
    for key in ("box", "landmarks"):
        arrays[key][1:3] = arrays[key][0]
    np.savez(tmp_path / "faces.npz", **arrays)
    found = run((images, tmp_path / "faces.npz"), tmp_path / "cache")
    assert found.drawn.lone == 1
    assert found.drawn.passed_over == {"nearly the same picture": 6}
