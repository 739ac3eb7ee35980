"""From a folder to figures: what is drawn, what is counted, what is remembered, what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from people_folder import folder
from PIL import Image
from seeing import SIDE, Seeing

import efface
from efface.attributing import cosines, encode
from efface.attributing.cosines import Roles
from efface.attributing.run import attribution
from efface.attributing.settings import Settings
from efface.attributing.survey import Finder
from efface.attributing.vectors import Vectors, key_of
from efface.attributions import Attribution
from efface.data.rendered.world import World, triplets
from efface.diagnose import attributed
from efface.errors import DataError, EffaceWarning, PlanError
from efface.measure.means import Clusters
from efface.protect.linear.eraser import LinearEraser
from efface.report.attribution import to_json

SETTINGS = Settings(canvas=SIDE, bootstrap=200, occlusion=4.0, sigmas=(0.0, 2.0, 4.0))


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return folder(tmp_path_factory.mktemp("world") / "people")


def run(people: tuple[Path, Path], cache: Path | None, **changes: object) -> Attribution:
    images, faces = people
    given = {
        "encoders": [Seeing(0.5)], "settings": SETTINGS, "finder": Finder(faces=str(faces)),
        "cache": cache, **changes,
    }  # fmt: skip
    return attribution(images, **given)  # type: ignore[arg-type]


def eraser(dim: int, rank: int = 5) -> LinearEraser:
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((dim, rank)))[0]
    return LinearEraser(basis=basis, method="isp", identities=20)


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


def roles_of(monkeypatch: pytest.MonkeyPatch) -> list[Roles]:
    """The roles of the next run."""
    held: list[Roles] = []

    def kept(*given: object) -> Roles:
        held.append(cosines.roles(*given))  # type: ignore[arg-type]
        return held[-1]

    monkeypatch.setattr("efface.attributing.run.roles", kept)
    return held


def other_than(played: list[Roles], who: str, people: tuple[int, ...]) -> int:
    """Queries in which neither the query's person nor ``who`` is among these."""
    parts = played[0].people
    return int((~np.isin(parts["query"], people) & ~np.isin(parts[who], people)).sum())


