"""A projector is never judged on people it was fitted on without saying so."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import efface
from efface.api import fit_projector
from efface.auditing.seen import Seen
from efface.auditing.thinned import missing_directions
from efface.data import synthetic
from efface.data.samples import curate
from efface.errors import DataError, SplitError
from efface.protect.linear.eraser import LinearEraser
from efface.report.gate import exit_code
from efface.results import Report
from efface.types import Samples

# A limit that every measurement here meets: what is left to decide is whom it was measured on.
FAST: dict[str, Any] = {
    "attacks": ["cosine"], "far": 1e-2, "bootstrap": 200, "sweep": (), "fail_above": 1.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def samples() -> Samples:
    return synthetic.embedding_world(people=90, images=12, dim=32, rank=8, context_rank=8).samples


@pytest.fixture(scope="module")
def eraser(samples: Samples) -> LinearEraser:
    fitted = efface.ISP(rank=4).fit(samples.take(efface.split(samples, seed=0).fit))
    return fitted.eraser_


def protected(report: Report) -> Any:
    return next(r for r in report.releases if r.protection is not None)


def said(report: Report, words: str) -> bool:
    return any(words in sentence for sentence in report.verdict.sentences)


def test_what_was_fitted_on_all_of_these_cannot_be_audited_on_them(samples: Samples) -> None:
    everybody = efface.ISP(rank=4).fit(samples).eraser_
    bare = dataclasses.replace(everybody, fingerprints=())  # the digest alone is proof
    few = curate(samples, 6)
    for given, more in ((everybody, {}), (bare, {}), (bare, {"unseen": True})):
        with pytest.raises(DataError, match="it has not seen"):
            efface.audit(samples, protections=[given], **FAST, **more)
    with pytest.raises(DataError, match="it has not seen"):
        efface.audit(few, protections=[bare], drawn_from=samples, **FAST)
    with pytest.raises(DataError, match="it has not seen"):
        efface.audit(few, protections=[everybody], drawn_from=samples, **FAST)


def test_all_people_recognised_is_said_and_passes(samples: Samples, eraser: LinearEraser) -> None:
    report = efface.audit(samples, protections=[eraser], seed=5, **FAST)
    assert report.verdict.outcome == "pass"
    assert protected(report).unseen == "shown"
    assert protected(report).identities_recognised == eraser.identities == 36
    assert report.subject.parts["fit"][0] == 36
    assert said(report, "recognised 36 of 36 people this projector was fitted on")


def test_without_fingerprints_nothing_passes_unless_vouched_for(
    samples: Samples, eraser: LinearEraser
) -> None:
    bare = dataclasses.replace(eraser, fingerprints=())
    report = efface.audit(samples, protections=[bare], **FAST)
    assert report.verdict.outcome == "inconclusive"
    assert exit_code(report) == 3
    assert protected(report).unseen == "not shown"
    assert said(report, "cannot be shown that the people tested are new to it")
    assert "may be among those the projector was fitted on" in report.verdict.headline
    vouched = efface.audit(samples, protections=[bare], unseen=True, **FAST)
    assert vouched.verdict.outcome == "pass"
    assert protected(vouched).unseen == "vouched"
    assert said(vouched, "what the user vouched for")
    # Without a gate there is nothing to pass, and the sentence stands all the same.
    free = efface.audit(samples, protections=[bare], **{**FAST, "fail_above": None})
    assert free.verdict.outcome == "not applicable"
    assert said(free, "cannot be shown")


@pytest.mark.filterwarnings("ignore:the gate is 0.001")
def test_a_leak_fails_whoever_was_tested(samples: Samples, eraser: LinearEraser) -> None:
    bare = dataclasses.replace(eraser, fingerprints=())
    report = efface.audit(samples, protections=[bare], **{**FAST, "fail_above": 0.001})
    assert report.verdict.outcome == "fail"


def test_some_of_the_people_recognised_is_not_all(samples: Samples, eraser: LinearEraser) -> None:
    few = curate(samples, 3, seed=1)
    report = efface.audit(few, protections=[eraser], **FAST)
    found = protected(report).identities_recognised
    assert 0 < found < 36
    assert report.verdict.outcome == "inconclusive"
    assert said(report, f"recognised {found} of 36 people")
    assert efface.audit(few, protections=[eraser], unseen=True, **FAST).verdict.outcome == "pass"


@pytest.mark.parametrize("images", [2, 5, 8])
def test_people_are_recognised_before_curation(
    samples: Samples, eraser: LinearEraser, images: int
) -> None:
    few = curate(samples, images, seed=1)
    report = efface.audit(few, protections=[eraser], drawn_from=samples, **FAST)
    assert protected(report).identities_recognised == 36
    assert report.subject.parts["fit"] == [36, 36 * images]
    assert report.verdict.outcome == "pass"
    # A selection may number its people anew.
    renumbered = efface.samples(few.data, few.names[few.identity])
    again = efface.audit(renumbered, protections=[eraser], drawn_from=samples, **FAST)
    assert again.subject.parts["fit"] == [36, 36 * images]


def test_nobody_recognised_is_said_with_what_it_rests_on(eraser: LinearEraser) -> None:
    strangers = synthetic.embedding_world(
        people=60, images=5, dim=32, rank=8, context_rank=8, seed=9
    ).samples
    report = efface.audit(strangers, protections=[eraser], **FAST)
    assert report.verdict.outcome == "pass"
    assert said(report, "recognised 0 of 36 people")
    assert said(report, "by the content of their vectors")


def test_a_split_that_tests_fitted_people_is_refused_under_other_names(
    samples: Samples, eraser: LinearEraser
) -> None:
    renamed = efface.samples(samples.data, [f"x{89 - c}" for c in samples.identity])
    with pytest.raises(SplitError, match="was fitted on"):
        efface.audit(renamed, protections=[eraser], split=efface.split(renamed, seed=1), **FAST)


@pytest.mark.parametrize(
    ("seen", "novelty"),
    [
        (Seen(36, 36, 36), "shown"),
        (Seen(36, 36, 0), "shown"),
        (Seen(36, 36, 35), "not shown"),
        (Seen(36, 35, 35), "not shown"),
        (Seen(36, 0, 0), "not shown"),
        (Seen(0, 0, 0), "not shown"),
        (Seen(36, 36, 1, vouched=True), "vouched"),
        (Seen(0, 0, 0, vouched=True), "vouched"),
        (Seen(36, 36, 36, vouched=True), "shown"),
    ],
)
def test_what_counts_as_shown(seen: Seen, novelty: str) -> None:
    assert seen.novelty == novelty
    assert ("cannot be shown" in seen.sentence("isp-4")) == (novelty == "not shown")


# --- objects that come fitted -------------------------------------------------------------------


def test_a_fitted_object_is_audited_as_it_is_and_left_as_it_was(samples: Samples) -> None:
    other = synthetic.embedding_world(
        people=60, images=6, dim=32, rank=8, context_rank=8, seed=3
    ).samples
    mine = efface.ISP(rank=4, dtype="float16").fit(other)
    before = mine.eraser_
    report = efface.audit(samples, protections=[mine], **FAST)
    assert mine.eraser_ is before
    assert protected(report).digest == before.digest()
    assert protected(report).dtype == "float16"
    assert protected(report).identities_recognised == 0
    assert said(report, "came fitted and was audited as it is")
    stream = efface.ISP(rank=4).partial_fit(other)
    assert protected(efface.audit(samples, protections=[stream], **FAST)).digest == before.digest()


def test_an_object_to_be_fitted_is_not_touched(samples: Samples) -> None:
    mine = efface.ISP(rank=4)
    report = efface.audit(samples, protections=[mine], **FAST)
    assert not hasattr(mine, "eraser_")
    assert protected(report).identities_recognised is None
    assert not said(report, "came fitted")
    assert report.verdict.outcome == "pass"


def test_a_protection_of_ones_own_is_copied_too(samples: Samples) -> None:
    from efface.types import Release

    class Own:
        fits = 0

        def fit(self, given: Samples, /) -> Own:
            self.fits += 1
            return self

        def release(self, given: Samples, rng: np.random.Generator) -> Release:
            return Release(given.data[:, :8])

    mine = Own()
    report = efface.audit(samples, protections=[mine], **{**FAST, "attacks": ["cosine", "ridge"]})
    assert mine.fits == 0
    # It ships eight dimensions: whoever learnt from 32 has no say, and the others are counted.
    status = {(m.case.attack.name, m.case.threat.knowledge): m.status for m in report.measurements
              if m.case.release == "own"}  # fmt: skip
    assert status == {
        ("cosine", "none"): "measured", ("ridge", "naive"): "not applicable",
        ("ridge", "parrot"): "measured",
    }  # fmt: skip
    notes = [m.note for m in report.measurements if m.status == "not applicable"]
    assert notes == [
        "the release has 8 dimensions and unprotected vectors 32: whoever learnt from those "
        "cannot read it"
    ]


# --- fit and audit of a selection -----------------------------------------------------------


def test_fit_takes_a_split_and_refuses_to_take_everybody_with_it(samples: Samples) -> None:
    split = efface.split(samples, fit=20, seed=7)
    fitted, record = fit_projector(samples, rank=4, split=split)
    assert fitted.identities == 20
    assert record.split is not None
    assert record.split.digest == split.digest()
    with pytest.raises(efface.errors.PlanError, match="one of the two"):
        fit_projector(samples, rank=4, split=split, everyone=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_vectors_that_went_through_the_projector_are_no_test_of_it(
    samples: Samples, eraser: LinearEraser, dtype: str
) -> None:
    """Nobody would be recognised among them, so those it was fitted on would pass for strangers."""
    clean = eraser.transform(samples.data).astype(dtype)
    names = samples.names[samples.identity]
    for rows in (clean, np.where(np.arange(len(clean))[:, None] % 20, samples.data, clean)):
        given = efface.samples(rows.astype(dtype), names)
        with pytest.raises(DataError, match=r"of 1,080 vectors have gone through this projector"):
            efface.audit(given, protections=[eraser], unseen=True, **FAST)
    whole = efface.samples(samples.data.astype(dtype), names)
    assert efface.audit(whole, protections=[eraser], **FAST).worst().tar.value is not None


def test_vectors_that_went_through_another_projector_are_not_taken_for_new_people(
    samples: Samples, eraser: LinearEraser
) -> None:
    """The same people, cleaned by an older projector: nobody is recognised among them."""
    cleaned = samples.replace(efface.ISP(rank=6).fit(samples).eraser_.transform(samples.data))
    report = efface.audit(cleaned, protections=[eraser], **FAST)
    assert protected(report).unseen == "not shown"
    assert exit_code(report) == 3
    assert said(report, "The vectors lack 6 directions")
    vouched = efface.audit(cleaned, protections=[eraser], unseen=True, **FAST)
    assert exit_code(vouched) == 0


@pytest.mark.parametrize("method", [efface.ISP, efface.LEACE])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_missing_directions_are_counted_in_every_type(
    samples: Samples, method: Any, dtype: str
) -> None:
    erased = method(rank=6).fit(samples).eraser_.transform(samples.data.astype(np.float64))
    found = efface.samples(erased.astype(dtype), samples.identity)
    lost = 6 if method is efface.ISP else 5  # LEACE leaves its mean's direction
    assert missing_directions(found) == lost
    assert missing_directions(samples) == 0
    few = efface.samples(erased[:50].astype(dtype), samples.identity[:50])
    assert missing_directions(few) == 0  # too few rows to tell
    padded = np.pad(samples.data, ((0, 0), (0, 3)))
    assert missing_directions(efface.samples(padded, samples.identity)) == 0  # dead columns
