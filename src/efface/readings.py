"""What the meter reads off a template scheme: plain, typed, versioned, serialised as it stands.

``efface.meter/1`` is the shape of :class:`Reading`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from efface.results import Estimate, Scalar

SCHEMA = "efface.meter/1"
Leakage = Literal["full", "partial"]
Finding = Literal["broken", "guessable", "holds"]


class Users(msgspec.Struct, frozen=True, kw_only=True):
    """Who was enrolled, and whose embeddings the attacker has. No names."""

    dataset: str
    people: int
    pictures: int
    dimension: int
    enrolled_pictures: int
    population: str
    population_people: int
    population_pictures: int
    left_out: int
    """People of the population who are users too, and were taken out of it."""


class AttackReading(msgspec.Struct, frozen=True, kw_only=True):
    """One attack at one leakage. Rates are over people."""

    attack: str
    leakage: Leakage
    setting: dict[str, Scalar] = {}
    distance_mean: float
    distance_deviation: float
    near: Estimate
    """The claim is within t of the enrolled embedding: the success of the paper's tables."""
    accepted: Estimate
    """The claim verifies."""
    opened: Estimate
    """The attacker saw its own guess reproduce the record."""
    exact: Estimate
    """All of what was stored is known."""
    tries: int = 0
    """How many guesses each template got at most; 0 for an attack that does not guess."""
    guesses_50: int | None = None
    guesses_99: int | None = None
    """The guess by which so many per cent of the people were open; None if never."""


class Guessing(msgspec.Struct, frozen=True, kw_only=True):
    """What the false-match rate alone says; ``None`` where no stranger was accepted."""

    bits: float | None
    bits_low: float
    """From the upper end of the rate: what these data can vouch for."""
    bits_high: float | None
    guesses_50: float | None
    guesses_50_low: float
    guesses_99: float | None
    guesses_99_low: float


class TheoremReading(msgspec.Struct, frozen=True, kw_only=True):
    """Theorem 1 with its inputs. Logarithms to base 2."""

    m: int
    l: int  # noqa: E741
    q: int
    r: float
    balls: float
    radius: float
    error: float
    shortest: float
    alpha: float
    holds: bool
    entropy: float
    box: float
    gamma: float
    ceiling: float
    kappa: float


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Distances of one kind: quantiles, and counts between the edges of the picture."""

    name: Literal["genuine", "impostor", "mean"]
    count: int
    median: float
    low: float
    high: float
    """5 % and 95 % quantiles."""
    bins: list[int]


class Distances(msgspec.Struct, frozen=True, kw_only=True):
    t: float
    t_from: str
    edges: list[float]
    spreads: list[Spread]


class MeterVerdict(msgspec.Struct, frozen=True, kw_only=True):
    finding: Finding
    tries: float | None = None
    """Guesses that open half of the people, where it is guessable."""
    headline: str
    sentences: list[str]


class NotRun(msgspec.Struct, frozen=True, kw_only=True):
    """An attack that has nothing to start from at this leakage, and why."""

    attack: str
    leakage: Leakage
    why: str


class GuessPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One radius: who is accepted, and how many guesses open half of the people."""

    radius: float
    tpr: Estimate
    fpr: Estimate
    first: Estimate
    """Opened by the first guess, the mean of the population."""
    guesses_50: float | None
    """None where neither a guess nor a stranger was accepted."""
    guesses_50_low: float
    guesses_50_high: float | None
    bits: float | None
    """log2 of the guesses."""
    bits_low: float
    bits_high: float | None
    seen: bool
    """Whether so many guesses were made; else their rate, or that of strangers, was extended."""


class GuessCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The best point once more with people enrolled and guesses made, not by borders."""

    tpr: Estimate
    opened: Estimate
    tries: int
    guesses_50: int | None
    """By the service's own basis; None where not half of the people fell."""
    told: Estimate
    """Of the opened: what decoding leaves is shortest for an accepted guess: one hash is enough."""


class GuessBest(msgspec.Struct, frozen=True, kw_only=True):
    """The point with most bits among those that accept enough genuine tries, by ``check`` too."""

    point: GuessPoint
    check: GuessCheck
    seconds_hashed: float | None
    """Core seconds for half of the people, each, where every guess is hashed."""
    seconds: float | None
    """The same where what is left after decoding picks the guesses that are worth a hash."""


class GuessArm(msgspec.Struct, frozen=True, kw_only=True):
    """One way to run the scheme, along its radius."""

    name: str
    images: int
    tries: int
    votes: int
    """Pictures of a try that have to pass; 0 where their mean has to."""
    kdf: str
    hash_seconds: float
    decode_seconds: float
    """Core seconds of one hash, and of one guess decoded, on the machine that measured."""
    points: list[GuessPoint]
    best: GuessBest | None = None


class GuessCurve(msgspec.Struct, frozen=True, kw_only=True):
    """TPR against the cost of guessing."""

    scheme: str
    target: float
    """The TPR that is wanted at least."""
    people: int
    guesses: int
    basis: str
    """The thief's reduction."""
    reduce_seconds: float = 0.0
    """Core seconds of it for each lattice; 0 where the service's basis is taken."""
    arms: list[GuessArm]
    best: str = ""
    """Name of the arm with most bits at the wanted TPR; empty where none gets there."""
    core_hour: float | None = None
    """An assumed price, as given."""
    sentences: list[str] = []
    notes: list[str] = []


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the meter found; its HTML is a pure function of it."""

    schema: str
    scheme: str
    card: str
    """The card's own verdict."""
    settings: dict[str, Scalar]
    users: Users
    verdict: MeterVerdict
    tpr: Estimate
    fpr: Estimate
    guessing: Guessing
    random_mean: float
    random_deviation: float
    """Random guessing as in the paper: share of others within t of a person, over people."""
    attacks: list[AttackReading]
    not_run: list[NotRun] = []
    theorem: TheoremReading | None = None
    distances: Distances
    curve: GuessCurve | None = None
    notes: list[str] = []
    not_tested: list[str] = []
    seed: int = 0
    efface: str = ""
    versions: dict[str, str] = {}
    command: str = ""
    date: str = ""

    def save(self, folder: Any) -> None:
        """Write meter.json and meter.html into ``folder``."""
        from efface.report.meter import save

        save(self, folder)
