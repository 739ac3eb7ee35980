"""What an attribution found: is it the face or its surroundings that a similarity comes from?

Plain, typed, versioned, serialised as it stands. ``efface.attribution/1`` is the shape of
:class:`Attribution`; its HTML is a pure function of it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from efface.facts import EncoderFacts
from efface.results import Estimate, Scalar

SCHEMA = "efface.attribution/1"
Side = Literal["face", "context", "undecided"]
Seen = Literal["crop", "arcface", "dlib"]
Matched = Literal["transplant", "swap network", "rendered"]
Crossing = Literal["crossed", "from the start", "never", "not measured"]


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """One number over many pictures; None where there was none."""

    count: int = 0
    mean: float | None = None
    deviation: float | None = None
    largest: float | None = None


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """How often a value lies between each edge and the next, the last edge included."""

    edges: list[float]
    counts: list[int]


class Pictures(msgspec.Struct, frozen=True, kw_only=True):
    """From the pictures given to those that could be used: every one is counted once."""

    dataset: str
    kind: Literal["photographs", "rendered"]
    digest: str
    """SHA-256 over the pictures, who is on them, and the faces found."""
    found: int
    usable: int
    people: int
    """People with at least one usable picture."""
    identity_rule: str = ""
    left_out: dict[str, int] = {}
    """``no face``, ``face at the border``, ``damaged`` ... : found = usable + all of these."""
    treated: dict[str, int] = {}
    """What was done to usable ones: ``several faces``, ``grey`` ..."""
    passed_over: dict[str, int] = {}
    detector: str = ""
    detector_weights: str | None = None


class Geometry(msgspec.Struct, frozen=True, kw_only=True):
    """Quality controls of appendix D.6, over the usable pictures (P18, P19, P20)."""

    canvas: int
    """Side of the crops on which everything is done, in pixels."""
    target: float
    coverage: Spread
    """FCR achieved: face box over crop."""
    padding: Spread
    ellipse: Spread
    """The share of the face box that the face mask covers."""
    area_difference: Spread
    """Between ring and face, as a share of the face, without sign."""
    unmatched_rings: int
    """Pictures whose ring could not be made equal within 2 %: they take part in no FII."""


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """The queries and their matches: how they were drawn, and what was lost on the way."""

    rule: str
    context_match: Matched
    people: int
    """People with a query."""
    lone: int
    """People left out because they have no second usable picture in another context."""
    passed_over: dict[str, int] = {}
    """Pairs of one person that were not taken, by reason."""
    queries: int
    pairs: int
    """Pairs that FII is measured on."""
    triplets: int
    """Triplets that CPI and B* are measured on."""
    lost_pairs: dict[str, int] = {}
    """By reason; queries = pairs + all of these."""
    lost_triplets: dict[str, int] = {}
    """By reason; queries = triplets + all of these."""
    swap_success: Estimate
    """Context matches that could be made, of those tried."""
    swap_covered: Spread
    """The share of each replaced face for which the other picture had pixels."""
    coverage_difference: Spread
    """Between query and identity match, as a share of the query's."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """An encoder, and how much of the face and of the ring reaches it."""

    name: str
    facts: EncoderFacts
    seen: Seen
    """``crop``: all of the crop. ``arcface``, ``dlib``: the aligned face cut out of it."""
    face_seen: float
    """Mean share of the face mask that lies in what the encoder sees."""
    ring_seen: float
    """Mean share of the ring: below 1 the two occlusions are equal in the crop, and not here."""
    encoded: int = 0
    """Pictures encoded for this run."""
    remembered: int = 0
    """Pictures whose vectors were there from an earlier run."""


