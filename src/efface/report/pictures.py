"""What became of the pictures, in rows for the page: every one of them is in exactly one."""

from __future__ import annotations

from dataclasses import dataclass

from efface.facts import EncoderFacts, Encoding, GeometryFacts
from efface.report.words import percent
from efface.results import Report, Subject

_FACES = {
    "no face": "The detector saw none.",
    "face at the border": "Rejected for padding: the crop would reach too far over the edge.",
    "face too small": "No face has a box of 16 pixels both ways.",
    "several faces": "More than one, and only pictures of one person were asked for.",
    "landmarks mirrored": "Left and right of the face are exchanged.",
    "landmarks out of order": "The five points do not make an upright face.",
    "picture too small": "No face can be looked for in it.",
    "refused": "The face could not be brought to the form the encoder wants.",
}
_FILES = {
    "damaged": "The file ends too early or holds nonsense.",
    "not a picture": "Something else under a picture's name.",
    "empty file": "No bytes.",
    "missing": "Listed, but not there.",
    "no permission": "It may not be read.",
    "cannot be read": "The disk or the system refused.",
    "too large": "More pixels or bytes than were allowed.",
    "too small": "A side is shorter than was allowed.",
    "unknown range": "Pixels whose black and white nobody declared.",
    "deadly": "Every process that opened it died.",
    "no identity": "It cannot be told who is in it.",
    "no vector": "The encoder gave no usable numbers for it.",
}
_UNREAD = ("damaged", "not a picture", "empty file", "missing", "no permission", "cannot be read",
           "deadly")  # fmt: skip
MEASURED = {
    "face_coverage": "Face box over crop (FCR achieved)",
    "face_padding": "Padding ratio",
    "face_ellipse": "Share of the face box that the ellipse covers",
    "face_score": "The detector's own score",
    "faces_seen": "Faces in a picture",
}


@dataclass(frozen=True)
class Row:
    """A group of pictures, how many, and their share of all that were seen."""

    name: str
    count: int
    share: float
    meaning: str
    kind: str = ""
    """``total`` for rows that others add up to."""


@dataclass(frozen=True)
class Pictures:
    """The section on pictures."""

    encoder: list[tuple[str, str]]
    rows: list[Row]
    remarks: list[tuple[str, int]]
    measured: list[tuple[str, float, float, float]]
    cautions: list[str]


def seen(report: Report) -> Pictures | None:
    """None where the vectors' file did not say how they were made."""
    made = report.encoding
    if made is None:
        return None
    return Pictures(
        encoder=_encoder(made),
        rows=_rows(made, report.subject),
        remarks=_remarks(made),
        measured=[
            (MEASURED.get(name, name), *values)
            for name, values in sorted(made.geometry.achieved.items(), key=_place)
        ],
        cautions=_cautions(made),
    )


def _encoder(made: Encoding) -> list[tuple[str, str]]:
    facts, geometry = made.encoder, made.geometry
    found = [
        ("Encoder", f"{facts.name} ({facts.kind}), {facts.dimension:,} numbers"),
        ("SHA-256 of its weights", facts.weights),
        ("Licence", facts.licence or "not declared"),
        ("What it is fed", str(facts.preprocessing)),
        ("Assumed", ", ".join(facts.assumed) or "nothing"),
        ("Pooling", facts.pooling),
        ("Cut out of each picture", _cut(geometry)),
        ("SHA-256 of the detector", geometry.detector_weights or ""),
        ("Who is who", made.identity_rule),
    ]
    return [(name, text) for name, text in found if text]


def _cut(geometry: GeometryFacts) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in geometry.settings.items())
    by = f" by {geometry.detector}" if geometry.detector else ""
    return f"{geometry.name}{by}{f' ({settings})' if settings else ''}"


def _rows(made: Encoding, subject: Subject) -> list[Row]:
    """Seen, then what was left out with the reason, then encoded, then audited."""
    counts = made.pictures

    def row(name: str, count: int, meaning: str, kind: str = "") -> Row:
        return Row(name, count, count / max(1, counts.found), meaning, kind)

    rows = [row("seen", counts.found, "All that were listed.", "total")]
    # None rejected for padding is worth a row too, where it could have been.
    border = {"face at the border": 0} if made.geometry.name == "FCR crop" else {}
    for name, count in (border | counts.left_out).items():
        words = (_FACES | _FILES).get(name, "")
        rows.append(row(name, count, f"Left out. {words}".strip()))
    rows.append(row("encoded", counts.encoded, f"Of {counts.people:,} people.", "total"))
    if subject.rows < counts.encoded:
        why = "Encoded, but not chosen for this audit."
        whose = f"Of {subject.identities:,} people."
        rows += [row("not audited", counts.encoded - subject.rows, why),
                 row("audited", subject.rows, whose, "total")]  # fmt: skip
    return rows


def _remarks(made: Encoding) -> list[tuple[str, int]]:
    """What to know beside; the first ones are told even where they are none."""
    counts = made.pictures
    unread = sum(counts.left_out.get(name, 0) for name in _UNREAD)
    faces = {"several faces": 0} if made.geometry.detector else {}
    passed = {f"no picture by its name: {end}": n for end, n in counts.passed_over.items()}
    return [
        ("files that could not be read", unread),
        ("near-duplicates across people, pairs", counts.near_duplicates_across),
        ("near-duplicates of one person, pairs", counts.near_duplicates),
        *(faces | counts.treated | passed).items(),
    ]


def _place(item: tuple[str, tuple[float, float, float]]) -> int:
    names = list(MEASURED)
    return names.index(item[0]) if item[0] in names else len(names)


def _cautions(made: Encoding) -> list[str]:
    counts = made.pictures
    return [*_assumed(made.encoder), *_lost(made), *_duplicates(counts.near_duplicates_across,
                                                              counts.near_duplicates)]  # fmt: skip


def _assumed(facts: EncoderFacts) -> list[str]:
    if not facts.assumed:
        return []
    return [
        f"Neither declared nor found in the encoder's file: {', '.join(facts.assumed)}. If one of "
        "these is wrong, the vectors look like any others and the audit is of another encoder."
    ]


def _lost(made: Encoding) -> list[str]:
    counts = made.pictures
    left = counts.found - counts.encoded
    if not left:
        return []
    faces = sum(counts.left_out.get(name, 0) for name in _FACES)
    return [
        f"{left:,} of {counts.found:,} pictures ({percent(left / counts.found)}) were left out: "
        f"{faces:,} for want of a face that can be used, {left - faces:,} for other reasons. The "
        "figures hold for the rest."
    ]


def _duplicates(across: int, within: int) -> list[str]:
    found = []
    if across:
        found.append(
            f"Near-duplicate pictures under the names of two people: {_pairs(across)}, most likely "
            "wrong labels. Every attacker links such strangers, which may move the threshold."
        )
    if within:
        found.append(
            f"Near-duplicate pictures of one person: {_pairs(within)}. To link these takes no face."
        )
    return found


def _pairs(count: int) -> str:
    return f"{count:,} pair{'s' * (count != 1)}"
