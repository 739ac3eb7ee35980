"""The FAISS chain does what the Python transform does, also after a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_worlds import KINDS, distances, eraser, erasers, vectors
from hypothesis import given, settings

from efface.errors import ArtefactError, EraserError
from efface.export.faiss import compact, faiss_chain, index_dim, save_faiss
from efface.export.tolerance import tolerance
from efface.protect.linear.eraser import LinearEraser

faiss = pytest.importorskip("faiss")

both_forms = pytest.mark.parametrize("small", [False, True], ids=["full", "compact"])
every_kind = pytest.mark.parametrize("kind", KINDS)


def stored(chain: Any) -> np.ndarray:
    """What the index behind the chain holds."""
    flat = faiss.downcast_index(chain.index)
    return faiss.rev_swig_ptr(flat.get_xb(), flat.ntotal * flat.d).reshape(-1, flat.d).copy()


def through(one: LinearEraser, x: np.ndarray, small: bool, path: Path | None = None) -> np.ndarray:
    """Vectors as the chain stores them, brought back to d dimensions."""
    chain = faiss_chain(one, faiss.IndexFlatIP(index_dim(one, compact_form=small)),
                        compact_form=small)  # fmt: skip
    if path is not None:
        save_faiss(chain, path)
        chain = faiss.read_index(str(path))
    chain.add(x.astype(np.float32))
    found = stored(chain)
    return found.astype(np.float64) @ compact(one).frame.T if small else found


@settings(max_examples=40)
@given(erasers())
def test_equal_to_python_within_the_tolerance(one: LinearEraser) -> None:
    for dtype in (np.float32, np.float16):
        x = vectors(one, dtype=dtype)
        clean, allowed = one.transform(x.astype(np.float64)), tolerance(one, x, inside="float32")
        for small in (False, True):
            assert (distances(through(one, x, small), clean) <= allowed).all()


@settings(max_examples=40)
@given(erasers())
def test_compact_has_the_dimensions_that_are_left(one: LinearEraser) -> None:
    more = one.mean is not None  # the constant leaves the image
    assert index_dim(one, compact_form=True) == one.dim - one.rank + more
    assert index_dim(one) == one.dim


@every_kind
@both_forms
def test_survives_a_file(tmp_path: Path, kind: str, small: bool) -> None:
    one = eraser(kind)
    x = vectors(one)
    assert np.array_equal(through(one, x, small, tmp_path / "x.faiss"), through(one, x, small))


def test_a_mean_inside_what_stays_needs_no_more_dimensions() -> None:
    basis = np.eye(6)[:, :2]
    one = LinearEraser(basis, mean=np.array([0, 0, 1.0, 2, 3, 4]))
    assert index_dim(one, compact_form=True) == 4


def test_a_dual_that_is_no_dual_is_led_through_as_it_is() -> None:
    one = LinearEraser(np.eye(6)[:, :2], dual=np.eye(6)[:, :2] / 2)
    x = vectors(one)
    assert index_dim(one, compact_form=True) == 6
    assert (distances(through(one, x, True), one.transform(x)) <= tolerance(
        one, x, inside="float32")).all()  # fmt: skip


@every_kind
@both_forms
@pytest.mark.parametrize("metric", ["IP", "L2"])
@pytest.mark.parametrize("normalise", [True, False])
def test_recall_is_that_of_projecting_first(
    kind: str, small: bool, metric: str, normalise: bool
) -> None:
    one = eraser(kind, dim=32, rank=9, normalise=normalise)
    rng = np.random.default_rng(2)
    base, queries = (rng.standard_normal((n, 32)).astype(np.float32) for n in (2000, 50))
    measure = {"IP": faiss.METRIC_INNER_PRODUCT, "L2": faiss.METRIC_L2}[metric]
    first = faiss.IndexFlat(32, measure)
    first.add(one.transform(base))
    wanted = first.search(one.transform(queries), 10)[1]
    dim = index_dim(one, compact_form=small)
    chain = faiss_chain(one, faiss.IndexFlat(dim, measure), compact_form=small)
    chain.add(base)
    found = chain.search(queries, 10)[1]
    assert sum(len(np.intersect1d(a, b)) for a, b in zip(wanted, found, strict=True)) == 500


def test_trains_and_searches_an_index_with_lists(tmp_path: Path) -> None:
    one = eraser("oblique", dim=32, rank=9)
    x = vectors(one, 2000)
    dim = index_dim(one, compact_form=True)
    inner = faiss.index_factory(dim, "IVF8,Flat", faiss.METRIC_INNER_PRODUCT)
    chain = faiss_chain(one, inner, compact_form=True)
    chain.train(x)
    chain.add(x)
    save_faiss(chain, tmp_path / "x.faiss")
    loaded = faiss.read_index(str(tmp_path / "x.faiss"))
    faiss.extract_index_ivf(loaded).nprobe = 8
    assert (loaded.search(x, 1)[1][:, 0] == np.arange(2000)).all()


def test_clean_vectors_that_are_there_already_are_found_with_raw_queries() -> None:
    one = eraser(dim=32, rank=9)
    x = vectors(one, 500)
    inner = faiss.IndexFlatIP(32)
    inner.add(one.transform(x))
    chain = faiss_chain(one, inner)
    assert chain.ntotal == 500
    assert (chain.search(x, 1)[1][:, 0] == np.arange(500)).all()


def test_float32_leaves_no_linear_trace_of_what_is_erased() -> None:
    """A plain d x d product does: an attacker subtracts what stays and reads what is left."""
    one = eraser(dim=32, rank=16)
    x = np.random.default_rng(3).standard_normal((8000, 32))
    x += 9 * x @ one.basis @ one.basis.T
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    plain = np.eye(32) - one.basis @ one.basis.T
    assert explained(x @ plain.astype(np.float32), x, one) > 0.08
    assert explained(through(one, x, False), x, one) < 0.01


def explained(seen: np.ndarray, x: np.ndarray, one: LinearEraser) -> float:
    """Share of what was erased that a regression on what is left explains, out of sample."""
    axes = np.linalg.qr(np.column_stack([one.basis, np.eye(one.dim)[:, one.rank :]]))[0]
    features, secret = seen.astype(np.float64) @ axes, x.astype(np.float64) @ one.basis
    features /= features.std(0)
    half = len(x) // 2
    weights = np.linalg.lstsq(features[:half], secret[:half], rcond=None)[0]
    rest = secret[half:] - features[half:] @ weights
    return 1 - float((rest**2).sum() / (secret[half:] ** 2).sum())


def test_reconstruct_gives_the_erased_vector_or_raises() -> None:
    one = eraser()
    x = vectors(one)
    chain = faiss_chain(one, faiss.IndexFlatIP(index_dim(one, compact_form=True)),
                        compact_form=True)  # fmt: skip
    chain.add(x)
    assert np.allclose(chain.reconstruct(3), one.transform(x)[3], atol=1e-6)
    oblique = faiss_chain(eraser("oblique"), faiss.IndexFlatIP(16))
    oblique.add(x)
    with pytest.raises(RuntimeError, match="non-orthonormal"):
        oblique.reconstruct(3)


def test_an_index_of_another_dimension_is_refused() -> None:
    with pytest.raises(EraserError, match="15 dimensions, the chain ends in 16"):
        faiss_chain(eraser(), faiss.IndexFlatIP(15))
    with pytest.raises(EraserError, match="the chain ends in 11"):
        faiss_chain(eraser(), faiss.IndexFlatIP(16), compact_form=True)


def test_an_eraser_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(EraserError, match="nothing is left to index"):
        index_dim(LinearEraser(np.eye(3)), compact_form=True)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    chain = faiss_chain(eraser(), faiss.IndexFlatIP(16))
    with pytest.raises(ArtefactError, match="cannot be written"):
        save_faiss(chain, tmp_path / "no" / "x.faiss")
    assert not list(tmp_path.iterdir())
