"""Templates as bytes: what goes in comes out, and nothing else is taken."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from template_worlds import crowd, small

from efface.errors import TemplateError
from efface.protect.template import MRP, BioHash, FacialFE, pack, unpack
from efface.types import Template

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True)
TYPES = st.sampled_from(["u1", "i1", "u2", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
ARRAYS = TYPES.flatmap(lambda t: arrays(t, array_shapes(min_dims=0, max_dims=3, min_side=0)))
PARTS = st.dictionaries(NAMES, ARRAYS, max_size=4)
TEMPLATES = st.builds(Template, NAMES, st.integers(0, 2**16 - 1), PARTS, PARTS)


def same(one: Template, other: Template) -> bool:
    heads = (one.scheme, one.version) == (other.scheme, other.version)
    return heads and all(
        set(a) == set(b)
        and all((a[n].dtype, a[n].shape) == (b[n].dtype, b[n].shape) for n in a)
        and all(a[n].tobytes() == b[n].tobytes() for n in a)
        for a, b in ((one.record, other.record), (one.helper, other.helper))
    )


def sealed(body: bytes) -> bytes:
    """A digest as whoever knows the format can make it."""
    return body + hashlib.blake2b(body, digest_size=8, person=b"efface-template").digest()


@given(TEMPLATES)
def test_round_trip_and_one_form_only(template: Template) -> None:
    blob = pack(template)
    assert same(unpack(blob), template)
    assert pack(unpack(blob)) == blob


@given(TEMPLATES, st.data())
def test_a_flipped_bit_is_noticed(template: Template, data: Any) -> None:
    blob = bytearray(pack(template))
    place = data.draw(st.integers(0, 8 * len(blob) - 1))
    blob[place // 8] ^= 1 << place % 8
    with pytest.raises(TemplateError):
        unpack(bytes(blob))


@given(TEMPLATES, st.data())
def test_cut_short_or_drawn_out_is_noticed(template: Template, data: Any) -> None:
    blob = pack(template)
    with pytest.raises(TemplateError):
        unpack(blob[: data.draw(st.integers(0, len(blob) - 1))])
    with pytest.raises(TemplateError):
        unpack(blob + b"\0")


# Bytes from a stranger who renews the digest: an error of ours, or a template in its one form.
@given(st.binary(max_size=200))
def test_hostile_bytes_are_refused_or_canonical(tail: bytes) -> None:
    blob = sealed(b"EFTP\x01" + tail)
    try:
        template = unpack(blob)
    except TemplateError:
        return
    assert pack(template) == blob


@given(TEMPLATES, st.data())
def test_hostile_changes_are_refused_or_canonical(template: Template, data: Any) -> None:
    body = bytearray(pack(template)[:-8])
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(5, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = unpack(sealed(bytes(body)))
    except TemplateError:
        return
    assert pack(found) == sealed(bytes(body))


def test_lengths_beyond_memory_are_refused_though_nothing_follows() -> None:
    body = b"EFTP\x01\x01a\x01\x00\x01\x00\x01y\x00\x02" + b"\0\0\0\0" + b"\xff" * 4
    with pytest.raises(TemplateError, match="damaged"):
        unpack(sealed(body))
    with pytest.raises(TemplateError, match="cannot be stored as"):
        pack(Template("a", 1, {"y": np.zeros((0, 1 << 25), "u1")}, {}))


def test_another_format_is_named() -> None:
    blob = bytearray(pack(Template("mrp", 1, {}, {})))
    blob[4] = 2
    with pytest.raises(TemplateError, match="format 2, this efface reads format 1"):
        unpack(bytes(blob))
    with pytest.raises(TemplateError, match="these bytes are no template"):
        unpack(b"x" * 40)


def test_the_bytes_by_hand() -> None:
    template = Template("ab", 3, {"y": np.array([1, 258], "u2")}, {"s": np.float32(0.5)})
    body = (
        b"EFTP\x01" + b"\x02ab" + b"\x03\x00" + b"\x01\x01"
        + b"\x01y" + b"\x02\x01" + b"\x02\0\0\0" + b"\x01\x00\x02\x01"
        + b"\x01s" + b"\x09\x00" + b"\x00\x00\x00\x3f"
    )  # fmt: skip
    assert pack(template) == sealed(body)


@pytest.mark.parametrize("name", ["", "A", "1a", "ä", "a" * 65, "a b"])
def test_names_that_cannot_be_stored_are_refused(name: str) -> None:
    for template in (Template(name, 1, {}, {}), Template("a", 1, {name: np.zeros(1)}, {})):
        with pytest.raises(TemplateError, match="cannot be stored as a name"):
            pack(template)


def test_big_endian_numbers_are_stored_alike() -> None:
    one, two = (Template("a", 1, {"x": np.arange(3, dtype=t)}, {}) for t in ("<i4", ">i4"))
    assert pack(one) == pack(two)


@pytest.mark.parametrize("scheme", [MRP(n=32), BioHash(n=32), FacialFE(scale=2.0), small()])
def test_stored_and_read_again_a_template_verifies_as_before(scheme: Any) -> None:
    samples = crowd()
    scheme.fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    again = unpack(pack(template))
    np.testing.assert_array_equal(
        scheme.verify_many(again, samples.data), scheme.verify_many(template, samples.data)
    )
    assert scheme.verify(again, samples.data[0])


@pytest.mark.parametrize(
    ("scheme", "most"), [(MRP(), 640), (BioHash(), 140), (FacialFE(scale=2.0), 820), (small(), 420)]
)
def test_records_are_small(scheme: Any, most: int) -> None:
    samples = crowd(people=4, dim=128)
    template = scheme.fit(samples).enrol(samples.data[0], np.random.default_rng(0))
    assert len(pack(template)) <= most
