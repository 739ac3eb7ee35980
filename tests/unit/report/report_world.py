"""A full report made by hand, with the numbers that an audit of real faces gives."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from efface.facts import (
    EncoderFacts,
    Encoding,
    GeometryFacts,
    PictureCounts,
    Preprocessing,
)
from efface.report.gate import verdict
from efface.report.schema import SCHEMA
from efface.results import (
    Case,
    Counts,
    Curve,
    Estimate,
    Map,
    Measurement,
    Provenance,
    ReleaseSummary,
    Report,
    Spec,
    Subject,
    Sweep,
    SweepPoint,
    Threat,
    Transfer,
    TransferCell,
    UtilityScore,
    Worst,
)

FAR = 1e-3
ATTACKS = ("cosine", "ridge", "lda", "mlp")
MATED, IMPOSTOR, CALIBRATION = 4_320, 934_560, 1_204_128
# Worst-case TAR of each attacker: raw, then (naive, parrot) on each protected release.
RAW = {"cosine": 0.978, "ridge": 0.983, "lda": 0.981, "mlp": 0.972}
AFTER = {
    "isp-128": {
        "cosine": (0.041, 0.041), "ridge": (0.092, 0.621), "lda": (0.110, 0.587),
        "mlp": (0.035, 0.402),
    },
    "leace": {
        "cosine": (0.012, 0.012), "ridge": (0.021, 0.131), "lda": (0.019, 0.126),
        "mlp": (0.009, 0.088),
    },
    "sal-64": {
        "cosine": (0.372, 0.372), "ridge": (0.518, 0.774), "lda": (0.497, 0.750),
        "mlp": (0.310, 0.611),
    },
}  # fmt: skip
DIGEST = "3f7a9c0e51b2d4680f1e2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f"


def estimate(value: float | None, spread: float = 0.12, n: int = MATED) -> Estimate:
    """A value with an interval that is narrower near 0 and 1, as binomial ones are."""
    if value is None:
        return Estimate(None, method="insufficient data")
    half = spread * math.sqrt(max(value * (1 - value), 1e-4))
    return Estimate(
        value, max(0.0, value - half), min(1.0, value + half), n, 72, "identity bootstrap"
    )


def grid() -> list[float]:
    return [10 ** (-k / 8) for k in range(48, -1, -1)]


def curve(tar: float, far: float = FAR) -> Curve:
    """A power law through (far, tar) and (1, 1), unknown where there were too few pairs."""
    slope = math.log(tar) / math.log(far)
    fars = grid()
    return Curve(fars, [None if f * IMPOSTOR < 1 else min(1.0, f**slope) for f in fars])


def spec(release: str) -> Spec | None:
    name, _, rank = release.partition("-")
    params: dict[str, Any] = {"rank": int(rank)} if rank else {}
    return None if release == "raw" else Spec(name, params)


def measurement(
    release: str,
    attack: str,
    knowledge: Any,
    tar: float | None,
    *,
    far: float = FAR,
    note: str = "",
    **threat: Any,
) -> Measurement:
    known = tar is not None
    value = tar if tar is not None else 0.0
    case = Case(
        subject=DIGEST, release=release, protection=spec(release), attack=Spec(attack),
        threat=Threat(knowledge=knowledge, **threat), far=far, mode="strong", family=7,
    )  # fmt: skip
    accepted = round(0.0011 * IMPOSTOR)
    return Measurement(
        case=case,
        status="measured" if known else "insufficient data",
        note=note,
        setting={} if attack == "cosine" else {"alpha": 0.31622776601683794},
        threshold=0.318274651 if known else None,
        tar=estimate(tar),
        family_low=estimate(tar, 0.16).low,
        far=estimate(accepted / IMPOSTOR if known else None, 0.01, IMPOSTOR),
        fnmr=estimate(1 - value if known else None),
        fmr=estimate(accepted / IMPOSTOR if known else None, 0.01, IMPOSTOR),
        control=estimate(0.0012 if known else None, 0.02),
        pauc=estimate(0.8 * value + 0.0005),
        eer=0.5 * (1 - value) ** 2 if known else None,
        counts=Counts(
            mated=MATED,
            mated_accepted=round(value * MATED),
            impostor=IMPOSTOR,
            impostor_accepted=accepted,
            calibration_impostor=CALIBRATION,
            calibration_allowed=math.floor(FAR * CALIBRATION),
            calibration_accepted=math.floor(FAR * CALIBRATION),
        )
        if known
        else None,
        curve=curve(value) if known and value > 0 else None,
    )


def measurements() -> list[Measurement]:
    found = [measurement("raw", a, "none" if a == "cosine" else "naive", RAW[a]) for a in ATTACKS]
    for release, attackers in AFTER.items():
        for attack, (naive, parrot) in attackers.items():
            if attack == "cosine":
                found.append(measurement(release, attack, "none", naive))
                continue
            found.append(measurement(release, attack, "naive", naive))
            found.append(measurement(release, attack, "parrot", parrot))
    note = "FAR x N = 0.9: 934,560 impostor pairs are too few for FAR 1e-06"
    found.append(measurement("isp-128", "ridge", "parrot", None, far=1e-6, note=note))
    return found


def worst_cases(found: list[Measurement]) -> list[Worst]:
    out = []
    for release in ("raw", *AFTER):
        mine = [m for m in found if m.case.release == release and m.tar.value is not None]
        top = max(mine, key=lambda m: m.tar.value or 0.0)
        out.append(
            Worst(
                release=release,
                status="measured",
                attacker=top.attacker,
                tar=top.tar,
                far=top.far,
                attackers=len(mine),
            )
        )
    return out


def releases() -> list[ReleaseSummary]:
    found = [ReleaseSummary(name="raw", protection=None, dimension=512)]
    for i, name in enumerate(AFTER):
        energy = (1 - np.exp(-np.arange(1, 257) / (30 + 12 * i))) / (
            1 - np.exp(-256 / (30 + 12 * i))
        )
        protection = spec(name)
        rank = int(protection.params.get("rank", 254)) if protection else 0
        found.append(
            ReleaseSummary(
                name=name,
                protection=protection,
                rank=rank,
                dimension=512,
                variance_kept=0.214 + 0.1 * i,
                identities_fitted=283,
                digest=DIGEST[::-1],
                energy=[float(e) for e in energy],
                warnings=["rank 254 of 512 leaves little of the vectors"] if i == 1 else [],
            )
        )
    return found


def sweeps() -> list[Sweep]:
    ranks = [0, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256]
    points = [SweepPoint(x=r, tar=estimate(0.983 * math.exp(-r / 60)), attacker="ridge, parrot")
              for r in ranks]  # fmt: skip
    refused = SweepPoint(x=282, tar=estimate(None), note="rank 282 would remove nearly everything")
    people = [35, 70, 141, 283]
    return [
        Sweep(axis="rank", release="isp-128", measured_on="calibration", points=[*points, refused],
              target=0.15, chosen=128, note="attackers: cosine, ridge, lda"),
        Sweep(axis="people fitted", release="isp-128", measured_on="test",
              points=[SweepPoint(x=p, tar=estimate(0.9 - 0.001 * p)) for p in people]),
        Sweep(axis="people attacking", release="isp-128", measured_on="test",
              points=[SweepPoint(x=p, tar=estimate(0.1 + 0.0018 * p)) for p in people]),
    ]  # fmt: skip


def transfer() -> Transfer:
    tars = {
        (None, "lfw"): 0.983, (None, "celeb"): 0.961, ("lfw", "lfw"): 0.621,
        ("lfw", "celeb"): 0.844, ("celeb", "lfw"): 0.801, ("celeb", "celeb"): 0.553,
    }  # fmt: skip
    return Transfer(
        datasets=["lfw", "celeb"],
        rank=128,
        cells=[
            TransferCell(fitted_on=a, tested_on=b, tar=estimate(t), attacker="ridge, parrot")
            for (a, b), t in tars.items()
        ],
        cosines=[math.cos(math.pi / 2 * (k / 128) ** 1.6) for k in range(128)],
        random_cosines=[math.cos(math.pi / 2 * (0.3 + 0.7 * k / 128)) for k in range(128)],
    )


def utility() -> list[UtilityScore]:
    tasks = ("k-NN top-1", "linear probe top-1", "copy recall@1", "copy recall@5", "copy recall@10")
    found = []
    for i, release in enumerate(AFTER):
        for j, task in enumerate(tasks):
            raw, share = 0.71 + 0.05 * j, 0.97 - 0.03 * i + 0.01 * j
            found.append(
                UtilityScore(
                    release=release,
                    task=task,
                    raw=estimate(raw, 0.05),
                    protected=estimate(raw * share, 0.05),
                    share=Estimate(share, share - 0.02, share + 0.015, 2_000, 2_000, "paired"),
                )
            )
    return found


def maps() -> list[Map]:
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(20), 12)
    centres = rng.normal(size=(20, 2)) * 30
    found = []
    for release, spread in (("raw", 2.0), ("isp-128", 25.0), ("leace", 30.0)):
        xy = centres[person] * (30 if spread < 5 else 6) / 30 + rng.normal(size=(240, 2)) * spread
        found.append(
            Map(release=release, method="t-SNE on cosine distances, without labels",
                x=[round(float(v), 4) for v in xy[:, 0]], y=[round(float(v), 4) for v in xy[:, 1]],
                person=[int(p) for p in person])
        )  # fmt: skip
    return found


def encoding() -> Encoding:
    return Encoding(
        encoder=EncoderFacts(
            name="buffalo", kind="arcface", weights=DIGEST, dimension=512, alignment="arcface",
            preprocessing=Preprocessing(height=112, width=112, mean=(0.5,), std=(0.5,)),
            licence="research only", assumed=["filter bilinear"],
        ),
        geometry=GeometryFacts(
            name="FCR crop", settings={"size": 112, "coverage": 0.33}, detector="yunet",
            detector_weights=DIGEST[::-1],
            achieved={"face_score": (0.91, 0.02, 0.97), "face_coverage": (0.33, 0.001, 0.341)},
        ),
        pictures=PictureCounts(
            found=9_800, encoded=9_700, people=423,
            left_out={"no face": 61, "face at the border": 30, "damaged": 9},
            treated={"several faces": 240, "grey": 12}, passed_over={".txt": 2},
            near_duplicates=7, near_duplicates_across=3,
        ),
        identity_rule="the file name without its last number",
        limits={"max_pixels": 100_000_000, "min_side": 16}, versions={"efface": "0.1.0"},
    )  # fmt: skip


def build(limit: float | None = 0.05, **changed: Any) -> Report:
    found = measurements()
    worst, shipped = worst_cases(found), releases()
    report = Report(
        schema=SCHEMA,
        subject=Subject(
            dataset="lfw-buffalo", digest=DIGEST, rows=9_600, dimension=512, dtype="float32",
            identities=423, split_digest=DIGEST[::-1],
            split_rule="60 % fit, 20 % calibration, 20 % test, by identity, seed 0",
            parts={"fit": [283, 6_412], "shadow": [0, 0], "calibration": [68, 1_560],
                   "test": [72, 1_628]},
        ),
        verdict=verdict(worst, shipped, limit, FAR),
        releases=shipped,
        worst_cases=worst,
        measurements=found,
        sweeps=sweeps(),
        transfer=transfer(),
        utility=utility(),
        maps=maps(),
        encoding=encoding(),
        provenance=Provenance(
            efface="0.1.0", versions={"numpy": "2.1.0", "python": "3.11.7"}, seed=0, mode="strong",
            far=FAR, level=0.95, bootstrap=2_000,
            plan={"audit": {"far": FAR, "mode": "strong", "protect": ["isp", "leace", "sal"]}},
            command="efface audit lfw.parquet --identity person --protect isp --fail-above 0.05",
            date="2025-11-18",
            not_tested=["Reconstruction of pictures from the vectors (template inversion).",
                        "Inference of attributes such as gender, age or ethnicity."],
        ),
    )  # fmt: skip
    return msgspec.structs.replace(report, **changed)


def small(tar: Estimate, limit: float | None = 0.05, *, status: Any = "measured") -> Report:
    """The least a report can be: raw vectors, one attacker, one number."""
    summary = ReleaseSummary(name="raw", protection=None, dimension=8)
    worst = Worst(
        release="raw", status=status, attacker="cosine", tar=tar, far=estimate(FAR), attackers=1
    )
    full = build(limit)
    return msgspec.structs.replace(
        full,
        verdict=verdict([worst], [summary], limit, FAR),
        releases=[summary], worst_cases=[worst], measurements=[], sweeps=[], transfer=None,
        utility=[], maps=[], encoding=None,
    )  # fmt: skip
