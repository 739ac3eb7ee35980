"""The nouns that end up in a report: plain, typed, without arrays, serialised as they stand."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

from efface.facts import Encoding

Knowledge = Literal["none", "naive", "parrot"]
Mode = Literal["strong", "paper"]
Outcome = Literal["pass", "fail", "inconclusive", "not applicable"]
Status = Literal["measured", "insufficient data", "not applicable"]
Novelty = Literal["shown", "vouched", "not shown"]
Scalar = str | int | float | bool | None


class Threat(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the attacker knows. Naive or parrot belongs here, not to attacks.

    ``naive`` trains on unprotected vectors, ``parrot`` on vectors that went through the same
    protection, ``none`` does not train. ``people`` limits how many people the attacker trains on
    (None: everyone it could have), ``images`` how many vectors of each (None: all). ``pool`` says
    where those people come from: ``fit`` (the people the eraser was fitted on), ``shadow``
    (others), or ``both``.
    """

    knowledge: Knowledge = "parrot"
    pool: Literal["both", "fit", "shadow"] = "both"
    people: int | None = None
    images: int | None = None


class Estimate(msgspec.Struct, frozen=True):
    """A value with its interval. ``value`` is None when the data cannot carry one."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    clusters: int = 0
    method: str = ""
    level: float = 0.95

    def __str__(self) -> str:
        if self.value is None:
            return "insufficient data"
        if self.low is None or self.high is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


class Spec(msgspec.Struct, frozen=True):
    """A registered thing with its parameters: enough to make it again."""

    name: str
    params: dict[str, Any] = {}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of an audit. Frozen; its key is the cache key."""

    subject: str
    """Digest of the samples and the split."""
    release: str
    """Name of the release in the report (``raw``, ``isp-128`` ...)."""
    protection: Spec | None
    """None for the raw vectors. Parameters include the digest of the fitted eraser."""
    attack: Spec
    threat: Threat
    far: float
    mode: Mode
    family: int = 1
    """How many attackers compete for the worst case of this release."""
    resamples: int = 1
    quota: int | None = None
    """Impostor pairs drawn per pair of identities; None for all of them."""
    seed: int = 0

    def key(self) -> str:
        from efface._version import __version__

        body = msgspec.json.encode([__version__, self], order="deterministic")
        return hashlib.sha256(body).hexdigest()


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted, so that every rate can be checked by hand."""

    mated: int
    mated_accepted: int
    impostor: int
    impostor_accepted: int
    calibration_impostor: int
    calibration_allowed: int
    """floor(FAR x N): how many calibration impostors the threshold may accept."""
    calibration_accepted: int


class Curve(msgspec.Struct, frozen=True):
    """TAR at each FAR of a fixed grid, on test pairs; None where FAR x N < 1."""

    far: list[float]
    tar: list[float | None]


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one case. ``far``/``tar`` as in the papers, ``fmr``/``fnmr`` as in
    ISO/IEC 19795, measured at ``threshold``, which calibration identities set (P12, P15)."""

    case: Case
    status: Status
    note: str = ""
    setting: dict[str, Scalar] = {}
    threshold: float | None = None
    tar: Estimate
    family_low: float | None = None
    """Lower end of the TAR at the level shared by all attackers of the release (Bonferroni)."""
    far: Estimate
    fnmr: Estimate
    fmr: Estimate
    control: Estimate
    """TAR of the same game with shuffled identity labels: must sit near the target FAR."""
    pauc: Estimate
    """Partial AUC over FAR in [0, 1e-3], as a share of its maximum."""
    eer: float | None = None
    counts: Counts | None = None
    curve: Curve | None = None

    @property
    def attacker(self) -> str:
        """Attack and knowledge in words, for tables."""
        plain = self.case.protection is None or self.case.threat.knowledge == "none"
        knows = "" if plain else f", {self.case.threat.knowledge}"
        shots = "" if self.case.threat.images is None else f", k={self.case.threat.images}"
        return f"{self.case.attack.name}{knows}{shots}"


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A registry entry."""

    role: Literal["protection", "attack", "judge", "encoder", "scheme"]
    name: str
    summary: str
    accepts: str
    yields: str
    needs: str = ""
    paper: str = ""
    verdict: str = ""
    """What is known to break it, with the figures; said again whenever it is used."""
    licence: str = "Apache-2.0"


# --- sections of a report -------------------------------------------------------------------


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What was audited. Names of people never enter a report."""

    dataset: str
    digest: str
    rows: int
    dimension: int
    dtype: str
    identities: int
    split_digest: str
    split_rule: str
    parts: dict[str, list[int]]
    """People and rows in fit, shadow, calibration and test."""


class ReleaseSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One thing an attacker may get to see: the raw vectors or a protected form of them."""

    name: str
    protection: Spec | None
    rank: int = 0
    dimension: int = 0
    dtype: str = "float32"
    variance_kept: float = 1.0
    """Share of the variance of the test vectors that is left."""
    identities_fitted: int = 0
    digest: str = ""
    energy: list[float] = []
    """Cumulative share of between-identity energy in the first 1, 2 ... directions."""
    identities_recognised: int | None = None
    """Of the people a finished projector was fitted on: those found in these data and kept out of
    the test. None where this audit did the fitting."""
    unseen: Novelty = "shown"
    """Whether the people tested are new to the protection."""
    warnings: list[str] = []


class Worst(msgspec.Struct, frozen=True, kw_only=True):
    """The headline of a release: worst case over attackers and knowledge (P10)."""

    release: str
    status: Status
    attacker: str = ""
    tar: Estimate
    """High end: the largest over all attackers. Low end: Bonferroni over attackers."""
    far: Estimate
    attackers: int = 0
    unmeasured: int = 0
    """Attackers for whom these data do not suffice: one of them might have been the worst."""
    note: str = ""


class SweepPoint(msgspec.Struct, frozen=True, kw_only=True):
    x: int
    tar: Estimate
    attacker: str = ""
    note: str = ""


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """Worst case along one axis. ``measured_on`` is ``calibration`` where it chose a rank and
    ``test`` where it only describes."""

    axis: Literal["rank", "people fitted", "people attacking"]
    release: str
    measured_on: Literal["calibration", "test"]
    points: list[SweepPoint]
    target: float | None = None
    chosen: int | None = None
    note: str = ""


class TransferCell(msgspec.Struct, frozen=True, kw_only=True):
    fitted_on: str | None
    """Dataset the eraser was fitted on; None for raw."""
    tested_on: str
    tar: Estimate
    attacker: str


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """2 x 2 transfer between two datasets and the angles between their identity subspaces."""

    datasets: list[str]
    rank: int
    cells: list[TransferCell]
    cosines: list[float]
    """Cosines of all principal angles, descending."""
    random_cosines: list[float]
    """Mean of the same for two random subspaces of these ranks and this dimension."""
    note: str = ""
    """Which attackers played, and who is in both datasets."""


class UtilityScore(msgspec.Struct, frozen=True, kw_only=True):
    release: str
    task: str
    """``k-NN top-1``, ``linear probe top-1``, ``copy recall@1`` ..."""
    raw: Estimate
    protected: Estimate
    share: Estimate
    """protected / raw, paired over the same items."""


class Map(msgspec.Struct, frozen=True, kw_only=True):
    """2-D map of some test vectors; ``person`` is 0, 1, 2 ... and never a name."""

    release: str
    method: str
    x: list[float]
    y: list[float]
    person: list[int]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    outcome: Outcome
    limit: float | None
    """The gate: worst-case TAR that must not be exceeded; None when no gate was asked for."""
    release: str
    """The release that decided."""
    headline: str
    sentences: list[str]
    """Plain words for a reader who knows no statistics."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    efface: str
    versions: dict[str, str]
    seed: int
    mode: Mode
    far: float
    level: float
    bootstrap: int
    plan: dict[str, Any] = {}
    command: str = ""
    date: str = ""
    """Given by the caller; empty by default so that equal runs give equal reports."""
    not_tested: list[str] = []


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything an audit found; HTML, JUnit and the exit code are pure functions of it."""

    schema: str
    subject: Subject
    verdict: Verdict
    releases: list[ReleaseSummary]
    worst_cases: list[Worst]
    measurements: list[Measurement]
    sweeps: list[Sweep] = []
    transfer: Transfer | None = None
    utility: list[UtilityScore] = []
    maps: list[Map] = []
    encoding: Encoding | None = None
    """Where the vectors were made of pictures by efface: by which encoder, and of which."""
    provenance: Provenance

    def worst(self, release: str | None = None) -> Worst:
        """The worst case of one release; by default of the one that decides the verdict."""
        name = self.verdict.release if release is None else release
        for worst in self.worst_cases:
            if worst.release == name:
                return worst
        known = ", ".join(w.release for w in self.worst_cases)
        raise KeyError(f"no release {name!r} in this report (known: {known})")

    def save(self, folder: Any) -> None:
        """Write report.json, report.html and report.junit.xml into ``folder``."""
        from efface.report import save

        save(self, folder)
