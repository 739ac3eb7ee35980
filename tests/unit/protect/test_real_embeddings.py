"""The erasers on real embeddings, where spectra are what no made-up world has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from erasure_worlds import class_means, unit

from efface import INLP, ISP, LEACE, RLACE, SAL
from efface.protect.linear.moments import Moments

pytestmark = [
    pytest.mark.shared,
    pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning"),
]


def embeddings(shared: Path, name: str) -> tuple[Any, Any]:
    with np.load(shared / "data" / "lfw" / "embeddings" / f"{name}.npz", allow_pickle=False) as z:
        return z["embedding"], z["identity"]


def between_share(x: Any, identity: Any) -> float:
    """Share of the variance of unit rows that lies between people."""
    x = unit(x)
    means = class_means(x, identity)
    return float(np.sum((means - means.mean(axis=0)) ** 2) / len(means) / x.var(axis=0).sum())


@pytest.mark.parametrize("method", [ISP, LEACE, SAL, INLP, RLACE])
@pytest.mark.parametrize("name", ["face_mobile_512", "dlib128"])
def test_erasure_lowers_what_lies_between_people_never_seen(
    shared: Path, name: str, method: Any
) -> None:
    x, identity = embeddings(shared, name)
    seen = np.isin(identity, np.unique(identity)[::2])
    before = between_share(x[~seen].astype(float), identity[~seen])
    fitted = method(rank=x.shape[1] // 4).fit(x[seen], identity[seen])
    after = between_share(fitted.transform(x[~seen].astype(float)), identity[~seen])
    assert fitted.eraser_.rank == x.shape[1] // 4
    assert before > 0.4
    assert after < 0.9 * before


@pytest.mark.parametrize("name", ["face_mobile_512", "dlib128"])
def test_stored_as_float16_the_rank_stays_below_people_and_dimensions(
    shared: Path, name: str
) -> None:
    x, identity = embeddings(shared, name)
    assert x.dtype == np.float16
    found = ISP(rank=8, keep_moments=True).fit(x, identity)
    moments: Moments = found.moments_
    assert moments.eps == float(np.finfo("f2").eps)
    assert 8 < len(found.eraser_.energy) < min(moments.people, moments.dim)
