"""Whatever happens to a projector's bytes, it is refused, named and cheap."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from projector_files import eraser, record

from efface.errors import ArtefactError
from efface.export import container
from efface.export import safetensors as module
from efface.export.safetensors import (
    FORMAT,
    load_eraser,
    parse_projector,
    read_metadata,
    save_eraser,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "projector.safetensors"


SOUND = b""


@pytest.fixture(scope="module", autouse=True)
def sound(tmp_path_factory: pytest.TempPathFactory) -> None:
    global SOUND
    file = tmp_path_factory.mktemp("sound") / "p"
    save_eraser(eraser(), file, provenance=record(), metadata={"note": "kept"})
    SOUND = file.read_bytes()


def refusal(blob: bytes) -> str:
    """What reading these bytes says; that it refuses is asserted."""
    with pytest.raises(ArtefactError) as caught:
        parse_projector(blob, "the.file")
    assert str(caught.value).startswith("the.file: ")
    return str(caught.value)


def test_the_sound_file_is_read() -> None:
    assert parse_projector(SOUND, "p").eraser.digest() == eraser().digest()


def test_a_file_cut_anywhere_is_refused() -> None:
    for length in range(len(SOUND)):
        refusal(SOUND[:length])


def test_a_cut_file_on_disk_is_refused(path: Path) -> None:
    for length in range(0, len(SOUND), 97):
        path.write_bytes(SOUND[:length])
        with pytest.raises(ArtefactError, match=re.escape(str(path))):
            load_eraser(path)


@pytest.mark.parametrize("shift", [0, 3, 5])
def test_a_flipped_bit_in_any_byte_is_refused(shift: int) -> None:
    blob = bytearray(SOUND)
    for at in range(len(blob)):
        bit = 1 << ((at + shift) % 8)
        blob[at] ^= bit
        refusal(bytes(blob))
        blob[at] ^= bit
    assert bytes(blob) == SOUND


@settings(max_examples=150)
@given(data=st.data())
def test_bytes_changed_added_or_lost_are_refused(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(SOUND)))
    end = data.draw(st.integers(start, min(len(SOUND), start + 40)))
    changed = SOUND[:start] + data.draw(st.binary(max_size=40)) + SOUND[end:]
    if changed != SOUND:
        refusal(changed)


def packed(header: bytes, rest: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + rest


TWICE = b'{"__metadata__":{"format":"efface.projector/1","format":"efface.projector/1"}}'


@settings(max_examples=60)
@given(blob=st.binary(max_size=200))
@example(blob=b"")
@example(blob=(2**63).to_bytes(8, "little"))
@example(blob=(2**64 - 1).to_bytes(8, "little") + b"{}")
@example(blob=packed(b"[]"))
@example(blob=packed(b"null"))
@example(blob=packed(b'{"__metadata__": []}'))
@example(blob=packed(b"[" * 100_000))
@example(blob=packed(b'{"a":' * 50_000))
@example(blob=packed(TWICE))
@example(blob=packed(b'{"__metadata__":{"format":"efface.projector/1"},"x":NaN}'))
@example(blob=packed(b'{"__metadata__":{"format":"efface.projector/1"},"x":1e999}'))
@example(blob=packed(b'{"__metadata__":{"format":"efface.projector/1"},"x":' + b"9" * 9999 + b"}"))
@example(blob=packed(b'{"__metadata__":{"format":"\xff"}}'))
def test_anything_else_is_no_projector(blob: bytes) -> None:
    refusal(blob)


def test_a_hostile_header_costs_no_memory(path: Path) -> None:
    huge = {"dtype": "F64", "shape": [2**40, 2**20], "data_offsets": [0, 2**63]}
    headers = [
        (2**62).to_bytes(8, "little"),
        (2**31).to_bytes(8, "little") + b"{}",
        packed(json.dumps({"basis": huge}).encode()),
        packed(json.dumps({"__metadata__": {"format": FORMAT}, "basis": huge}).encode()),
    ]
    for blob in headers:
        path.write_bytes(blob)
        tracemalloc.start()
        try:
            with pytest.raises(ArtefactError):
                load_eraser(path)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


def test_tensors_that_claim_too_much_are_refused_though_they_are_sealed() -> None:
    size = int.from_bytes(SOUND[:8], "little")
    for wrong in ([2**40, 2**40], [9, 4], [-9, 3], [9, 3, 1], []):
        header = json.loads(SOUND[8 : 8 + size])
        header["basis"]["shape"] = wrong
        header["__metadata__"]["seal"] = "0" * 64
        text = json.dumps(header, separators=(",", ":")).encode()
        blank = packed(text, SOUND[8 + size :])
        seal = hashlib.sha256(blank).hexdigest().encode()
        said = refusal(blank.replace(b'"seal":"' + b"0" * 64, b'"seal":"' + seal))
        assert "tensors cannot be read" in said or "does not belong" in said


def test_a_huge_file_is_refused_unread(path: Path) -> None:
    with path.open("wb") as file:
        file.write((1 << 30).to_bytes(8, "little"))
        file.truncate(1 << 40)  # takes no room on the disk
    with pytest.raises(ArtefactError, match="too large"):
        load_eraser(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(ArtefactError, match="no ordinary file"):
        load_eraser(path)


Change = Callable[[dict[str, np.ndarray], dict[str, str]], None]


def forged(change: Change) -> str:
    """Change a sound file, renew its seal, and see what reading it says."""
    tensors = module._tensors(eraser())
    strings = module._strings(eraser(), record(), {})
    change(tensors, strings)
    return refusal(container.pack(tensors, strings))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t, s: s.update(format="efface.projector/2"), "of format 'efface.projector/2'"),
        (lambda t, s: s.update(format="other/1"), "no efface projector"),
        (lambda t, s: s.pop("format"), "no efface projector"),
        (lambda t, s: t.pop("basis"), "no tensor 'basis'"),
        (lambda t, s: t.update(basis=t["basis"].astype("f4")), "float32, not float64"),
        (lambda t, s: t.update(basis=t["basis"].astype("i8")), "int64, not float64"),
        (lambda t, s: t.update(basis=t["basis"].ravel()), "does not belong"),
        (lambda t, s: t.update(basis=t["basis"].T.copy()), "does not belong"),
        (lambda t, s: t.update(dual=t["dual"][:, :2].copy()), "does not belong"),
        (lambda t, s: t.update(mean=t["mean"][:-1].copy()), "does not belong"),
        (lambda t, s: t.update(energy=t["energy"][None].copy()), "does not belong"),
        (lambda t, s: t.update(extra=t["mean"]), "'extra'.*does not belong"),
        (lambda t, s: s.update(dim="8"), "does not belong"),
        (lambda t, s: s.update(dim="-9"), "does not belong"),
        (lambda t, s: s.update(rank="2"), "does not belong"),
        (lambda t, s: t["mean"].__setitem__(2, np.nan), "not finite"),
        (lambda t, s: t["energy"].__setitem__(0, np.inf), "not finite"),
        (lambda t, s: t["basis"].__setitem__((0, 0), 7.0), "not the one that was saved"),
        (lambda t, s: t.pop("dual"), "not the one that was saved"),
        (lambda t, s: s.update(normalise="false"), "not the one that was saved"),
        (lambda t, s: s.update(normalise="1"), "'normalise' is not understood"),
        (lambda t, s: s.update(params="[]"), "'params' is not understood"),
        (lambda t, s: s.update(params='{"a":1,"a":2}'), "'params'.*given twice"),
        (lambda t, s: s.update(params="[" * 100_000), "'params'.*nested"),
        (lambda t, s: s.update(notes='{"a":NaN}'), "'notes'.*NaN"),
        (lambda t, s: s.update(notes='{"a":-1e999}'), "'notes'.*out of range"),
        (lambda t, s: s.update(warnings="[1]"), "'warnings' is not understood"),
        (lambda t, s: s.update(rows="many"), "'rows' is not understood"),
        (lambda t, s: s.update(rank="true"), "'rank' is not understood"),
        (lambda t, s: s.pop("warnings"), "lack warnings"),
        (lambda t, s: s.pop("validation"), "lack validation"),
        (lambda t, s: s.update(dtype='"int8"'), "record of the fit.*int8"),
        (lambda t, s: s.update(seed='"1"'), "record of the fit"),
        (lambda t, s: s.update(encoder='{"name":1}'), "record of the fit"),
        (lambda t, s: s.update(encoder='{"weights":"ab"}'), "record of the fit"),
        (lambda t, s: s.update(split='{"rule":"r","people":["A"]}'), "record of the fit"),
        (lambda t, s: s.update(split='{"rule":"r","counts":{"fit":[1,-1]}}'), "record of the fit"),
        (lambda t, s: s.update(split='{"rule":"r","counts":{"fit":[9,240]}}'), "names 9 people"),
        (lambda t, s: s.update(validation='{"far":2}'), "record of the fit"),
    ],
)
def test_a_file_of_another_make_is_refused_by_name(change: Change, words: str) -> None:
    assert re.search(words, forged(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda blob, seal: blob.replace(seal, b"0" * 64),
        lambda blob, seal: blob.replace(seal, seal.upper()),
        lambda blob, seal: blob.replace(b'"seal"', b'"sael"'),
        lambda blob, seal: blob.replace(b'"isp"', b'"ipa"', 1),
    ],
)
def test_a_broken_seal_is_refused(change: Callable[[bytes, bytes], bytes]) -> None:
    changed = change(SOUND, read_seal(SOUND))
    assert changed != SOUND
    assert "seal" in refusal(changed)


def read_seal(blob: bytes) -> bytes:
    found = re.search(rb'"seal":"([0-9a-f]{64})"', blob)
    assert found is not None
    return found[1]


def test_the_seal_can_be_checked_without_efface() -> None:
    seal = read_seal(SOUND)
    assert hashlib.sha256(SOUND.replace(seal, b"0" * 64)).hexdigest().encode() == seal


def test_a_seal_in_the_notes_is_no_seal(path: Path) -> None:
    notes = {"seal": "ab" * 32, "quoted": f'"seal":"{"cd" * 32}"'}
    save_eraser(eraser(), path, metadata=notes)
    assert read_metadata(path)["notes"] == notes
