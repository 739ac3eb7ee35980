"""An attribution as JSON, as one page that opens offline, and as lines for a terminal."""

from __future__ import annotations

import hashlib
import math
from os import PathLike
from pathlib import Path

import msgspec
from markupsafe import Markup

from efface.attributing import sentences
from efface.attributions import SCHEMA, Attribution, Finding, Preference
from efface.errors import ArtefactError, DataError
from efface.report import write_all
from efface.report.charts import attributed
from efface.report.html import Figure, environment
from efface.report.words import DASH, clip, interval
from efface.results import Estimate

MAX_BYTES = 64 * 2**20
WORDS = {"face": "face-dominant", "context": "context-dominant", "undecided": "undecided"}


def save(found: Attribution, folder: str | PathLike[str]) -> None:
    """Both files or neither: everything is made before anything is written."""
    contents = {
        "attribution.json": to_json(found),
        "attribution.html": to_html(found).encode("utf-8", "replace"),
    }
    try:
        write_all(Path(folder), contents)
    except OSError as error:
        raise DataError(
            f"{folder}: the attribution cannot be written there ({error.strerror or error}): "
            "choose another folder with --out, or make this one writable"
        ) from error


def to_json(found: Attribution) -> bytes:
    """Equal attributions give equal bytes."""
    plain = _checked(msgspec.to_builtins(found, order="deterministic"), "$")
    data = msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"
    from_json(data, "this attribution")  # what is written can be read
    return data


def from_json(data: bytes, source: str = "attribution") -> Attribution:
    """An attribution, or a refusal that names the field."""
    if len(data) > MAX_BYTES:
        raise ArtefactError(f"{source}: {len(data):,} bytes is more than an attribution may have")
    try:
        found = msgspec.json.decode(data, type=Attribution)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ArtefactError(f"{source}: {error}: write it again with `efface attribute`") from error
    if found.schema != SCHEMA:
        raise ArtefactError(f"{source}: is {found.schema[:60]!r}, this efface reads {SCHEMA!r}")
    return found


def read(path: str | PathLike[str]) -> Attribution:
    """The attribution stored in a file."""
    with open(path, "rb") as file:
        return from_json(file.read(MAX_BYTES + 1), str(path))


def is_attribution(path: str | PathLike[str]) -> bool:
    """Whether a file says of itself that it is one, of any version."""
    return says(path).startswith("efface.attribution/")


def says(path: str | PathLike[str]) -> str:
    """What a file says of itself; nothing where it says nothing that can be read."""
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES + 1), type=_Head).schema
    except (OSError, ValueError, msgspec.MsgspecError):
        return ""


class _Head(msgspec.Struct):
    """The one field that every version has."""

    schema: str


def to_html(found: Attribution) -> str:
    """A pure function of the JSON."""
    data = to_json(found)
    found = from_json(data)
    raw = [one for one in found.findings if one.release == "raw"]
    decided = all(one.side != "undecided" for one in raw)
    template = environment().get_template("attribution.html.j2")
    return template.render(
        found=found,
        raw=raw,
        words=WORDS,
        tone="not-applicable" if decided else "inconclusive",
        icon="✓" if decided else "?",
        said=[reasons(one) for one in raw],
        doubts=doubts(found),
        notes=_notes(found),
        crossings=[crossing(one.preference) for one in found.findings],
        encoders=[(view, _figures(found, view.name)) for view in found.views],
        digest=hashlib.sha256(data).hexdigest(),
    )


def doubts(found: Attribution) -> list[str]:
    """What the first look has to show of projectors whose people may be among these."""
    told = [(one, sentences.doubt(one.projector)) for one in found.findings]
    return [
        f"{clip(one.encoder, 40)}, {clip(one.release, 24)}: {said}."
        for one, said in told
        if said is not None
    ]


def _notes(found: Attribution) -> dict[str, str]:
    """Each note once, with the names of those it is about."""
    told: dict[str, list[str]] = {}
    for one in found.findings:
        for note in one.notes:
            told.setdefault(note, []).append(f"{clip(one.encoder, 40)}, {clip(one.release, 24)}")
    return {note: "; ".join(names) for note, names in told.items()}


def reasons(one: Finding) -> str:
    """What the three measures say of one encoder's vectors, in words a reader can check."""
    held, cpi, bstar = one.importance, one.preference, one.revelation
    parts = []
    if held is not None and held.specific.value is not None:
        parts.append(
            f"Blurring the faces, compared with blurring as much around them, costs two pictures "
            f"of one person {interval(held.specific)} more of their similarity than it costs those "
            "of two people"
        )
    if cpi is not None and cpi.cpi[0].value is not None:
        parts.append(
            f"the same surroundings are nearer than the same person in "
            f"{interval(cpi.cpi[0], 'percent')} of the triplets"
        )
    if bstar is not None and bstar.median.value is not None:
        parts.append(f"the median of B* is {interval(bstar.median)}")
    return f"{'; '.join(parts)}." if parts else "Too little data."


