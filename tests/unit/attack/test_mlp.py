"""The network: its gradient by differences, its determinism, and a leak only it can see."""

from __future__ import annotations

import numpy as np
import pytest
from attack_worlds import blobs, played, thirds, trained

from efface.attack.verify.cosine import Cosine
from efface.attack.verify.lda import LDA
from efface.attack.verify.mlp import MLP, _initial, loss_and_gradient
from efface.attack.verify.ridge import Ridge
from efface.data.synthetic import product_world
from efface.types import Release, Samples

QUICK = MLP(hidden=(24, 12), steps=40, batch=16)
Parts = tuple[Samples, Samples, Samples]


@pytest.fixture(scope="module")
def products() -> Parts:
    """Every class mean is zero: the code of a person is in products of features alone."""
    return thirds(product_world(people=400, images=20, bits=12).samples)


@pytest.fixture(scope="module")
def learnt(products: Parts) -> tuple[float, float]:
    """TAR of the network read out plainly, and with the choice of whitenings."""
    network = trained(MLP(), products[0])
    return tuple(played(Fitted(network, w), products)[0] for w in ((0.0,), network.whitenings))  # type: ignore[attr-defined,return-value]


class Fitted:
    """A trained network under other whitenings, without training it again."""

    def __init__(self, network: MLP, whitenings: tuple[float, ...]) -> None:
        self.network, self.whitenings = network, whitenings

    def fit(self, *_: object) -> Fitted:
        return self

    def options(self) -> list[MLP]:
        return [o for o in self.network.options() if o.whitening in self.whitenings]


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_numerical_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = [w.astype(np.float64) for w in _initial((5, 7, 6, 4), rng)]
    for bias in weights[1::2]:
        bias += rng.normal(0, 0.3, bias.shape)
    x, codes = rng.standard_normal((9, 5)), rng.integers(0, 4, 9)
    _, gradient = loss_and_gradient(weights, x, codes)
    step = 1e-6
    for w, g in zip(weights, gradient, strict=True):
        assert g.shape == w.shape
        for place in np.ndindex(w.shape):
            kept = w[place]
            w[place] = kept + step
            above, _ = loss_and_gradient(weights, x, codes)
            w[place] = kept - step
            below, _ = loss_and_gradient(weights, x, codes)
            w[place] = kept
            assert g[place] == pytest.approx((above - below) / (2 * step), abs=1e-6)


def test_the_loss_is_the_cross_entropy_and_does_not_overflow() -> None:
    rng = np.random.default_rng(0)
    weights = _initial((3, 4, 4, 5), rng)
    loss, _ = loss_and_gradient(
        [np.zeros_like(w) for w in weights], np.ones((6, 3)), np.arange(6) % 5
    )
    assert loss == pytest.approx(np.log(5))
    large, gradient = loss_and_gradient(
        [1e4 * w for w in weights], np.ones((6, 3), np.float32), np.arange(6) % 5
    )
    assert np.isfinite(large)
    assert all(np.isfinite(g).all() for g in gradient)


def test_training_lowers_the_loss() -> None:
    made = blobs(6, 10, 8, spread=0.3)
    codes = np.unique(made.identity, return_inverse=True)[1]
    network = trained(MLP(hidden=(24, 12), steps=120, batch=32), made)
    assert isinstance(network, MLP)
    assert network.mean_ is not None
    inputs = ((made.data - network.mean_) * network.scale_).astype(np.float32)
    before, _ = loss_and_gradient(_initial((8, 24, 12, 6), np.random.default_rng(0)), inputs, codes)
    half, full = (loss_and_gradient(w, inputs, codes)[0] for w in network.snapshots_)
    assert before > 1.5
    assert full < half < before / 2


def test_one_seed_one_network() -> None:
    made = blobs(6, 8, 10)
    release = Release(made.data)
    claims = [trained(MLP(**_given(QUICK)), made, seed).run(release).vectors for seed in (3, 3, 4)]
    assert np.array_equal(claims[0], claims[1])
    assert not np.allclose(claims[0], claims[2], atol=1e-3)


def test_training_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]  # noqa: NPY002
    trained(MLP(**_given(QUICK)), blobs(6, 8, 10))
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]  # noqa: NPY002


def test_calibration_people_choose_checkpoint_and_whitening() -> None:
    network = trained(MLP(**_given(QUICK)), blobs(6, 8, 10))
    options = network.options()
    said = [tuple(o.settings().values()) for o in options]
    assert said == [(s, w) for s in (20, 40) for w in (0.0, 0.03, 0.3, 1.0)]
    assert options[2].options() == (options[2],)
    paper = trained(MLP(**_given(QUICK), **MLP.paper_params), blobs(6, 8, 10))
    assert [o.settings()["whitening"] for o in paper.options()] == [0.0, 0.0]


def test_the_scale_of_the_input_does_not_matter() -> None:
    made = blobs(6, 8, 10)
    claims = [
        trained(MLP(**_given(QUICK)), made.replace(made.data * s))
        .run(Release(made.data * s))
        .vectors
        for s in (1.0, 64.0)
    ]
    assert claims[0] == pytest.approx(claims[1], abs=1e-4)


def test_not_fitted_says_so() -> None:
    with pytest.raises(RuntimeError, match="fit the attack"):
        MLP().run(Release(np.eye(3)))


@pytest.mark.parametrize("attack", [Cosine(), Ridge(), LDA()], ids=lambda a: type(a).__name__)
def test_linear_attackers_are_blind_to_products(attack: object, products: Parts) -> None:
    tar, _ = played(attack, products, far=1e-2)  # type: ignore[arg-type]
    assert tar < 0.06


@pytest.mark.slow
def test_the_network_sees_products(learnt: tuple[float, float]) -> None:
    plain, whitened = learnt
    assert whitened > 0.6
    assert whitened > 4 * plain  # the layer as it is hides most of what it holds


def _given(network: MLP) -> dict[str, object]:
    return {"hidden": network.hidden, "steps": network.steps, "batch": network.batch}
