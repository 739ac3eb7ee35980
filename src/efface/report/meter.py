"""The meter's reading as JSON and as one page that opens offline."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

import msgspec
from markupsafe import Markup

from efface.errors import ArtefactError, DataError
from efface.readings import (
    SCHEMA,
    AttackReading,
    GuessArm,
    GuessCurve,
    Reading,
    TheoremReading,
)
from efface.report import write_all
from efface.report.charts.distances import distances
from efface.report.charts.guess_cost import guess_cost
from efface.report.html import environment
from efface.report.words import percent
from efface.results import Estimate

MAX_BYTES = 16 * 2**20
_TONES = {"broken": ("fail", "✕"), "guessable": ("fail", "!"), "holds": ("inconclusive", "?")}


def save(reading: Reading, folder: str | PathLike[str]) -> None:
    """Both files or neither: everything is made before anything is written."""
    contents = {
        "meter.json": to_json(reading),
        "meter.html": to_html(reading).encode("utf-8", "replace"),
    }
    try:
        write_all(Path(folder), contents)
    except OSError as error:
        raise DataError(
            f"{folder}: the reading cannot be written there ({error.strerror or error}): "
            "choose another folder with --out, or make this one writable"
        ) from error


def to_json(reading: Reading) -> bytes:
    """Equal readings give equal bytes."""
    data = msgspec.json.format(msgspec.json.encode(reading, order="deterministic"), indent=2)
    from_json(data, "this reading")  # what is written can be read
    return data + b"\n"


def from_json(data: bytes, source: str = "reading") -> Reading:
    """A reading, or a refusal that names the field."""
    if len(data) > MAX_BYTES:
        raise ArtefactError(f"{source}: {len(data):,} bytes is more than a reading may have")
    try:
        found = msgspec.json.decode(data, type=Reading)
    except msgspec.MsgspecError as error:
        raise ArtefactError(
            f"{source}: {error}: write it again with `efface vault meter`"
        ) from error
    if found.schema != SCHEMA:
        raise ArtefactError(f"{source}: is {found.schema!r}, this efface reads {SCHEMA!r}")
    return found


def to_html(reading: Reading) -> str:
    """A pure function of the JSON."""
    data = to_json(reading)
    reading = from_json(data)
    tone, icon = _TONES[reading.verdict.finding]
    return (
        environment()
        .get_template("meter.html.j2")
        .render(
            reading=reading,
            tone=tone,
            icon=icon,
            worst=_worst(reading),
            chart=Markup(distances(reading.distances, "distances")),
            cost=None if reading.curve is None else Markup(guess_cost(reading.curve, "cost")),
            digest=hashlib.sha256(data).hexdigest(),
            numbers=[(a, _setting(a)) for a in reading.attacks],
            percent=percent,
        )
    )


def _worst(reading: Reading) -> AttackReading | None:
    """Who gets nearest to most people."""
    return max(
        reading.attacks,
        key=lambda a: max(a.near.value or 0.0, a.accepted.value or 0.0),
        default=None,
    )


def _setting(attack: AttackReading) -> str:
    shown = {k: v for k, v in attack.setting.items() if k not in ("source", "guesses")}
    return ", ".join(f"{k} {v}" for k, v in shown.items())


# --- for a terminal -------------------------------------------------------------------------


def to_text(reading: Reading) -> str:
    """The reading in lines of a terminal: verdict, rates, attacks, theorem."""
    lines = [reading.verdict.headline, *reading.verdict.sentences, ""]
    lines += _grid([_HEADS, *(_cells(attack) for attack in reading.attacks)])
    lines.append(
        f"random guess: near {percent(reading.random_mean)} +- {percent(reading.random_deviation)}"
    )
    left = reading.guessing
    lines.append(
        f"guesses by the false-match rate: {_guesses(left.guesses_50, left.guesses_50_low)} for "
        f"50 %, {_guesses(left.guesses_99, left.guesses_99_low)} for 99 %"
    )
    lines.append(
        "median distance: "
        + ", ".join(f"{s.name} {s.median:.3f}" for s in reading.distances.spreads)
        + f"; t = {reading.distances.t:.3f}"
    )
    if reading.theorem is not None:
        lines.append(_promise(reading.theorem))
    lines += [f"{n.attack}, {n.leakage} leakage: not run: {n.why}" for n in reading.not_run]
    if reading.curve is not None:
        lines += ["", *_curve(reading.curve)]
    return "\n".join([*lines, *reading.notes])


_HEADS = ["attack", "leakage", "distance", "near", "accepted", "opened", "exact", "50 % at"]


def _cells(attack: AttackReading) -> list[str]:
    opened = percent(attack.opened.value) if attack.tries else "-"
    by = f"guess {attack.guesses_50:,}" if attack.guesses_50 else "-"
    return [
        attack.attack, attack.leakage, f"{attack.distance_mean:.3f}", _between(attack.near),
        _between(attack.accepted), opened, percent(attack.exact.value), by,
    ]  # fmt: skip


def _curve(curve: GuessCurve) -> list[str]:
    """The best point of each way, and the statement."""
    heads = ["way", "TPR", "strangers", "mean opens", "bits", "guesses for 50 %"]
    rows = [[a.name, *_best(a)] for a in curve.arms]
    wanted = f"Best at a TPR of {percent(curve.target)} or more, {curve.people} people:"
    return [wanted, *_grid([heads, *rows]), *curve.sentences, *curve.notes]


def _best(arm: GuessArm) -> list[str]:
    if arm.best is None:
        return ["-"] * 5
    p = arm.best.point
    shown = f"more than {p.bits_low:.1f}" if p.bits is None else f"{p.bits:.1f}"
    return [
        _between(p.tpr), _between(p.fpr), _between(p.first),
        f"{shown} [{p.bits_low:.1f}, {_open(p.bits_high)}]",
        _guesses(p.guesses_50, p.guesses_50_low),
    ]  # fmt: skip


def _open(value: float | None) -> str:
    return "no end" if value is None else f"{value:.1f}"


def _between(rate: Estimate) -> str:
    return f"{percent(rate.value)} [{percent(rate.low)}, {percent(rate.high)}]"


def _grid(rows: list[list[str]]) -> list[str]:
    sizes = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return ["  ".join(c.ljust(s) for c, s in zip(r, sizes, strict=True)).rstrip() for r in rows]


def _guesses(value: float | None, low: float) -> str:
    return f"more than {low:,.0f}" if value is None else f"{value:,.0f}"


def _promise(found: TheoremReading) -> str:
    if found.holds:
        return f"Theorem 1: alpha {found.alpha:.4g}, kappa {found.kappa:.1f} bits"
    return (
        f"Theorem 1 promises nothing: it needs alpha > 1, here R = {found.r:.4g} and "
        f"sqrt(m/2 pi e) q^(1-l/m) = {found.shortest:.4g} give alpha = {found.alpha:.4g} "
        f"(gamma {found.gamma:.1f}, at most {found.ceiling:.1f})"
    )
