"""What face geometry did to a set of pictures, in the numbers that appendix D.6 reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from efface.faces.annulus import Annuli
from efface.faces.crop import Crops
from efface.faces.face import Points, tally
from efface.faces.mask import Masks, box_shares


@dataclass(frozen=True)
class Spread:
    """Mean, standard deviation and largest of one number over the pictures that were used."""

    mean: float
    deviation: float
    largest: float


@dataclass(frozen=True)
class Quality:
    """Counts over all pictures given, and spreads over those that were used."""

    pictures: int
    used: int
    outcomes: Mapping[str, int]
    coverage: Spread
    """FCR achieved: face box over crop."""
    padding: Spread
    ellipse: Spread
    """The share of the face box that the ellipse covers."""
    area_difference: Spread
    """Between ring and face, as a share of the face, without sign."""
    unmatched: int
    """Rings that could not be made equal within 2 %."""


def quality(crops: Crops, masks: Masks, annuli: Annuli) -> Quality:
    """The record of one set of crops with their masks and rings."""
    boxes = np.array([face.box for face in crops.faces]).reshape(-1, 4)
    return Quality(
        pictures=len(crops.findings),
        used=len(crops),
        outcomes=tally(finding.outcome for finding in crops.findings),
        coverage=_spread(crops.coverage),
        padding=_spread(crops.padding),
        ellipse=_spread(box_shares(masks, boxes)),
        area_difference=_spread(np.abs(annuli.difference)),
        unmatched=int((~annuli.matched).sum()),
    )


def _spread(values: Points) -> Spread:
    if not len(values):
        return Spread(float("nan"), float("nan"), float("nan"))
    return Spread(float(values.mean()), float(values.std()), float(values.max()))