def test_intervals_draw_strangers_and_donors_too(
    people: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = roles_of(monkeypatch)
    used: dict[str, Clusters] = {}
    for name in ("importance", "preference", "revelation"):
        real = getattr(attributed, name)
        monkeypatch.setattr(
            attributed, name, lambda *a, n=name, r=real: (used.setdefault(n, a[-1]), r(*a))[1]
        )
    run(people, tmp_path / "cache")
    query = played[0].people["query"]
    for name, who in (("importance", "stranger"), ("preference", "donor"), ("revelation", "donor")):
        second = used[name].second
        assert second is not None
        assert np.array_equal(used[name].person, query)  # everybody has a query here
        assert np.array_equal(second, played[0].people[who])
        assert not (second == query).any()


def test_people_the_projector_was_fitted_on_are_left_out(
    people: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Seeing(0.5)
    run(people, tmp_path / "cache", encoders=[encoder])
    [place] = (tmp_path / "cache").glob("vectors-*")
    held = Vectors(place, encoder.facts.dimension)
    rows = {}
    for file in (tmp_path / "cache").glob("faces-*/*.json"):
        for row in msgspec.json.decode(file.read_bytes())["rows"]:
            rows[row["digest"]] = row["identity"]
    keys = [key_of(digest, "whole") for digest in rows]
    some = np.array([who in ("person 1", "person 2") for who in rows.values()])
    samples = efface.samples(held.take(keys)[some], np.array(list(rows.values()))[some])
    with pytest.warns(EffaceWarning, match="2 identities only"):
        fitted = efface.ISP(rank=1, force=True).fit(samples).eraser_
    played = roles_of(monkeypatch)
    found = run(people, tmp_path / "cache", encoders=[encoder], projectors=[fitted]).findings[1]
    assert found.projector["people recognised here"] == 2
    assert found.importance is not None
    assert found.importance.fii.n == 6 * 2
    assert "their 4 queries are left out" in found.notes[0]
    # Nor are they strangers to others, or lend their faces.
    assert found.preference is not None
    assert found.revelation is not None
    strangers, donors = (other_than(played, who, (1, 2)) for who in ("stranger", "donor"))
    assert 0 < strangers < 12
    assert 0 < donors < 12
    assert found.importance.strangers.n == found.importance.specific.n == strangers
    assert found.preference.cpi[0].n == found.revelation.median.n == donors


def test_an_encoder_that_gives_no_numbers_for_some_pictures(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    class Broken(Seeing):
        def encode(self, images: object, /) -> object:  # type: ignore[override]
            found = super().encode(images)  # type: ignore[arg-type]
            found[:, 0] = np.where(np.asarray(images).mean(axis=(1, 2, 3)) > 125, np.nan, 1)
            return found

    found = run(people, tmp_path / "cache", encoders=[Broken(0.5)]).findings[0]
    assert any("no finite vector" in note for note in found.notes)
    assert found.preference is None or found.preference.cpi[0].n < 16


def test_an_encoder_that_gives_zeros_only_is_undecided_and_says_so(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    class Zero(Seeing):
        def encode(self, images: object, /) -> object:  # type: ignore[override]
            return 0 * super().encode(images)  # type: ignore[arg-type]

    found = run(people, tmp_path / "cache", encoders=[Zero(0.5)]).findings[0]
    assert (found.side, found.importance, found.preference) == ("undecided", None, None)
    assert "16 pairs, 16 pairs with strangers, 16 triplets of CPI" in found.notes[0]


def test_triplets_that_only_b_star_loses_are_told(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    class Dark(Seeing):
        """Sees nothing where most is plain grey."""

        def encode(self, images: object, /) -> object:  # type: ignore[override]
            found = super().encode(images)  # type: ignore[arg-type]
            grey = (np.asarray(images) == 128).all(axis=3).mean(axis=(1, 2)) > 0.3
            return np.where(grey[:, None], 0, found).astype(np.float32)

    found = run(people, tmp_path / "cache", encoders=[Dark(0.5)]).findings[0]
    assert found.preference is not None
    assert found.preference.cpi[0].n == 16
    assert found.revelation is None
    assert found.notes == ["16 triplets of B* have no finite vector of this encoder and are left "
                           "out"]  # fmt: skip


def test_a_projector_that_removes_everything_is_named_and_ends_no_run(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    dim = Seeing(0.5).facts.dimension
    everything = LinearEraser(basis=np.eye(dim), method="isp")
    found = run(people, tmp_path / "cache", projectors=[everything])
    assert found.findings[0].importance is not None
    assert found.findings[1].side == "undecided"
    assert "cannot be measured" in found.findings[1].headline


# --- refusals --------------------------------------------------------------------------------


def test_one_person_or_no_second_picture_is_refused_by_name(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    images = tmp_path / "one"
    shutil.copytree(people[0] / "person 0", images / "person 0")
    with pytest.raises(DataError, match="faces of 1 people"):
        run((images, people[1]), tmp_path / "a")
    for who in range(1, 4):
        (images / f"person {who}").mkdir()
        shutil.copy(people[0] / f"person {who}" / "0.png", images / f"person {who}" / "0.png")
    for name in ("1.png", "2.png"):
        (images / "person 0" / name).unlink()
    with pytest.raises(DataError, match="nobody has a second usable picture"):
        run((images, people[1]), tmp_path / "b")
    shutil.copy(people[0] / "person 1" / "1.png", images / "person 1" / "1.png")
    with pytest.raises(DataError, match="1 people have a second picture"):
        run((images, people[1]), tmp_path / "c")


def test_projectors_that_fit_no_encoder_or_several_are_refused(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    dim = Seeing(0.5).facts.dimension
    with pytest.raises(PlanError, match="7 dimensions fits no encoder"):
        run(people, tmp_path / "a", projectors=[eraser(7)])
    both = [Seeing(0.5), Seeing(0.6)]
    with pytest.raises(PlanError, match="name the one"):
        run(people, tmp_path / "b", encoders=both, projectors=[eraser(dim)])
    with pytest.raises(PlanError, match="the encoders are"):
        run(people, tmp_path / "c", encoders=both, projectors={"other": [eraser(dim)]})
    named = run(people, tmp_path / "d", encoders=both, projectors={"sees 0.6": [eraser(dim)]})
    assert [(f.encoder, f.release) for f in named.findings] == [
        ("sees 0.5", "raw"), ("sees 0.6", "raw"), ("sees 0.6", "isp-5"),
    ]  # fmt: skip


def test_no_encoder_and_one_encoder_twice_are_refused(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(PlanError, match="needs an encoder"):
        run(people, tmp_path / "a", encoders=[])
    with pytest.raises(PlanError, match="is given twice"):
        run(people, tmp_path / "b", encoders=[Seeing(0.5), Seeing(0.5)])


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"canvas": 20}, "canvas of 20"),
        ({"coverage": 0.6}, r"coverage 0\.6"),
        ({"sigmas": (1.0, 2.0)}, "rise from 0"),
        ({"levels": (0.2, 0.1, 1.0)}, "rise from above 0 to 1"),
        ({"levels": (0.2, 0.9)}, "rise from above 0 to 1"),
        ({"people": 1}, "at least two people"),
        ({"bootstrap": 5}, "bootstrap from 100"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, object], match: str) -> None:
    with pytest.raises(PlanError, match=match):
        Settings(**changes)  # type: ignore[arg-type]
