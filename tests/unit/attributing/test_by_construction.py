"""What the measures say of encoders whose answer is known: they see the face, or what is around it,
or so much of each. Rendered people, so that the matches are exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from seeing import Seeing, world

from efface.attributing.run import attribution
from efface.attributing.settings import Settings
from efface.attributions import Attribution, Finding

SHARES = (0.0, 0.1, 0.3, 0.6, 0.9, 1.0)
SETTINGS = Settings(
    canvas=128, bootstrap=300, occlusion=4.0, sigmas=(0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
)  # fmt: skip
"""Blurs of a canvas of 224, in proportion."""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """Of pairs that share nothing but the person."""
    return made(tmp_path_factory.mktemp("elsewhere"), one_event=False).findings


@pytest.fixture(scope="module")
def one_event(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """Of pairs that share their surroundings too."""
    return made(tmp_path_factory.mktemp("event"), one_event=True).findings


def made(cache: Path, *, one_event: bool) -> Attribution:
    triplets = world(16, 12, one_event=one_event)
    return attribution(triplets, [Seeing(s) for s in SHARES], settings=SETTINGS, cache=cache)


def test_who_sees_the_face_only_is_face_dominant(elsewhere: list[Finding]) -> None:
    face = elsewhere[-1]
    assert face.importance is not None
    assert face.preference is not None
    assert face.revelation is not None
    assert face.side == "face"
    assert set(face.votes.values()) == {"face"}
    assert (face.importance.fii.low or 0) > 0
    assert (face.importance.specific.low or 0) > 0
    assert [cpi.value for cpi in face.preference.cpi] == [0.0] * 6
    assert face.preference.crossover.crossing == "never"
    assert face.revelation.never == 16
    assert (face.revelation.median.value, face.revelation.median.low) == (1, 1)


def test_who_sees_the_surroundings_only_is_context_dominant(elsewhere: list[Finding]) -> None:
    context = elsewhere[0]
    assert context.preference is not None
    assert context.revelation is not None
    assert context.side == "context"
    assert [cpi.value for cpi in context.preference.cpi] == [1.0] * 6
    assert context.preference.crossover.crossing == "from the start"
    assert context.revelation.median.value == 0
    assert context.revelation.never == 0
    rises = context.revelation.context_rises
    assert (rises.value or 0) > 0.8


def test_fii_is_below_nought_where_the_similarity_lies_around_the_face(
    one_event: list[Finding],
) -> None:
    context, face = one_event[0], one_event[-1]
    assert context.importance is not None
    assert face.importance is not None
    assert (context.importance.fii.high or 0) < 0
    assert context.votes["FII"] == "context"
    assert (face.importance.fii.low or 0) > 0
    assert context.importance.face.value == pytest.approx(0, abs=0.02)
    assert face.importance.ring.value == pytest.approx(0, abs=0.02)


def test_what_is_blurred_around_the_face_does_not_reach_who_sees_the_face(
    elsewhere: list[Finding],
) -> None:
    face = elsewhere[-1]
    assert face.importance is not None
    assert face.revelation is not None
    assert face.importance.ring.value == pytest.approx(0, abs=0.02)
    assert max(face.revelation.identity_similarity) - min(
        face.revelation.identity_similarity
    ) == pytest.approx(0, abs=0.02)


def test_mixtures_lie_between_in_order(elsewhere: list[Finding], one_event: list[Finding]) -> None:
    cpi = [f.preference.cpi[0].value or 0 for f in elsewhere if f.preference]
    bstar = [f.revelation.median.value or 0 for f in elsewhere if f.revelation]
    never = [f.revelation.never for f in elsewhere if f.revelation]
    fii = [f.importance.fii.value or 0 for f in one_event if f.importance]
    assert len(cpi) == len(bstar) == len(fii) == len(SHARES)
    assert cpi == sorted(cpi, reverse=True)
    assert bstar == sorted(bstar)
    assert never == sorted(never)
    assert fii == sorted(fii)
    assert 0 < cpi[2] < 1
