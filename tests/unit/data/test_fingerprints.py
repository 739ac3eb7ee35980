"""The same vectors are recognised in another file; others are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface import fingerprint
from efface.data.fingerprint import (
    identity_fingerprints,
    overlap,
    recognise,
    row_fingerprints,
)
from efface.data.readers import load
from efface.data.samples import curate, samples
from efface.data.synthetic import embedding_world
from efface.types import Samples

KNOWN = ["dbbbb0c50333bf61", "bee9e65c9dadad74", "a5a471ed9f23badf"]
DTYPES = ["float16", "float32", "float64"]


def crowd(rows: int, dim: int, seed: int = 0, relu: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((rows, dim))
    return np.maximum(vectors + 0.5, 0) + 1e-3 if relu else vectors


def stored_as(vectors: np.ndarray, dtype: str) -> Samples:
    return samples(vectors.astype(dtype), np.arange(len(vectors)) // 4)


def test_no_two_rows_of_a_large_random_world_collide() -> None:
    world = embedding_world(people=2000, images=10, dim=64)
    assert len(np.unique(row_fingerprints(world.samples))) == 20_000


def test_features_without_signs_do_not_collide_either() -> None:
    vectors = crowd(5000, 256, relu=True)
    assert (vectors > 0).all()
    assert len(np.unique(row_fingerprints(stored_as(vectors, "float32")))) == 5000


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_rows_keep_their_fingerprint_across_types(source: str, target: str, relu: bool) -> None:
    vectors = crowd(20_000, 64, relu=relu).astype(source)
    first = samples(vectors, np.arange(len(vectors)) // 4)
    second = stored_as(vectors, target)
    same = row_fingerprints(first) == row_fingerprints(second)
    assert same.mean() >= 0.99
    # Stored again after normalisation, as a vector database would.
    again = stored_as(second.data, "float16")
    assert (row_fingerprints(second) == row_fingerprints(again)).mean() >= 0.99


@pytest.mark.parametrize("relu", [False, True])
def test_overlap_forgives_the_one_plane_that_rounding_may_cross(relu: bool) -> None:
    vectors = crowd(20_000, 64, relu=relu)
    wide = samples(vectors, np.arange(len(vectors)))
    narrow = samples(vectors.astype(np.float16), np.arange(len(vectors)))
    known = row_fingerprints(wide)
    exact = (known == row_fingerprints(narrow)).mean()
    assert exact < 1
    assert len(overlap(narrow, known)) >= 0.9995 * len(vectors)


def test_a_fingerprint_does_not_depend_on_neighbours_or_on_the_scale() -> None:
    vectors = crowd(9000, 32)
    whole = row_fingerprints(stored_as(vectors, "float32"))
    part = row_fingerprints(stored_as(3.5 * vectors[8000:8100], "float32"))
    assert (whole[8000:8100] == part).mean() >= 0.99


def test_known_values_hold_for_ever() -> None:
    """Projectors on disk hold fingerprints: another version must compute the same."""
    vectors = np.array([[3.0, -1, 2, 5], [-2, 7, 1, -4], [1, 1, 1, 2]])
    made = samples(vectors, ["a", "b", "b"])
    assert [f"{n:016x}" for n in row_fingerprints(made).tolist()] == KNOWN
    assert identity_fingerprints(made) == {0: KNOWN[0], 1: ".".join(sorted(KNOWN[1:]))}


def test_identities_have_one_fingerprint_from_vectors_alone() -> None:
    world = embedding_world(people=50, images=6, dim=32, rank=8, context_rank=8).samples
    prints = identity_fingerprints(world)
    assert set(prints) == set(world.people.tolist())
    for text in prints.values():
        rows = text.split(".")
        assert len(rows) == 6
        assert rows == sorted(set(rows))
        assert all(len(row) == 16 and int(row, 16) >= 0 for row in rows)
    assert len(set(prints.values())) == 50
    order = np.random.default_rng(0).permutation(len(world))
    renamed = samples(world.data[order], [f"x{99 - code}" for code in world.identity[order]])
    again = identity_fingerprints(renamed)
    assert {renamed.names[code]: p for code, p in again.items()} == {
        f"x{99 - code}": p for code, p in prints.items()
    }


@pytest.mark.parametrize("form", ["digits", "numbers", "array", "set"])
def test_people_are_recognised_under_other_names_and_with_more_images(form: str) -> None:
    world = embedding_world(people=60, images=8, dim=48, rank=8, context_rank=8).samples
    seen = world.take(np.flatnonzero((world.identity < 20) & (np.arange(len(world)) % 8 < 5)))
    prints = list(identity_fingerprints(seen).values())
    numbers = [int(row, 16) for text in prints for row in text.split(".")]
    known = {
        "digits": prints,
        "numbers": numbers,
        "array": np.array(numbers, np.uint64),
        "set": frozenset(numbers),
    }[form]
    file = samples(world.data.astype(np.float16), [f"n{99 - c:02}" for c in world.identity])
    found = file.names[overlap(file, known)]
    assert sorted(found) == sorted(f"n{99 - c:02}" for c in range(20))


def test_strangers_are_not_recognised() -> None:
    world = embedding_world(people=100, dim=64, seed=1)
    other = embedding_world(people=100, dim=64, seed=2)
    known = row_fingerprints(world.samples)
    assert overlap(world.samples, known).tolist() == list(range(100))
    assert overlap(other.samples, known).tolist() == []
    assert overlap(world.samples, []).tolist() == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 30))
def test_parts_in_any_order_make_the_fingerprints_of_the_whole(
    seed: int, parts: int, images: int
) -> None:
    rng = np.random.default_rng(seed)
    identity = np.repeat(np.arange(4), images)
    numbers = rng.integers(0, 3 * images, len(identity)).astype(np.uint64)  # with repeats
    found: dict[int, str] = {}
    for rows in np.array_split(rng.permutation(len(identity)), parts):
        for code, text in fingerprint.of_people(numbers[rows], identity[rows]).items():
            found[code] = fingerprint.merged(found.get(code, ""), text)
    expected = {
        code: ".".join(f"{n:016x}" for n in sorted(set(numbers[identity == code].tolist()))[:8])
        for code in range(4)
    }
    assert found == expected == fingerprint.of_people(numbers, identity)


@pytest.mark.parametrize("images", [5, 8, 10])
def test_people_are_recognised_in_a_selection_of_their_images(images: int) -> None:
    """Fitted on all of 20 images; the file has a few of them, and never all that are kept."""
    world = embedding_world(people=60, images=20, dim=48, rank=8, context_rank=8).samples
    fitted = world.take(np.flatnonzero(world.identity < 25))
    met = recognise(world, tuple(identity_fingerprints(fitted).values()))
    np.testing.assert_array_equal(met.codes, np.arange(25))
    assert met.found == 25
    # In a selection: those of whom it holds one of the kept rows, and nobody else.
    few = curate(world, images, seed=3)
    kept = recognise(few, tuple(identity_fingerprints(fitted).values()))
    assert set(kept.codes.tolist()) <= set(range(25))
    assert 20 <= kept.found == len(kept.codes)


def test_two_names_of_one_person_are_both_found_and_count_once() -> None:
    world = embedding_world(people=6, images=4, dim=16, rank=4, context_rank=4).samples
    people = tuple(identity_fingerprints(world).values())
    names = np.where(np.arange(len(world)) % 2, "even", "odd").astype(object) + "-"
    twice = samples(world.data, [f"{n}{c}" for n, c in zip(names, world.identity, strict=True)])
    met = recognise(twice, people)
    assert (len(met.codes), met.found) == (12, 6)
    assert recognise(twice, ()).found == 0


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e200])
def test_vectors_of_any_length_have_the_fingerprint_of_their_direction(scale: float) -> None:
    vectors = crowd(500, 32)
    same = fingerprint.of_rows(vectors * scale) == row_fingerprints(stored_as(vectors, "float64"))
    assert same.mean() >= 0.99


def test_a_large_crowd_keeps_fewer_rows_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    people = [".".join(f"{8 * i + k:016x}" for k in range(8)) for i in range(40)]
    assert fingerprint.kept(people[::-1]) == tuple(people)
    monkeypatch.setattr(fingerprint, "MOST", 100)
    assert fingerprint.kept(people) == tuple(p[:33] for p in people)  # two rows each
    monkeypatch.setattr(fingerprint, "MOST", 10)
    assert fingerprint.kept(people) == tuple(p[:16] for p in people)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["face_mobile_512", "dlib128", "efficientnet_lite0", "augnet_r50"])
def test_real_embeddings_through_float16(shared: Path, name: str) -> None:
    real = load(shared / "data" / "lfw" / "embeddings" / f"{name}.npz")
    again = samples(real.data.astype(np.float16), real.identity)
    prints = row_fingerprints(real)
    assert len(np.unique(prints)) >= len(real) - 3  # near-duplicate photographs
    assert (prints == row_fingerprints(again)).mean() >= 0.985
    fitted = real.people[:200]
    known = [p for code, p in identity_fingerprints(real).items() if code in set(fitted)]
    np.testing.assert_array_equal(overlap(again, known), fitted)