class Importance(msgspec.Struct, frozen=True, kw_only=True):
    """Face importance index (P20), over pairs of one person; and over pairs of two, because blur
    makes any two faces alike, and what it adds to everybody's similarity is not identity."""

    fii: Estimate
    """As in the paper: ``face`` less ``ring``."""
    strangers: Estimate
    """The same of each query and another person elsewhere."""
    specific: Estimate
    """FII less that of strangers: what is lost of the similarity between pictures of one person
    beyond what is lost between any two."""
    face: Estimate
    """Loss of similarity when the faces are blurred."""
    ring: Estimate
    """Loss when rings of the same area around them are blurred."""
    similarity: Estimate
    """Mean cosine of the untouched pairs."""
    distribution: Histogram


class Crossover(msgspec.Struct, frozen=True, kw_only=True):
    """The blur at which CPI reaches one half, between two sigmas by a straight line."""

    crossing: Crossing
    sigma: float | None = None
    low: float | None = None
    """Ends of the interval over people; None where it is open: below the first sigma or above
    the last."""
    high: float | None = None
    crossed: float | None = None
    """Share of the resamples in which there is a crossing."""


class Preference(msgspec.Struct, frozen=True, kw_only=True):
    """Context preference index (P21), over triplets."""

    sigmas: list[float]
    cpi: list[Estimate]
    ties: list[int]
    """Triplets, at each sigma, with two equal similarities: each counts one half."""
    delta: Estimate
    """CPI at the largest sigma less CPI at the smallest."""
    crossover: Crossover


class Revelation(msgspec.Struct, frozen=True, kw_only=True):
    """Background revelation threshold B* (P22), over triplets."""

    levels: list[float]
    median: Estimate
    counts: list[int]
    """Triplets overtaken first at each level; the first of them is the censoring at 0."""
    never: int
    """Triplets never overtaken: censored at 1."""
    overtaken: list[Estimate]
    """Share of the triplets overtaken at each level or before it."""
    without_preference: int
    """Triplets whose two similarities are equal at every level; in no share and no median."""
    context_rises: Estimate
    """Monotonicity: similarity to the context match never falls by more than ``slack`` as
    background is revealed."""
    identity_flat: Estimate
    """Similarity to the identity match stays within ``flat`` of its mean over the levels."""
    slack: float
    flat: float
    context_similarity: list[float]
    """Mean at each level."""
    identity_similarity: list[float]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One encoder's vectors, as they are or through one projector."""

    encoder: str
    release: str
    """``raw``, or the name of the projector."""
    projector: dict[str, Scalar] = {}
    """Method, rank, digest, how many people it was fitted on, and how many of these were
    recognised here."""
    side: Side
    headline: str
    votes: dict[str, Side]
    """What each measure says by its interval alone. The FII of the paper is among them and has no
    part in ``side``: the one over strangers takes its place."""
    importance: Importance | None
    preference: Preference | None
    revelation: Revelation | None
    notes: list[str] = []


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A picture with its caption: PNG in base64."""

    caption: str
    png: str


class Strip(msgspec.Struct, frozen=True, kw_only=True):
    """A row of pictures that belong together."""

    title: str
    pictures: list[Shown]


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to one query, its identity match and its context match."""

    strips: list[Strip]


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """Everything an attribution found."""

    schema: str
    headline: str
    sentences: list[str]
    pictures: Pictures
    geometry: Geometry
    drawn: Drawn
    views: list[View]
    findings: list[Finding]
    examples: list[Example] = []
    """Empty unless the user allowed pictures to be shown, or they are rendered."""
    not_tested: list[str] = []
    settings: dict[str, Scalar] = {}
    seed: int = 0
    bootstrap: int = 2000
    level: float = 0.95
    efface: str = ""
    versions: dict[str, str] = {}
    command: str = ""
    date: str = ""

    def finding(self, encoder: str, release: str = "raw") -> Finding:
        """What was found of one encoder and release."""
        for found in self.findings:
            if (found.encoder, found.release) == (encoder, release):
                return found
        known = ", ".join(f"{f.encoder}/{f.release}" for f in self.findings)
        raise KeyError(f"no {encoder!r} with release {release!r} (known: {known})")

    def save(self, folder: Any) -> None:
        """Write attribution.json and attribution.html into ``folder``."""
        from efface.report.attribution import save

        save(self, folder)
