"""What an attribution says in words. Decided by intervals; points alone decide nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from efface.attributions import Finding, Importance, Preference, Revelation, Side
from efface.auditing.seen import Seen
from efface.results import Estimate, Scalar

NAMES: dict[Side, str] = {
    "face": "face-dominant",
    "context": "context-dominant",
    "undecided": "undecided",
}


def headline(
    side: Side, votes: dict[str, Side], fii: Importance | None, cpi: Preference | None,
    bstar: Revelation | None,
) -> str:  # fmt: skip
    """One line for one encoder and release."""
    told = [
        f"FII over strangers {_shown(fii.specific if fii else None)} "
        f"({votes['FII over strangers']})",
        f"CPI without blur {_shown(cpi.cpi[0] if cpi else None)} ({votes['CPI']})",
        f"median B* {_shown(bstar.median if bstar else None)} ({votes['B*']})",
        f"FII as published {_shown(fii.fii if fii else None)}",
    ]
    return f"{NAMES[side].capitalize()}{_why(side, votes)}: {', '.join(told)}"


def overall(findings: Sequence[Finding]) -> str:
    """One line for all encoders, of their raw vectors."""
    raw = [found for found in findings if found.release == "raw"]
    return "; ".join(f"{found.encoder}: {NAMES[found.side]}" for found in raw)


def explained(findings: Sequence[Finding]) -> list[str]:
    """One sentence for each raw encoder, and one for each projector that changed it."""
    raw = {found.encoder: found for found in findings if found.release == "raw"}
    said = []
    for found in findings:
        line = f"{found.encoder}, {found.release}: {found.headline}."
        before = raw[found.encoder].preference
        after = found.preference
        if found.release != "raw" and before is not None and after is not None:
            line += f" CPI without blur was {_shown(before.cpi[0])} before."
        said.append(line)
    return said


def doubt(projector: Mapping[str, Scalar]) -> str | None:
    """What has to be said where people the projector was fitted on may be measured unrecognised.

    Faces are cut otherwise for an attribution than for an encoding, so that nobody recognised
    shows nothing.
    """
    people, fitted = (
        projector.get(name) for name in ("people recognised here", "people fitted on")
    )
    if not isinstance(people, int) or not isinstance(fitted, int):
        return None  # the file may be anybody's
    return None if people >= fitted else Seen(fitted, fitted, people).among_pictures()


def recognised(lost: Mapping[str, int], projector: dict[str, Scalar]) -> list[str]:
    """Whether the people measured are new to the projector; ``lost`` counts the queries in which
    those who are not have each part."""
    if not projector:
        return []
    unsure = doubt(projector)
    notes = [] if unsure is None else [unsure]
    people, fitted = projector["people recognised here"], projector["people fitted on"]
    if people:
        rest = "" if people == fitted else f" of {fitted}"
        notes.append(
            f"{people}{rest} people the projector was fitted on were recognised; their "
            f"{lost['query']} queries are left out, and with them whatever they are the stranger "
            f"({lost['stranger']}) or lend the face of ({lost['donor']})"
        )
    elif unsure is None:
        notes.append(
            "the projector does not say whom it was fitted on, so nobody here could be recognised"
        )
    return notes


def without_vectors(lost: Mapping[str, int]) -> list[str]:
    """Where an encoder's own vectors are missing."""
    told = [f"{count} {name}" for name, count in lost.items() if count]
    if not told:
        return []
    return [f"{', '.join(told)} have no finite vector of this encoder and are left out"]


def not_tested(kind: str, context: str) -> list[str]:
    """What no reader should take these figures for."""
    said = [
        "Whether anybody can be recognised: attribution says where a similarity comes from, not "
        "how far it reaches. That is what an audit measures.",
        "Hair, ears and neck count as context: they lie outside the ellipse.",
        "Other ways to hide a face than blur, and larger surroundings than the crop holds.",
    ]
    if kind == "photographs":
        said.append(
            "That two pictures of a person show different places: nothing says so. Nearly equal "
            "pictures are passed over, two pictures of one event are not."
        )
    if context == "transplant":
        said.append(
            "A swap network: context matches are transplants inside the ellipse, and whatever of "
            "a person lies outside it stays the query's."
        )
    return said


def _why(side: Side, votes: dict[str, Side]) -> str:
    said = {vote for name, vote in votes.items() if name != "FII"} - {"undecided"}
    if side != "undecided":
        return ""
    return ", as the measures disagree" if len(said) == 2 else ""


def _shown(found: Estimate | None) -> str:
    if found is None or found.value is None:
        return "not measured"
    low, high = found.low or 0.0, found.high or 0.0
    return f"{found.value:.3g} [{low:.3g}, {high:.3g}]"
