"""Bases made, remembered, shared, and prepared in a folder."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from template_worlds import crowd, small

from efface.errors import DataError, EffaceWarning, PlanError, TemplateError
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis, reduced
from efface.protect.template import Memory, Pool, Shared
from efface.protect.template.basis_file import read_basis, write_basis
from efface.protect.template.pool import wait_until_ready

SHAPE = Shape(24, 8, 130003)
pytestmark = pytest.mark.filterwarnings("ignore:l2fe-hash. broken:efface.errors.EffaceWarning")


def rng_of(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class CountingReduction:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, lattice: Lattice) -> Basis:
        self.calls += 1
        return reduced(lattice)


def test_memory_reduces_a_seed_once_and_forgets_the_oldest() -> None:
    reduce = CountingReduction()
    memory = Memory(size=2, reduce=reduce)
    one, two, three = (Lattice(SHAPE, bytes([n]) * 32) for n in range(3))
    first = memory.known(one, b"")
    assert memory.known(one, b"") is first
    memory.known(two, b"")
    memory.known(one, b"")
    memory.known(three, b"")  # two is the one unused for longest
    assert memory.remembered(one) is first
    assert memory.remembered(two) is None
    assert reduce.calls == 3
    with pytest.raises(PlanError):
        Memory(size=0)


def test_shared_bases_are_few_for_many_people() -> None:
    reduce = CountingReduction()
    samples = crowd()
    scheme = small(bases=Shared(2, reduce)).fit(samples)
    made = [scheme.enrol(x, rng_of(i)) for i, x in enumerate(samples.data[:30])]
    assert len({t.helper["seed"].tobytes() for t in made}) == 2
    assert len({t.helper["sketch"].tobytes() for t in made}) == 30
    assert reduce.calls == 2
    assert all(scheme.verify(t, x) for t, x in zip(made, samples.data, strict=False))


# --- files --------------------------------------------------------------------------------------


def test_a_basis_is_read_as_it_was_written(tmp_path: Path) -> None:
    basis = reduced(Lattice(SHAPE, bytes(32)))
    write_basis(tmp_path / "b.npz", basis)
    found = read_basis(tmp_path / "b.npz")
    assert found.lattice == basis.lattice
    assert found.digest == basis.digest
    assert (tmp_path / "b.npz").stat().st_size < 4000


@pytest.mark.parametrize("how", ["cut", "text", "empty", "rows", "seed", "method", "format"])
def test_a_file_that_is_no_basis_of_its_seed_is_refused(tmp_path: Path, how: str) -> None:
    path = tmp_path / "b.npz"
    write_basis(path, reduced(Lattice(SHAPE, bytes(32))))
    whole = path.read_bytes()
    with np.load(path) as stored:
        parts = dict(stored)
    changed: dict[str, Any] = {
        "rows": {"rows": parts["rows"] + np.eye(24, dtype=np.int32)},
        "seed": {"seed": parts["seed"] ^ 1},
        "method": {"method": np.frombuffer(b"bkz", np.uint8)},
        "format": {"format": np.int64(2)},
    }
    if how in changed:
        np.savez(path, **(parts | changed[how]))
    else:
        path.write_bytes({"cut": whole[:-40], "text": b"no archive", "empty": b""}[how])
    with pytest.raises(TemplateError):
        read_basis(path)


# --- a pool -------------------------------------------------------------------------------------


def pool_of(folder: Path, **how: Any) -> Pool:
    return Pool(folder, SHAPE, **how)


def test_a_prepared_basis_is_given_once_and_found_again(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, size=3)
    assert pool.prepare() == 3
    assert pool.prepare() == 0
    given = [pool.fresh(SHAPE, bytes(32)) for _ in range(3)]
    assert len({basis.lattice.seed for basis in given}) == 3
    assert pool.waiting() == []
    another_process = pool_of(tmp_path)
    for basis in given:
        found = another_process.known(Lattice(SHAPE, basis.lattice.seed), basis.digest)
        assert found.digest == basis.digest


def test_enrolment_does_not_reduce_when_the_pool_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = crowd()
    pool = Pool(tmp_path, small().shape, size=2)
    pool.prepare()

    def refuse(lattice: Lattice) -> Basis:
        raise AssertionError("reduced while a user waits")

    monkeypatch.setattr("efface.protect.template.pool.reduced", refuse)
    scheme = small(bases=pool).fit(samples)
    template = scheme.enrol(samples.data[0], rng_of())
    assert scheme.verify(template, samples.data[0])
    fresh_start = small(bases=Pool(tmp_path, small().shape)).fit(samples)
    assert fresh_start.verify(template, samples.data[0])


def test_an_empty_pool_reduces_and_says_so_or_refuses(tmp_path: Path) -> None:
    with pytest.warns(EffaceWarning, match="this enrolment waits for a reduction"):
        basis = pool_of(tmp_path).fresh(SHAPE, b"s" * 32)
    assert basis.lattice.seed == b"s" * 32
    with pytest.raises(TemplateError, match=r"no prepared basis is ready: try again"):
        pool_of(tmp_path, empty="refuse").fresh(SHAPE, b"t" * 32)


def test_a_damaged_file_is_passed_over_or_reduced_again(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, size=2)
    pool.prepare()
    first, second = (pool.folder / "ready" / name for name in pool.waiting())
    first.write_bytes(b"half a file")
    basis = pool.fresh(SHAPE, bytes(32))
    assert f"{basis.lattice.seed.hex()}.npz" == second.name
    assert pool.waiting() == []
    used = pool.folder / "used" / second.name
    used.write_bytes(b"half a file")
    again = pool_of(tmp_path).known(basis.lattice, basis.digest)
    assert again.digest == basis.digest
    assert read_basis(used).digest == basis.digest


def test_a_basis_swapped_for_another_of_its_lattice_is_reduced_again(tmp_path: Path) -> None:
    """Who can write the folder cannot make the scheme accept by a basis of his own."""
    pool = pool_of(tmp_path, size=1)
    pool.prepare()
    basis = pool.fresh(SHAPE, bytes(32))
    worse = Basis(basis.lattice, basis.lattice.basis())
    write_basis(pool.folder / "used" / f"{basis.lattice.seed.hex()}.npz", worse)
    assert pool_of(tmp_path).known(basis.lattice, basis.digest).digest == basis.digest


def test_two_processes_never_take_the_same_basis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both see the same name first; the rename of one fails, and it takes the next."""
    pool = pool_of(tmp_path, size=2)
    pool.prepare()
    other = pool_of(tmp_path)
    seen = pool.waiting()
    taken: list[Basis] = []

    def both_looked(self: Pool) -> list[str]:
        if not taken:
            taken.append(other._take(seen[0]))  # type: ignore[arg-type]
            return seen
        return sorted(path.name for path in (self.folder / "ready").glob("*.npz"))

    monkeypatch.setattr(Pool, "waiting", both_looked)
    mine = pool.fresh(SHAPE, bytes(32))
    assert mine.lattice.seed != taken[0].lattice.seed


