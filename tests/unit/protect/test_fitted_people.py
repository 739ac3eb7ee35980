"""An eraser knows again the people it was fitted on, however it was fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from erasure_worlds import world

import efface
from efface import INLP, ISP, LEACE, RLACE, SAL
from efface.data.fingerprint import identity_fingerprints, recognise
from efface.protect.linear.moments import Moments
from efface.protect.linear.stored import Stored
from efface.types import Samples

each = pytest.mark.parametrize("method", [ISP, LEACE, SAL, INLP, RLACE])


def made(rng: np.random.Generator, **more: Any) -> Samples:
    x, identity = world(rng, **more)
    return efface.samples(x, [f"p{i:02d}" for i in identity])


def prints(samples: Samples) -> tuple[str, ...]:
    return tuple(sorted(identity_fingerprints(samples).values()))


@each
def test_every_fit_leaves_fingerprints_that_outlive_saving(
    rng: np.random.Generator, method: Any, tmp_path: Path
) -> None:
    samples = made(rng)
    eraser = method(rank=4).fit(samples).eraser_
    assert eraser.fingerprints == prints(samples)
    assert len(eraser.fingerprints) == eraser.identities == 24
    efface.save_eraser(eraser, tmp_path / "p.safetensors")
    stored = efface.load_eraser(tmp_path / "p.safetensors")
    met = recognise(samples, stored.fingerprints)
    assert (len(met.codes), met.found) == (24, 24)


def test_arrays_have_the_fingerprints_that_samples_have(rng: np.random.Generator) -> None:
    samples = made(rng)
    longer = samples.data.astype(np.float64) * 7
    eraser = ISP(rank=4).fit(longer, samples.identity).eraser_
    assert recognise(samples, eraser.fingerprints).found == 24


def test_a_stream_has_those_of_all_its_batches(rng: np.random.Generator) -> None:
    samples = made(rng)
    stream = ISP(rank=4)
    for rows in np.array_split(rng.permutation(len(samples)), 5):
        stream.partial_fit(samples.take(rows))
    assert stream.eraser_.fingerprints == prints(samples)
    assert ISP(rank=4).partial_fit(samples).fit(samples).eraser_.fingerprints == prints(samples)


def test_moments_have_those_that_come_with_them(rng: np.random.Generator) -> None:
    samples = made(rng)
    moments = Moments(samples.dim, True).update(samples.data, samples.identity)
    assert ISP(rank=4).fit_moments(moments).eraser_.fingerprints == ()
    given = ISP(rank=4).fit_moments(moments, fingerprints=reversed(prints(samples)))
    assert given.eraser_.fingerprints == prints(samples)


@pytest.mark.parametrize("stored", ["float16", "float32", "float64"])
def test_a_stored_projector_ships_what_apply_would_write(
    rng: np.random.Generator, stored: str
) -> None:
    x, identity = world(rng)
    samples = efface.samples(x.astype(stored), identity)
    eraser = ISP(rank=4).fit(samples).eraser_
    release = Stored(eraser).release(samples, rng)
    assert release.data.dtype == stored
    assert np.array_equal(release.data, eraser.transform(samples.data).astype(stored))
    assert Stored(eraser, "float64").release(samples, rng).data.dtype == np.float64
