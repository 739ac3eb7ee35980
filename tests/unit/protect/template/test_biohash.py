"""BioHash: signs along orthonormal vectors; differing bits measure the angle."""

from __future__ import annotations

import numpy as np
import pytest
from template_worlds import crowd, unit

from efface.errors import PlanError
from efface.protect.template import BioHash
from efface.protect.template.biohash import orthonormal

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")


def test_the_vectors_are_orthonormal_and_the_seeds_own() -> None:
    rows = orthonormal(b"a" * 32, 40, 64)
    np.testing.assert_allclose(rows @ rows.T, np.eye(40), atol=1e-12)
    assert np.abs(rows @ orthonormal(b"b" * 32, 40, 64).T).max() < 0.9


def test_bits_by_hand() -> None:
    samples = crowd()
    scheme = BioHash(n=16).fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    rows = orthonormal(template.helper["seed"].tobytes(), 16, 64)
    bits = "".join("1" if row @ samples.data[0] > 0 else "0" for row in rows)
    assert template.record["bits"].tobytes() == int(bits, 2).to_bytes(2, "big")


def test_the_share_of_differing_bits_is_the_angle_over_pi() -> None:
    rng = np.random.default_rng(0)
    x = unit(rng.standard_normal((4000, 64)))
    y = unit(x + 0.8 * unit(rng.standard_normal(x.shape)))
    angle = np.arccos((x * y).sum(axis=1))
    found = BioHash(n=64).fit(crowd(people=2)).critical(x, y)
    assert found.mean() == pytest.approx(angle.mean() / np.pi, abs=0.01)


def test_it_accepts_up_to_the_threshold() -> None:
    samples = crowd()
    template = BioHash(n=64, threshold=0.25).fit(samples).enrol(
        samples.data[0], np.random.default_rng(0)
    )  # fmt: skip
    rows = orthonormal(template.helper["seed"].tobytes(), 64, 64)
    differ = ((samples.data @ rows.T > 0) != (rows @ samples.data[0] > 0)).mean(axis=1)
    for threshold in (0.25, float(np.sort(differ)[40])):
        scheme = BioHash(n=64, threshold=threshold).fit(samples)
        answers = scheme.verify_many(template, samples.data)
        np.testing.assert_array_equal(answers, differ <= threshold)


def test_the_stored_bits_turned_back_pass_for_the_person() -> None:
    """The preimage of its verdict: the sum of the vectors, each with its bit's sign."""
    samples = crowd(dim=128)
    scheme = BioHash(n=96, threshold=0.25).fit(samples)
    template = scheme.enrol(samples.data[0], np.random.default_rng(0))
    rows = orthonormal(template.helper["seed"].tobytes(), 96, 128)
    signs = 2.0 * np.unpackbits(template.record["bits"]) - 1
    assert scheme.guess(template, (signs @ rows)[None])[0]
    assert unit(signs @ rows) @ samples.data[0] > 0.5


@pytest.mark.parametrize("n", [0, 12, 8.0, True])
def test_bits_come_in_bytes(n: float) -> None:
    with pytest.raises(PlanError, match="multiple of eight"):
        BioHash(n=n).fit(crowd(people=2))  # type: ignore[arg-type]


def test_more_vectors_than_dimensions_are_refused() -> None:
    with pytest.raises(PlanError, match="do not exist in 64 dimensions"):
        BioHash(n=72).fit(crowd(people=2))