def test_the_worker_fills_the_pool_and_keeps_it_full(tmp_path: Path) -> None:
    others = set(multiprocessing.active_children())
    with pool_of(tmp_path, size=2) as pool:
        assert wait_until_ready(pool, 2, 60)
        before = set(pool.waiting())
        pool.fresh(SHAPE, bytes(32))
        assert wait_until_ready(pool, 2, 60)
        assert set(pool.waiting()) != before
        assert pool.start() is pool  # once is enough
    assert not set(multiprocessing.active_children()) - others
    assert not list(tmp_path.rglob("*.partial"))


def test_the_worker_ends_when_its_owner_is_gone(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, size=1).start()
    assert wait_until_ready(pool, 1, 60)
    worker, line = pool._worker, pool._line
    assert worker is not None
    assert line is not None
    line.close()  # as the system does it when a process dies
    worker.join(timeout=30)
    assert worker.exitcode == 0
    pool.close()


def test_waiting_for_a_pool_that_nobody_fills_ends(tmp_path: Path) -> None:
    start = time.monotonic()
    assert not wait_until_ready(pool_of(tmp_path), 1, 0.1)
    assert time.monotonic() - start >= 0.1


def test_impossible_pools_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="size above zero"):
        pool_of(tmp_path, size=0)
    with pytest.raises(PlanError, match="empty is"):
        pool_of(tmp_path, empty="wait")
    with pytest.raises(PlanError, match="this pool prepares"):
        pool_of(tmp_path).fresh(Shape(30, 8, 130003), bytes(32))
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be made"):
        pool_of(tmp_path / "file")


def test_the_entropy_given_is_what_seeds_are_made_of(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, size=1, entropy=lambda count: b"e" * count)
    pool.prepare()
    assert pool.waiting() == [f"{(b'e' * 32).hex()}.npz"]
    assert os.urandom is Pool(tmp_path, SHAPE).entropy
