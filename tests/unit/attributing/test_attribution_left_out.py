"""Who is drawn and who is left out: strangers, lenders of faces, people a projector has seen,
pictures without vectors; and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from attributed_people import eraser, other_than, roles_of, run
from seeing import Seeing

import efface
from efface.attributing.settings import Settings
from efface.attributing.vectors import Vectors, key_of
from efface.diagnose import attributed
from efface.errors import DataError, EffaceWarning, PlanError
from efface.measure.means import Clusters
from efface.protect.linear.eraser import LinearEraser


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
