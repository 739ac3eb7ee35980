"""A small eraser and a full record of its fit, for tests of its file."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.export.fitting import Encoder, Fitting, SplitRecord, Validation
from efface.protect.linear.eraser import LinearEraser
from efface.results import Estimate, Sweep, SweepPoint

PLAIN, OBLIQUE = "plain", "oblique"


def eraser(kind: str = OBLIQUE) -> LinearEraser:
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.standard_normal((9, 3)))[0]
    if kind == PLAIN:
        return LinearEraser(basis, normalise=False)
    return LinearEraser(
        basis,
        dual=basis + 0.25,
        mean=rng.standard_normal(9),
        method="isp",
        params={"rank": "auto", "coverage": 0.9, "force": False, "floor": None},
        energy=np.array([3.0, 2.0, 0.5, 0.1]),
        identities=24,
        rows=240,
        fit_digest="ab" * 32,
        fingerprints=("00ff", "a1b2"),
        warnings=("fitted on 24 identities ü",),
    )


def record(**changes: Any) -> Fitting:
    point = SweepPoint(x=3, tar=Estimate(0.01, 0.0, 0.04, 50, 12, "bootstrap"), attacker="lda")
    sweep = Sweep(
        axis="rank", release="isp-3", measured_on="calibration", points=[point], target=0.05,
        chosen=3,
    )  # fmt: skip
    given = {
        "dtype": "float16",
        "dataset": "faces ü",
        "split": SplitRecord(rule="by identity", digest="cd" * 32, counts={"fit": (24, 240)}),
        "seed": 7,
        "versions": {"numpy": "2.0"},
        "validation": Validation(far=1e-3, sweep=sweep),
        "encoder": Encoder(name="ArcFace", weights="ef" * 32),
    }
    return Fitting(**{**given, **changes})
