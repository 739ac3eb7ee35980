"""Several attackers together see what none of them sees alone."""

from __future__ import annotations

import numpy as np
import pytest
from attack_worlds import blobs, thirds

from efface.attack.verify.cosine import Cosine
from efface.attack.verify.fusion import Fusion
from efface.attack.verify.lda import LDA
from efface.judge.verification import Trials, Verification
from efface.results import Threat
from efface.types import Attack, Claim, Release, Samples


class Columns:
    """An attacker who sees only some of the columns."""

    def __init__(self, columns: slice) -> None:
        self.columns = columns

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Columns:
        return self

    def options(self) -> list[Columns]:
        return [self]

    def settings(self) -> dict[str, object]:
        return {}

    def run(self, release: Release) -> Claim:
        seen = release.data[:, self.columns].astype(np.float32)
        return Claim(seen / np.linalg.norm(seen, axis=1, keepdims=True))


def linked(attack: Attack, part: Samples, known: Samples) -> float:
    judge = Verification(1e-2, bootstrap=200)
    trials = [
        Trials(attack.run(Release(s.data)), np.unique(s.identity, return_inverse=True)[1])
        for s in (known, part)
    ]
    frozen = judge.calibrate(trials[0])
    found = judge.tar(frozen, judge.examine(trials[1], frozen))
    assert found.value is not None
    return found.value


def tuned(members: dict[str, Attack], known: Samples) -> Fusion:
    judge = Verification(1e-2, bootstrap=200)
    person = np.unique(known.identity, return_inverse=True)[1]
    return (
        Fusion()
        .join(members)
        .tune(lambda option: judge.merit(Trials(option.run(Release(known.data)), person)))
    )


def test_two_halves_link_more_than_either() -> None:
    _, known, test = thirds(blobs(240, 6, 32, spread=0.9))
    left, right = Columns(slice(0, 32, 2)), Columns(slice(1, 32, 2))
    fusion = tuned({"left": left, "right": right}, known)
    assert set(fusion.settings()) == {"left", "right"}
    alone = max(linked(a, test, known) for a in (left, right))
    assert linked(fusion, test, known) > alone + 0.05


def test_who_sees_nothing_is_left_out_or_does_no_harm() -> None:
    rng = np.random.default_rng(0)
    _, known, test = thirds(blobs(240, 6, 32, spread=0.6))

    class Noise(Columns):
        def run(self, release: Release) -> Claim:
            seen = rng.standard_normal((len(release.data), 8)).astype(np.float32)
            return Claim(seen / np.linalg.norm(seen, axis=1, keepdims=True))

    seeing = Columns(slice(0, 32))
    fusion = tuned({"noise": Noise(slice(0, 1)), "seeing": seeing}, known)
    assert next(iter(fusion.settings())) == "seeing"
    assert linked(fusion, test, known) > linked(seeing, test, known) - 0.05


def test_scores_are_the_weighted_sum_of_the_members_scores() -> None:
    shadow, _, test = thirds(blobs(60, 5, 16))
    lda = LDA(shrinkage=0.1).fit(shadow, Threat(), np.random.default_rng(0))
    fusion = Fusion().join({"cosine": Cosine(), "lda": lda})
    fusion.weights_ = {"cosine": 1.0, "lda": 0.5}
    release = Release(test.data)
    a, b, both = (m.run(release).vectors for m in (Cosine(), lda, fusion))
    expected = (a @ a.T + 0.25 * (b @ b.T)) / 1.25
    np.testing.assert_allclose(both @ both.T, expected, atol=1e-6)


def test_it_has_to_be_fitted_first() -> None:
    with pytest.raises(RuntimeError, match="fit the attack"):
        Fusion().run(Release(np.ones((2, 3))))
