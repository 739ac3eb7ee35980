"""The q-ary lattice, its reduced basis, and decoding by nearest plane."""

from __future__ import annotations

import numpy as np
import pytest

from efface.errors import PlanError, TemplateError
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis, nearest_plane, nearest_point, reduced

SHAPE = Shape(40, 13, 130003)


@pytest.fixture(scope="module")
def basis() -> Basis:
    return reduced(Lattice(SHAPE, b"s" * 32))


def test_one_seed_one_matrix_and_another_seed_another() -> None:
    one, again, other = (Lattice(SHAPE, s * 32).matrix for s in (b"a", b"a", b"b"))
    np.testing.assert_array_equal(one, again)
    assert (one != other).mean() > 0.99
    assert one.min() >= 0
    assert one.max() < SHAPE.q


def test_points_and_their_secrets(rng: np.random.Generator) -> None:
    lattice = Lattice(SHAPE, bytes(32))
    secrets = rng.integers(0, SHAPE.q, (6, SHAPE.l))
    points = lattice.points(secrets)
    slow = [[sum(int(a) * int(s) for a, s in zip(row, secret, strict=True)) % SHAPE.q
             for row in lattice.matrix] for secret in secrets]  # fmt: skip
    assert points.tolist() == slow
    np.testing.assert_array_equal(lattice.secrets(points), secrets)
    np.testing.assert_array_equal(lattice.secrets(points[0]), secrets[0])
    assert lattice.contains(points - 5 * SHAPE.q).all()
    points[:, -1] += 1
    assert not lattice.contains(points).any()


def test_a_singular_matrix_gives_way_to_the_next_counter() -> None:
    small = Shape(8, 4, 2)  # over F2 seven matrices of ten are singular
    for seed in range(40):
        lattice = Lattice(small, bytes([seed]) * 32)
        points = lattice.points(np.eye(4, dtype=np.int64))
        np.testing.assert_array_equal(lattice.secrets(points), np.eye(4))


def test_no_matrix_at_all_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("efface.hazmat.modular.inverse", lambda matrix, q: None)
    with pytest.raises(TemplateError, match="singular modulo 130003: take another seed"):
        _ = Lattice(SHAPE, bytes(32)).matrix


@pytest.mark.parametrize("shape", [Shape(40, 0, 97), Shape(40, 40, 97), Shape(40, 13, 100)])
def test_impossible_shapes_are_refused(shape: Shape) -> None:
    with pytest.raises(PlanError):
        Lattice(shape, bytes(32))


def test_a_short_seed_is_refused() -> None:
    with pytest.raises(TemplateError, match="32 bytes"):
        Lattice(SHAPE, b"short")


def test_expected_shortest_vector_by_hand() -> None:
    # sqrt(180 / 17.0795) = 3.2464; 130003^(2/3) = 2566.3
    assert Shape(180, 60, 130003).shortest == pytest.approx(8331, abs=1)


def test_noise_within_the_box_is_taken_off_and_beyond_it_is_not(
    basis: Basis, rng: np.random.Generator
) -> None:
    secret = rng.integers(0, SHAPE.q, SHAPE.l)
    point = basis.lattice.points(secret)
    noise = rng.standard_normal((400, SHAPE.m)) * 60
    noise = np.rint(noise * rng.uniform(0.2, 20, (400, 1))).astype(np.int64)
    inside = basis.reach(noise.astype(float)) > 1
    assert 0.1 < inside.mean() < 0.9
    right = (nearest_plane(basis, point + noise) == secret).all(axis=1)
    np.testing.assert_array_equal(right, inside)


def test_the_points_found_have_the_secrets_found(basis: Basis, rng: np.random.Generator) -> None:
    targets = rng.integers(0, SHAPE.q, (1100, SHAPE.m))
    points = nearest_point(basis, targets)
    assert basis.lattice.contains(points).all()
    secrets = nearest_plane(basis, targets)
    np.testing.assert_array_equal(basis.lattice.secrets(points), secrets)
    one_by_one = np.concatenate([nearest_plane(basis, t[None]) for t in targets[:50]])
    np.testing.assert_array_equal(one_by_one, secrets[:50])


def test_what_is_left_tells_a_right_guess_from_a_wrong_one_without_any_hash(
    basis: Basis, rng: np.random.Generator
) -> None:
    """Why a slow hash does not slow a thief: the sketch alone says which guesses are right."""
    sketch = basis.lattice.points(rng.integers(0, SHAPE.q, SHAPE.l)) + 500
    right = np.full((50, SHAPE.m), 500) + rng.integers(-50, 51, (50, SHAPE.m))
    wrong = rng.integers(0, 40 * 500, (50, SHAPE.m))
    left = [
        np.linalg.norm(t - nearest_point(basis, t), axis=1)
        for t in (sketch - right, sketch - wrong)
    ]
    assert left[0].max() < 0.2 * left[1].min()


def test_reduction_makes_the_box_larger(basis: Basis) -> None:
    plain = Basis(basis.lattice, basis.lattice.basis())
    assert basis.lengths.min() > 100 * plain.lengths.min()
    for one in (plain, basis):  # whatever the basis, the product of lengths is the volume
        volume = (SHAPE.m - SHAPE.l) * np.log(SHAPE.q)
        assert np.log(one.lengths).sum() == pytest.approx(volume)


def test_a_basis_of_another_lattice_or_volume_is_refused(basis: Basis) -> None:
    basis.check()
    twice, turned = basis.rows.copy(), basis.rows.copy()
    twice[0] *= 2  # in the lattice, of twice its volume
    turned[0, 0] += 1  # not in the lattice
    for rows in (twice, turned, basis.rows[:-1], np.zeros_like(twice)):
        with pytest.raises(TemplateError, match="does not belong to its seed"):
            Basis(basis.lattice, rows).check()
    with pytest.raises(TemplateError, match="does not belong to its seed"):
        Basis(Lattice(SHAPE, b"t" * 32), basis.rows).check()


def test_reducing_again_gives_the_same_basis(basis: Basis) -> None:
    again = reduced(Lattice(SHAPE, b"s" * 32))
    assert again.digest == basis.digest
    assert reduced(Lattice(SHAPE, b"t" * 32)).digest != basis.digest


def test_points_of_large_steps_are_exact_too(basis: Basis) -> None:
    """Where float64 would round, integers are multiplied: both give points of the lattice."""
    rng = np.random.default_rng(5)
    for size in (10**3, 10**14):
        targets = rng.integers(-size, size, (4, SHAPE.m))
        points = nearest_point(basis, targets)
        assert basis.lattice.contains(points).all()
        assert np.array_equal(nearest_plane(basis, targets), basis.lattice.secrets(points))
