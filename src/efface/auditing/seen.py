"""Whom a finished projector was fitted on, as far as these data show: they are not to be tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from efface.auditing.thinned import missing_directions
from efface.data.fingerprint import recognise
from efface.errors import DataError
from efface.protect.linear.cone import Cone
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.stored import Stored
from efface.results import Novelty
from efface.types import Codes, Protection, Samples

_ERASED = 0.01
"""Share of rows where the projector's results lie: a row that did not go through it is never there
by chance."""


@dataclass(frozen=True)
class Seen:
    """The people one projector was fitted on: how many, and how many of them are in these data."""

    fitted: int
    marked: int
    """Those whose fingerprints the projector carries."""
    found: int
    vouched: bool = False
    lacking: int = 0
    """Directions that the vectors lack before this projector, as after another one."""

    @property
    def novelty(self) -> Novelty:
        """Are the people tested new to the projector? Part of the people found means that others
        of them may be here unrecognised."""
        erased = self.lacking and not self.found
        if 0 < self.fitted <= self.marked and self.found in (0, self.marked) and not erased:
            return "shown"
        return "vouched" if self.vouched else "not shown"

    def sentence(self, name: str) -> str:
        """For the report. ``name`` is that of the release."""
        return f"{name}: {self._finding()} {self._doubt()}".strip()

    def among_pictures(self) -> str:
        """For pictures, which were cut and encoded anew."""
        return (
            f"recognised {self.found:,} of the {self.fitted:,} people this projector was fitted "
            "on; the others may be among these pictures, and then the erased figures flatter it: "
            "attribute pictures of other people"
        )

    def _finding(self) -> str:
        if self.marked < max(self.fitted, 1):
            people = f"{self.fitted:,} people" if self.fitted else "people"
            return (
                f"the projector carries fingerprints of {self.marked:,} of the {people} it was "
                f"fitted on; {self.found:,} of them were recognised and kept out of the test."
            )
        if self.found == 0:
            return (
                f"recognised 0 of {self.marked:,} people this projector was fitted on. People are "
                "recognised by the content of their vectors: pictures taken or embedded anew "
                f"are not.{self._erased()}"
            )
        return (
            f"recognised {self.found:,} of {self.marked:,} people this projector was fitted on; "
            "they were kept out of the test."
        )

    def _erased(self) -> str:
        if not self.lacking:
            return ""
        return (
            f" The vectors lack {self.lacking:,} directions, as they do after an erasure: if they "
            "went through another projector, nobody can be recognised, and they are not raw."
        )

    def _doubt(self) -> str:
        if self.novelty == "shown":
            return ""
        if self.vouched:
            return "That the people tested are new to it is what the user vouched for."
        return (
            "So it cannot be shown that the people tested are new to it. Audit the data it was "
            "fitted on as they were, or vouch for other people with --unseen."
        )


def look(
    samples: Samples, protections: Sequence[Protection], whole: Samples | None, vouched: bool
) -> tuple[Codes, list[Seen | None]]:
    """Codes of everybody that a finished projector has seen, and what is known for each one.

    ``whole`` are the samples from which these were drawn: one row of a person is enough, whether
    it was kept or not.
    """
    codes: list[Codes] = [np.zeros(0, np.int64)]
    seen: list[Seen | None] = []
    for protection in protections:
        if not isinstance(protection, Stored):
            seen.append(None)
            continue
        eraser, table = protection.eraser, samples if whole is None else whole
        _refuse_other_encoder(eraser, samples)
        _refuse_own_data(eraser.fit_digest, samples, table)
        _refuse_erased(eraser, samples)
        met = recognise(table, eraser.fingerprints)
        codes.append(_here(met.codes, table, samples))
        marked = len(eraser.fingerprints)
        lacking = missing_directions(table) if not met.found else 0
        seen.append(Seen(max(eraser.identities, marked), marked, met.found, vouched, lacking))
    return np.unique(np.concatenate(codes)), seen


def _refuse_other_encoder(eraser: LinearEraser, samples: Samples) -> None:
    if eraser.dim != samples.dim:
        raise DataError(
            f"{samples.dataset}: the projector was fitted on {eraser.dim}-dimensional vectors, "
            f"these have {samples.dim}: give the projector of this encoder"
        )


def _refuse_own_data(fit_digest: str, samples: Samples, whole: Samples) -> None:
    if fit_digest and fit_digest in (samples.digest(), whole.digest()):
        raise DataError(
            f"{samples.dataset}: the projector was fitted on exactly these vectors, so there is "
            "nobody left to test it on: audit it on people it has not seen"
        )


def _refuse_erased(eraser: LinearEraser, samples: Samples) -> None:
    """Nobody is recognised among vectors that went through the projector, so those it was fitted
    on would be tested as strangers, and the rows before and after it would be the same."""
    cone = Cone(eraser)
    kept = {np.dtype(samples.stored_dtype or samples.data.dtype), np.dtype(np.float32)}
    # Brought to unit length once more on the way in: four times what rounding to the type does.
    near = cone.distances(samples.data) < 4 * max(map(cone.tolerance, kept))
    if near.mean() > _ERASED:
        raise DataError(
            f"{samples.dataset}: {near.sum():,} of {len(near):,} vectors have gone through this "
            "projector already: audit the vectors as they were before it, or these without a "
            "projector"
        )


def _here(codes: Codes, whole: Samples, samples: Samples) -> Codes:
    """The same people among the samples: by name, as a selection may number them anew."""
    names = {str(name) for name in whole.names[codes]}
    return np.array([c for c in samples.people if str(samples.names[c]) in names], np.int64)
