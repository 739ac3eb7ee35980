"""What a guess costs, and what the curve says of it in words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.readings import GuessArm, GuessCheck, GuessCurve, GuessPoint
from efface.threads import one_blas_thread

YEAR = 365.25 * 24 * 3600.0
_KEY, _MESSAGE = bytes(32), bytes(240)


@dataclass(frozen=True)
class Costs:
    """Core seconds: of one guess decoded among many, of one hash by its words, and of the thief's
    reduction of a lattice."""

    decode: float
    hashes: dict[str, float]
    reduce: float = 0.0


def measured(
    scheme: Any, template: Any, guesses: NDArray[np.float64], kdfs: Sequence[Any]
) -> Costs:
    """On this machine, in one thread; time of the cores and not of the clock, as lanes of a hash
    run side by side."""
    with one_blas_thread():
        scheme.guess(template, guesses[:1])
        decode = _seconds(lambda: scheme.guess(template, guesses)) / len(guesses)
        found = {words(k): _seconds(partial(k.derive, _KEY, _MESSAGE)) for k in kdfs}
    return Costs(decode, found)


def _seconds(work: Callable[[], Any]) -> float:
    """The least of five runs: what others do on the machine only adds."""
    spent = []
    for _ in range(5):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return max(min(spent), 1e-9)


def words(kdf: Any) -> str:
    """``argon2id, 3 passes, 64 MiB``."""
    known = kdf.settings()
    if known["kdf"] != "argon2id":
        return str(known["kdf"])
    return f"argon2id, {known['kdf_passes']} passes, {known['kdf_memory_kib'] / 1024:g} MiB"


def core_time(seconds: float) -> str:
    """Core-years with a unit beside them that a person can picture."""
    years = f"{seconds / YEAR:.2g} core-years"
    if seconds >= YEAR:
        return years
    hours = seconds >= 3600
    return (
        f"{years} ({seconds / (3600 if hours else 1):.2g} core-{'hours' if hours else 'seconds'})"
    )


def price(seconds: float, core_hour: float) -> str:
    return f"{seconds / 3600 * core_hour:.2g}"


# --- the statement --------------------------------------------------------------------------


def stated(curve: GuessCurve) -> list[str]:
    """The best that was reached at the wanted TPR, in bits and in core time."""
    arm = next((a for a in curve.arms if a.name == curve.best), None)
    if arm is None or arm.best is None:
        return [f"No way to run it accepts {_share(curve.target)} of genuine tries."]
    best, point = arm.best, arm.best.point
    said = [
        f"The best at a TPR of {_share(curve.target)} or more is {_bits(point)} with "
        f'"{arm.name}" against {curve.basis} basis: {_count(point)} half of the people, '
        f"and the first, the mean of a population, opens {_share(point.first.value or 0)}."
    ]
    if best.seconds_hashed is not None and best.seconds is not None:
        said.append(_work(arm, best.seconds_hashed, best.seconds))
        if curve.core_hour is not None:
            costs = (price(s, curve.core_hour) for s in (best.seconds_hashed, best.seconds))
            said.append(
                f"At an assumed price of {curve.core_hour:g} for a core-hour that is "
                f"{' and '.join(costs)} for each person."
            )
    last = "A pepper that was not stolen leaves nothing to guess against."
    return [*said, _told(best.check), *_further(curve), last]


def _further(curve: GuessCurve) -> list[str]:
    """What a thief who guesses, and decodes as the service does, leaves out."""
    if curve.scheme == "facial-fe":
        return ["Its sketch is nearly the negated embedding: pipe reads it off without a guess."]
    if curve.scheme != "l2fe-hash" or curve.reduce_seconds:
        return []
    return [
        "That is a thief who reduces lattices no further than the service. With a stronger basis "
        "one guess was enough at the published size on real faces (docs/templates-measured.md); "
        "--bkz measures it."
    ]


def _work(arm: GuessArm, hashed: float, decoded: float) -> str:
    return (
        f"Half of the people fall at {core_time(hashed)} each or less to a thief who hashes every "
        f"guess ({arm.kdf}), and at {core_time(decoded)} to one who looks at what decoding leaves "
        "and hashes one."
    )


def _told(check: GuessCheck) -> str:
    told = (
        "" if check.told.value is None
        else f"; of these what was left told the right guess for {_share(check.told.value)}"
    )  # fmt: skip
    return (
        f"With people enrolled at that point {_share(check.tpr.value or 0.0)} of genuine tries "
        f"were accepted, and {check.tries:,} guesses by the service's basis opened "
        f"{_share(check.opened.value or 0.0)}{told}."
    )


def _bits(point: GuessPoint) -> str:
    if point.bits is None:
        return f"more than {point.bits_low:.1f} bits"
    high = "no end" if point.bits_high is None else f"{point.bits_high:.1f}"
    return f"{point.bits:.1f} bits ({point.bits_low:.1f} to {high})"


def _count(point: GuessPoint) -> str:
    found = point.guesses_50
    if found is None:
        return f"more than {point.guesses_50_low:,.0f} guesses open"
    return "one guess opens" if found == 1 else f"{found:,.0f} guesses open"


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def log2(value: float) -> float | None:
    return math.log2(value) if 0 < value < math.inf else None
