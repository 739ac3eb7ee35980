"""Near-duplicates: the hash against an independent one, the search against all pairs."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from picture_files import noise, saved
from PIL import Image

from efface.pictures.likeness import HASH_BYTES, NEAR, near_pairs, perceptual_hash


def photo(seed: int, size: int = 160) -> np.ndarray:
    """Structure at every scale, as photographs have."""
    rng = np.random.default_rng(seed)
    total = np.zeros((size, size, 3))
    for side in (3, 6, 12, 24, 48):
        layer = Image.fromarray(rng.integers(0, 256, (side, side, 3), np.uint8))
        total += np.asarray(layer.resize((size, size), Image.Resampling.BICUBIC), float) / side
    return np.uint8(255 * (total - total.min()) / np.ptp(total))


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_hash_of_the_library_of_that_name(seed: int) -> None:
    imagehash = pytest.importorskip("imagehash")
    picture = photo(seed)
    theirs = imagehash.phash(Image.fromarray(picture), hash_size=16).hash.ravel()
    assert np.array_equal(np.unpackbits(perceptual_hash(picture)), theirs)


def edits(picture: np.ndarray) -> dict[str, np.ndarray]:
    image = Image.fromarray(picture)
    again = np.asarray(Image.open(io.BytesIO(saved(picture, "JPEG", quality=50))))
    return {
        "saved again": again,
        "half": np.asarray(image.resize((80, 80), Image.Resampling.BILINEAR)),
        "grey": np.asarray(image.convert("L").convert("RGB")),
        "brighter": np.minimum(picture * 1.1, 255).astype(np.uint8),
    }


def test_copies_are_near_and_others_are_not() -> None:
    pictures = [photo(seed) for seed in range(12)]
    hashes = np.array([perceptual_hash(p) for p in pictures])
    for row, picture in enumerate(pictures):
        for how, copy in edits(picture).items():
            bits = np.unpackbits(hashes ^ perceptual_hash(copy), axis=1).sum(axis=1)
            assert bits[row] <= NEAR, how
            assert np.delete(bits, row).min() > 3 * NEAR, how


@given(
    base=st.lists(st.binary(min_size=HASH_BYTES, max_size=HASH_BYTES), min_size=1, max_size=5),
    flips=st.lists(
        st.tuples(st.integers(0, 4), st.lists(st.integers(0, 255), max_size=20)), max_size=25
    ),
)
def test_no_near_pair_is_missed(base: list[bytes], flips: list[tuple[int, list[int]]]) -> None:
    bits = [np.unpackbits(np.frombuffer(b, np.uint8)) for b in base]
    for which, places in flips:
        copy = bits[which % len(base)].copy()
        copy[places] ^= 1
        bits.append(copy)
    hashes = np.packbits(np.array(bits), axis=1)
    found = {(int(i), int(j)): int(b) for i, j, b in near_pairs(hashes)}
    first = [int(np.flatnonzero((hashes == h).all(axis=1))[0]) for h in hashes]
    wanted = {}
    for j in range(len(hashes)):
        for i in range(j):
            apart = int((bits[i] != bits[j]).sum())
            of_kinds = first[i] == i and first[j] == j
            if apart <= NEAR and (of_kinds or (apart == 0 and first[j] == i)):
                wanted[i, j] = apart
    assert found == wanted


def test_many_of_one_kind_cost_a_pair_each() -> None:
    blank = np.zeros((5000, HASH_BYTES), np.uint8)
    found = near_pairs(blank)
    assert len(found) == 4999
    assert (found[:, 0] == 0).all()


def test_nothing_has_no_pairs() -> None:
    assert near_pairs(np.zeros((0, HASH_BYTES), np.uint8)).shape == (0, 3)
    assert near_pairs(perceptual_hash(noise())[None]).shape == (0, 3)
    with pytest.raises(ValueError, match="16 bits"):
        near_pairs(np.zeros((2, HASH_BYTES), np.uint8), 16)
