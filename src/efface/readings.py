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
    theorem: TheoremReading | None = None
    distances: Distances
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
