"""The curve of what the meter reads: the same scheme, the same people, the same population."""

from __future__ import annotations

from efface.auditing.curve import guess_curve
from efface.auditing.curve_rules import CurveRules
from efface.auditing.meter_scene import MeterRules, MeterScene
from efface.hazmat.derive import Blake2b
from efface.readings import GuessCurve


def curve_of(
    scene: MeterScene, hard: tuple[int, int], given: CurveRules | None,
    rules: MeterRules,
) -> GuessCurve:  # fmt: skip
    """The curve of the scheme that was read, on the same people."""
    images, votes = hard
    plain = CurveRules(people=rules.people, strangers=rules.strangers, seed=rules.seed,
                       bootstrap=rules.bootstrap)  # fmt: skip
    slow = None if isinstance(scene.kdf, Blake2b) else scene.kdf
    return guess_curve(
        scene.users, scene.scheme, population=scene.population, images=images, votes=votes,
        kdf=slow, rules=given or plain,
    )  # fmt: skip
