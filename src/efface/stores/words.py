"""A check in words, for a reader who wants to know what it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from efface.protect.linear.eraser import LinearEraser

if TYPE_CHECKING:
    from efface.stores.check import Check


def sentences(check: Check, eraser: LinearEraser) -> list[str]:
    """The verdict, what it rests on, and how it may be wrong."""
    if check.outcome == "wrong dimension":
        return [
            f"The projector was fitted on {eraser.dim}-dimensional vectors, these have "
            f"{check.dim}: it cannot have been applied to them."
        ]
    told = {
        "clean": _clean, "mixed": _mixed, "raw": _raw, "another projector": _another,
        "raw or another projector": _either, "inconclusive": _unsure,
    }[check.outcome]  # fmt: skip
    return [*told(check, eraser), *_empty(check)]


def _clean(check: Check, eraser: LinearEraser) -> list[str]:
    return [f"{_looked(check)} Each is as this projector leaves it.", _certainty(check)]


def _certainty(check: Check) -> str:
    passes = (
        f"a raw row of random direction passes for a clean one with probability {_p(check.chance)}"
    )
    if check.everything:
        return f"{passes[0].upper()}{passes[1:]}."
    return (
        f"If more than {100 * check.max_raw:.4g} % of all rows were raw, a draw like this would "
        f"show none of them with probability {_p(check.error_reached or 0.0)} at most; {passes}."
    )


def _mixed(check: Check, eraser: LinearEraser) -> list[str]:
    lines = [
        f"{_looked(check)} {_count(check)} not as this projector leaves them: {_named(check)}."
    ]
    share = check.share
    if share is not None and not check.everything:
        lines.append(
            f"In the whole store it is {share.value:.2%}, {share.low:.2%} to {share.high:.2%} at "
            f"{share.level:.0%} confidence."
        )
    if check.chance > 1e-6:
        lines.append(f"A raw row passes for a clean one with probability {_p(check.chance)}.")
    return lines


def _raw(check: Check, eraser: LinearEraser) -> list[str]:
    fills = f"; they fill all {check.dim} dimensions, as raw vectors do" if check.fills else ""
    return [f"{_looked(check)} None is as this projector leaves it{fills}.", _distance(check)]


def _another(check: Check, eraser: LinearEraser) -> list[str]:
    return [
        f"{_looked(check)} None is as this projector leaves it, and they fill {check.fills} of "
        f"{check.dim} dimensions: they went through another projector, or their encoder uses no "
        "more.",
        _distance(check),
    ]


def _either(check: Check, eraser: LinearEraser) -> list[str]:
    return [
        f"{_looked(check)} None is as this projector leaves it. Raw vectors and those of another "
        f"projector cannot be told apart with fewer than about {check.dim + check.dim // 10 + 10} "
        "rows.",
        _distance(check),
    ]


def _unsure(check: Check, eraser: LinearEraser) -> list[str]:
    if not check.looked_at:
        return ["There is no row to judge by."]
    if not eraser.rank:
        return ["The projector removes nothing, so every store is as it would leave it."]
    if check.looked_at < check.needed and not check.everything:
        return [
            f"{_looked(check)} Each is as this projector leaves it, but {check.needed:,} rows are "
            f"needed to miss more than {100 * check.max_raw:.4g} % raw ones with probability "
            f"{check.error:.4g} at most; here it is {_p(check.error_reached or 0.0)}. Draw more "
            "--rows, or look at --all."
        ]
    return [
        f"{_looked(check)} Each could be what this projector leaves, but a raw row of random "
        f"direction would pass with probability {_p(check.chance)}: {eraser.rank} "
        f"direction{'s' if eraser.rank > 1 else ''} at the precision of what is stored "
        "cannot tell them apart."
    ]


def _looked(check: Check) -> str:
    if check.everything:
        return f"All {check.looked_at:,} rows were looked at."
    return f"{check.looked_at:,} of {check.rows:,} rows were drawn."


def _count(check: Check) -> str:
    return f"{check.not_clean:,} {'is' if check.not_clean == 1 else 'are'}"


def _named(check: Check) -> str:
    more = check.not_clean - len(check.labels)
    return ", ".join(check.labels) + (f" and {more:,} more" if more else "")


def _distance(check: Check) -> str:
    least, most = check.distance or (0.0, 0.0)
    return (
        f"They lie between {least:.2g} and {most:.2g} of their length away from where they "
        f"should be, and rounding explains {check.tolerance:.2g}."
    )


def _empty(check: Check) -> list[str]:
    if not check.empty:
        return []
    return [f"{check.empty:,} rows have no direction (zero, or not finite) and were left out."]


def _p(value: float) -> str:
    return "below 1e-300" if value < 1e-300 else f"{value:.2g}"
