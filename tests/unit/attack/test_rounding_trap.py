"""What erasure leaves behind in the last digits must not be mistaken for a leak, nor be one.

People lie in ten directions. What else an image holds is a million times smaller, so after erasure
and renormalisation single-precision rounding stands at a tenth of the content.
"""

from __future__ import annotations

import numpy as np
import pytest
from attack_worlds import Array, played, thirds

from efface.attack.verify.cosine import Cosine
from efface.attack.verify.lda import LDA
from efface.attack.verify.mlp import MLP
from efface.attack.verify.ridge import Ridge
from efface.data.samples import samples
from efface.errors import EraserError
from efface.protect.linear.eraser import LinearEraser
from efface.types import Attack, Samples

RANK, DIM, FAR = 10, 32, 1e-2


def world(rest: float) -> tuple[Samples, Array]:
    rng = np.random.default_rng(4)
    axes = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0]
    who = np.repeat(np.arange(150), 8)
    own = rng.standard_normal((150, RANK))
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    vectors = own[who] @ axes[:, :RANK].T
    vectors += rest * rng.standard_normal((len(who), DIM - RANK)) @ axes[:, RANK:].T
    return samples(vectors.astype(np.float32), who), axes[:, :RANK]


def careless(made: Samples, basis: Array) -> Array:
    """The same projection with its products in single precision."""
    u = basis.astype(np.float32)
    left = made.data - (made.data @ u) @ u.T
    return np.asarray(left / np.linalg.norm(left, axis=1, keepdims=True))


ATTACKS = {
    "cosine": lambda: Cosine(),
    "ridge": lambda: Ridge(),
    "lda": lambda: LDA(),
    "mlp": lambda: MLP(hidden=(64, 32), steps=150, batch=128),
}


@pytest.fixture(params=ATTACKS)
def attack(request: pytest.FixtureRequest) -> Attack:
    made: Attack = ATTACKS[request.param]()
    return made


def test_a_parrot_finds_nothing_in_rounding_residue(attack: Attack) -> None:
    made, basis = world(rest=1e-6)
    raw, _ = played(attack, thirds(made), FAR)
    assert raw > 0.9
    released = LinearEraser(basis).transform(made.data)
    assert released.dtype == np.float32
    assert np.linalg.norm(released, axis=1) == pytest.approx(np.ones(len(made)), abs=1e-6)
    tar, _ = played(attack, thirds(made.replace(released)), FAR)
    assert tar < 3 * FAR


def test_the_trap_is_real_where_products_are_careless() -> None:
    made, basis = world(rest=1e-6)
    leaky, _ = played(Ridge(), thirds(made.replace(careless(made, basis))), FAR)
    tight, _ = played(Ridge(), thirds(made.replace(LinearEraser(basis).transform(made.data))), FAR)
    assert leaky > 3 * FAR
    assert leaky > 3 * tight


def test_an_eraser_that_leaves_only_rounding_refuses() -> None:
    made, basis = world(rest=0.0)
    with pytest.raises(EraserError, match="unit length"):
        LinearEraser(basis).transform(made.data)


def test_rows_that_carry_nothing_are_no_leak(attack: Attack) -> None:
    """A release of one and the same vector: whatever is computed, nobody is recognised."""
    made, _ = world(rest=1e-6)
    for row in (np.zeros(DIM), np.linspace(-1, 1, DIM) / 7):
        same = np.tile(row.astype(np.float32), (len(made), 1))
        tar, _ = played(attack, thirds(made.replace(same)), FAR)
        assert tar == 0