def crossing(held: Preference | None) -> str:
    """``4.6 [4.1, open]``, or the word for where there is none."""
    if held is None or held.crossover.crossing == "not measured":
        return DASH
    found = held.crossover
    if found.crossing != "crossed" or found.sigma is None:
        return {"from the start": "≤ 0", "never": f"> {held.sigmas[-1]:g}"}.get(found.crossing, "")
    low, high = ("open" if end is None else f"{end:.1f}" for end in (found.low, found.high))
    return f"{found.sigma:.1f} [{low}, {high}]"


def _figures(found: Attribution, encoder: str) -> list[Figure]:
    """The four charts of one encoder, as far as there is something to draw."""
    mine = [one for one in found.findings if one.encoder == encoder]
    number = [view.name for view in found.views].index(encoder)
    drawn: list[Figure] = []
    for part, title, draw in (
        ("importance", "FII over strangers, and as published", attributed.importance),
        ("importance", "Distribution of FII", attributed.distribution),
        ("preference", "CPI: faces blurred alike", attributed.preference),
        ("revelation", "B*: surroundings revealed", attributed.revelation),
    ):
        if any(getattr(one, part) is not None for one in mine):
            chart = draw(mine, f"chart-{number}-{len(drawn)}")
            drawn.append((title, Markup(chart), ""))
    return drawn


def _checked(value: object, path: str) -> object:
    """NaN and infinity by name; lone surrogates of file names made harmless."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ArtefactError(f"this attribution: {path} is {value}: JSON has no form for it")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_checked(k, path): _checked(v, f"{path}.{k}") for k, v in value.items()}
    if isinstance(value, list):
        return [_checked(v, f"{path}[{i}]") for i, v in enumerate(value)]
    return value


# --- for a terminal -------------------------------------------------------------------------


def to_text(found: Attribution) -> str:
    """What became of the pictures, and a line for each encoder and release."""
    got, drawn = found.pictures, found.drawn
    lines = [found.headline, ""]
    lines += _grid([_HEADS, *(_cells(one) for one in found.findings)])
    lines += [f"warning   {line}" for line in doubts(found)]
    lines += [
        "",
        f"pictures  {got.usable:,} of {got.found:,} usable, {got.people:,} people",
    ]
    if got.left_out:
        lines.append(f"left out  {', '.join(f'{n:,} {kind}' for kind, n in got.left_out.items())}")
    lines.append(
        f"compared  {drawn.pairs:,} pairs and {drawn.triplets:,} triplets of {drawn.people:,} "
        f"people; {drawn.lone:,} people without a second picture in another context"
    )
    lost = {**drawn.passed_over, **drawn.lost_pairs, **drawn.lost_triplets}
    if lost:
        lines.append(f"lost      {', '.join(f'{n:,} {kind}' for kind, n in lost.items())}")
    for view in found.views:
        lines.append(
            f"{view.name}: sees {view.face_seen:.0%} of the face and {view.ring_seen:.0%} of the "
            f"ring; {view.encoded:,} pictures encoded, {view.remembered:,} remembered"
        )
        lines.append(f"{view.name} takes  {view.facts.preprocessing}")
        if view.facts.assumed:
            assumed = ", ".join(view.facts.assumed)
            lines.append(f"{view.name}: assumed {assumed}: declare what is not so")
    return "\n".join(lines)


_HEADS = ["encoder", "vectors", "so", "FII over strangers", "FII as published", "CPI, no blur",
          "median B*"]  # fmt: skip


def _cells(one: Finding) -> list[str]:
    held, cpi, bstar = one.importance, one.preference, one.revelation
    return [
        clip(one.encoder, 40), clip(one.release, 24), one.side,
        _shown(held.specific if held else None), _shown(held.fii if held else None),
        _shown(cpi.cpi[0] if cpi else None), _shown(bstar.median if bstar else None),
    ]  # fmt: skip


def _shown(estimate: Estimate | None) -> str:
    return DASH if estimate is None else interval(estimate)


def _grid(rows: list[list[str]]) -> list[str]:
    sizes = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return ["  ".join(c.ljust(s) for c, s in zip(r, sizes, strict=True)).rstrip() for r in rows]
