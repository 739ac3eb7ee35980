"""Keyed hashes, their cost parameters, and what a pepper does."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import PlanError
from efface.hazmat.derive import (
    Argon2id,
    Blake2b,
    KeyDerivation,
    check_pepper,
    masked,
    named,
    peppered,
    same,
)

KEY = bytes(range(32))
PEPPER = b"a pepper of more than 16 bytes"


def test_blake2b_is_keyed() -> None:
    wanted = hashlib.blake2b(b"secret", key=KEY, digest_size=32).digest()
    assert Blake2b().derive(KEY, b"secret") == wanted
    assert Blake2b().derive(KEY[::-1], b"secret") != wanted


def test_argon2id_agrees_with_the_vector_of_the_reference_implementation() -> None:
    found = Argon2id(passes=2, memory_kib=65536, lanes=1).derive(b"somesalt", b"password")
    assert found.hex() == "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"


def test_the_presets_are_those_of_rfc_9106() -> None:
    from argon2 import profiles

    for ours, theirs in (
        (Argon2id(), profiles.RFC_9106_LOW_MEMORY),
        (Argon2id.first_choice(), profiles.RFC_9106_HIGH_MEMORY),
    ):
        assert (ours.passes, ours.memory_kib, ours.lanes) == (
            theirs.time_cost,
            theirs.memory_cost,
            theirs.parallelism,
        )


@pytest.mark.parametrize("wrong", [{"passes": 0}, {"lanes": 0}, {"memory_kib": 31}])
def test_argon2id_refuses_what_the_rfc_refuses(wrong: dict[str, int]) -> None:
    with pytest.raises(PlanError, match=r"RFC 9106"):
        Argon2id(**wrong)


@pytest.mark.parametrize("kdf", [Blake2b(), Argon2id(), Argon2id(1, 64, 2)])
def test_settings_lead_back_to_the_derivation(kdf: KeyDerivation) -> None:
    assert named(kdf.settings()) == kdf


@pytest.mark.parametrize("settings", [{}, {"kdf": "md5"}, {"kdf": "argon2id", "kdf_passes": 1}])
def test_unknown_derivations_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(PlanError, match="no key derivation"):
        named(settings)  # type: ignore[arg-type]


@given(st.binary(), st.binary())
def test_same_is_equality(one: bytes, other: bytes) -> None:
    assert same(one, other) == (one == other)
    assert same(one, bytes(one))


@given(st.binary(max_size=300), st.binary(min_size=16, max_size=100), st.binary(max_size=20))
def test_a_mask_comes_off_with_the_same_pepper_purpose_and_salt(
    data: bytes, pepper: bytes, salt: bytes
) -> None:
    covered = masked(data, pepper, "sketch", salt)
    assert masked(covered, pepper, "sketch", salt) == data
    if len(data) >= 16:
        assert covered != data
        assert masked(covered, pepper + b"x", "sketch", salt) != data
        assert masked(covered, pepper, "bits", salt) != data
        assert masked(covered, pepper, "sketch", salt + b"x") != data


def test_peppered_digests_are_apart_by_purpose_and_pepper() -> None:
    found = {
        peppered(PEPPER, "hash", b"m"),
        peppered(PEPPER, "hash", b"n"),
        peppered(PEPPER, "seal", b"m"),
        peppered(PEPPER, "has", b"hm"),
        peppered(PEPPER + b"x", "hash", b"m"),
    }
    assert len(found) == 5


def test_a_short_pepper_is_refused() -> None:
    check_pepper(b"p" * 16)
    with pytest.raises(PlanError, match="shorter than 16 bytes"):
        check_pepper(b"p" * 15)
