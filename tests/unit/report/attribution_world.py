"""Attributions without pictures: figures from made-up cosines, every field filled."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from efface.attributions import (
    SCHEMA,
    Attribution,
    Drawn,
    Example,
    Finding,
    Geometry,
    Pictures,
    Shown,
    Spread,
    Strip,
    View,
)
from efface.diagnose import attributed
from efface.diagnose.attribution import Similarities
from efface.facts import EncoderFacts, Preprocessing
from efface.measure.means import Clusters
from efface.results import Estimate

SIGMAS, LEVELS = (0.0, 1.0, 2.0, 4.0, 6.0, 8.0), (0.2, 0.4, 0.6, 0.8, 1.0)
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)
SPREAD = Spread(count=40, mean=0.33, deviation=0.001, largest=0.333)


def cosines(face: float, seed: int = 0, n: int = 40) -> Similarities:
    """Of an encoder that sees so much of the face."""
    rng = np.random.default_rng(seed)

    def around(middle: Any, *shape: int) -> Any:
        return np.clip(middle + rng.normal(0, 0.08, (n, *shape)), -1, 1)

    blur, shown = np.array(SIGMAS) / 8, np.array(LEVELS)
    return Similarities(
        whole=around(0.7), face=around(0.7 - 0.5 * face), ring=around(0.7 - 0.2 * (1 - face)),
        strangers=around(np.array([0.1, 0.2, 0.1]), 3),
        identity=around(0.7 - 0.3 * face * blur, 6),
        context=around(0.9 - 0.8 * face * (1 - 0.6 * blur), 6),
        identity_shown=around(0.7, 5), context_shown=around(0.2 + (1 - face) * (0.4 + shown), 5),
    )  # fmt: skip


def finding(encoder: str, release: str, face: float, seed: int = 0) -> Finding:
    held = cosines(face, seed)
    who = Clusters.of(np.arange(40) // 2, 200, np.random.default_rng(0))
    fii = attributed.importance(held, who, who)
    cpi = attributed.preference(held, SIGMAS, who)
    bstar = attributed.revelation(held, LEVELS, who, who)
    votes = attributed.votes(fii, cpi, bstar)
    return Finding(
        encoder=encoder, release=release, side=attributed.side(votes), votes=votes,
        headline="so it is", importance=fii, preference=cpi, revelation=bstar,
        projector={} if release == "raw" else {"method": "isp", "rank": 8, "digest": "ab" * 32},
        notes=[] if release == "raw" else ["nobody was recognised"],
    )  # fmt: skip


def facts(name: str) -> EncoderFacts:
    return EncoderFacts(
        name=name, kind="onnx", weights="cd" * 32, dimension=64, assumed=["colour RGB"],
        preprocessing=Preprocessing(height=112, width=112),
    )  # fmt: skip


@lru_cache(maxsize=1)
def build() -> Attribution:
    """Two encoders, one with projectors; two examples."""
    example = Example(
        strips=[Strip(title="Query", pictures=[Shown(caption="crop", png=PIXEL)] * 3)]
    )
    return Attribution(
        schema=SCHEMA, headline="general: context-dominant; face: face-dominant",
        sentences=["general, raw: so it is."],
        pictures=Pictures(
            dataset="holidays", kind="photographs", digest="ef" * 32, found=50, usable=40,
            people=20,
            identity_rule="the folder", left_out={"no face": 8, "damaged": 2},
            treated={"grey": 3}, passed_over={".txt": 1}, detector="yunet",
            detector_weights="12" * 32,
        ),
        geometry=Geometry(
            canvas=224, target=0.33, coverage=SPREAD, padding=SPREAD, ellipse=SPREAD,
            area_difference=SPREAD, unmatched_rings=1,
        ),
        drawn=Drawn(
            rule="by lot", context_match="transplant", people=20, lone=3,
            passed_over={"nearly the same picture": 2}, queries=42, pairs=41, triplets=40,
            lost_pairs={"ring not as large as the face": 1},
            lost_triplets={"swap: face at the border": 2},
            swap_success=Estimate(0.95, 0.85, 0.99, 42, 20, "x"), swap_covered=SPREAD,
            coverage_difference=SPREAD,
        ),
        views=[
            View(name="general", facts=facts("general"), seen="crop", face_seen=1.0, ring_seen=1.0,
                 encoded=10, remembered=3),
            View(name="face", facts=facts("face"), seen="arcface", face_seen=0.95, ring_seen=0.67),
        ],
        findings=[
            finding("general", "raw", 0.05), finding("general", "isp-8", 0.3, 1),
            finding("general", "leace-8", 0.5, 2), finding("face", "raw", 1.0),
        ],
        examples=[example, example], not_tested=["much"], settings={"canvas": 224}, seed=3,
        efface="0", versions={"numpy": "2"}, command="efface attribute holidays", date="today",
    )  # fmt: skip


def bare() -> Attribution:
    """Nothing could be measured, and nothing may be shown."""
    full = build()
    nothing = msgspec.structs.replace(
        full.findings[0], importance=None, preference=None, revelation=None, side="undecided"
    )
    empty = Spread()
    geometry = msgspec.structs.replace(
        full.geometry, coverage=empty, padding=empty, ellipse=empty, area_difference=empty
    )
    return msgspec.structs.replace(
        full, findings=[nothing], views=full.views[:1], examples=[], geometry=geometry,
        settings={}, versions={}, command="", date="", not_tested=[],
    )  # fmt: skip
