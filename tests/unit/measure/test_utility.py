"""Utility (P17) against scikit-learn, slow references and answers a person can compute."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

from efface.errors import DataError
from efface.measure import utility as module
from efface.measure.utility import (
    copy_ranks,
    hold_out,
    knn_correct,
    probe_correct,
    recall_at,
    share,
    utility,
)
from efface.types import Samples


def unit(x: NDArray[Any]) -> NDArray[Any]:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def blobs(
    rng: np.random.Generator, classes: int = 5, each: int = 40, dim: int = 12, noise: float = 0.4
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    centres = unit(rng.standard_normal((classes, dim)))
    labels = np.repeat(np.arange(classes), each)
    return unit(centres[labels] + noise * rng.standard_normal((len(labels), dim))), labels


def samples_of(x: NDArray[Any], labels: NDArray[Any], **attributes: Any) -> Samples:
    names = np.array([f"class{i}" for i in range(int(labels.max()) + 1)])
    return Samples(x.astype(np.float32), labels, names, attributes, dataset="toy")


def cut(
    x: NDArray[Any], y: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    held = hold_out(y, 0.3, rng)
    return x[~held], y[~held], x[held], y[held]


# --- k-NN -----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5, 20])
def test_knn_agrees_with_sklearn(k: int) -> None:
    rng = np.random.default_rng(1)
    train, y, test, truth = cut(*blobs(rng), rng)
    peer = KNeighborsClassifier(
        k, metric="cosine", weights=lambda d: np.exp((1 - d) / 0.07), algorithm="brute"
    )
    expected = peer.fit(train, y).predict(test) == truth
    found = knn_correct(3.0 * train, y, test, truth, k=k)
    assert 0.5 < expected.mean() < 1
    np.testing.assert_array_equal(found, expected)


def test_knn_by_heads_agrees_with_sklearn() -> None:
    rng = np.random.default_rng(2)
    train, y, test, truth = cut(*blobs(rng), rng)
    peer = KNeighborsClassifier(7, metric="cosine", algorithm="brute").fit(train, y)
    found = knn_correct(train, y, test, truth, k=7, temperature=None)
    np.testing.assert_array_equal(found, peer.predict(test) == truth)


def test_knn_on_four_rows() -> None:
    train = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    labels = np.array([7, 7, 3, 3])
    found = knn_correct(train, labels, np.array([[1.0, 0.2], [1.0, 0.2], [0.2, 1.0]]),
                        np.array([7, 3, 3]), k=2)  # fmt: skip
    assert found.tolist() == [True, False, True]


def test_of_equal_neighbours_the_earlier_row_votes_and_of_equal_votes_the_smaller_label() -> None:
    row = np.ones((1, 3))
    train, labels = np.repeat(row, 6, axis=0), np.array([2, 9, 9, 2, 2, 2])
    assert knn_correct(train, labels, row, np.array([9]), k=3).tolist() == [True]
    assert knn_correct(train, labels, row, np.array([2]), k=4).tolist() == [True]
    assert knn_correct(train, labels, row, np.array([2]), k=2).tolist() == [True]


def test_blocks_do_not_change_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    parts = cut(*blobs(rng, dim=6), rng)
    doubled = (np.vstack([parts[0]] * 2), np.tile(parts[1], 2), *parts[2:])
    ids = np.arange(len(parts[0]))
    ranks = copy_ranks(parts[0], ids, parts[2], ids[: len(parts[2])])
    whole = knn_correct(*doubled, k=5)
    monkeypatch.setattr(module, "_blocks", lambda rows, width: map(one_row, range(rows)))
    np.testing.assert_array_equal(knn_correct(*doubled, k=5), whole)
    np.testing.assert_array_equal(copy_ranks(parts[0], ids, parts[2], ids[: len(parts[2])]), ranks)


def one_row(row: int) -> slice:
    return slice(row, row + 1)


def test_blocks_are_bounded_and_cover_every_row_once() -> None:
    cuts = list(module._blocks(100_000, 50_000))
    assert max(s.stop - s.start for s in cuts) * 50_000 * 8 <= 64 << 20
    assert sum(len(range(100_000)[s]) for s in cuts) == 100_000


def test_an_unseen_label_is_never_right() -> None:
    rng = np.random.default_rng(4)
    x, y = blobs(rng, classes=2)
    assert not knn_correct(x, y, x, np.full(len(x), 99), k=3).any()
    assert not probe_correct(x, y, x, np.full(len(x), 99), rng=rng).any()


# --- linear probe ---------------------------------------------------------------------------


@pytest.mark.parametrize(("each", "dim"), [(40, 12), (6, 60)], ids=["n>d", "n<d"])
@pytest.mark.parametrize("relative", [1e-3, 1.0, 30.0])
def test_probe_is_sklearns_ridge(each: int, dim: int, relative: float) -> None:
    rng = np.random.default_rng(5)
    x, labels = blobs(rng, each=each, dim=dim)
    uneven = np.arange(len(x)) >= each // 2  # classes of unlike size: the prior must be right
    train, y, test, truth = cut(x[uneven], labels[uneven], rng)
    centred = train - train.mean(axis=0)
    alpha = relative * float((centred**2).sum()) / dim
    peer = RidgeClassifier(alpha=alpha).fit(train, y)
    found = probe_correct(train, y, test, truth, rng=rng, alphas=(relative,))
    np.testing.assert_array_equal(found, peer.predict(test) == truth)


def test_probe_comes_near_logistic_regression() -> None:
    rng = np.random.default_rng(6)
    train, y, test, truth = cut(*blobs(rng, each=150, noise=0.45), rng)
    peer = LogisticRegression(max_iter=2000).fit(train, y).score(test, truth)
    found = probe_correct(train, y, test, truth, rng=rng).mean()
    assert peer > 0.8
    assert abs(found - peer) < 0.05


def test_probe_chooses_a_strength_that_works_and_never_looks_at_test_labels() -> None:
    rng = np.random.default_rng(7)
    train, y, test, truth = cut(*blobs(rng, classes=4, each=16, dim=70, noise=0.3), rng)

    def probed(labels: NDArray[Any], alphas: tuple[float, ...] = module.ALPHAS) -> NDArray[Any]:
        return probe_correct(train, y, test, labels, rng=np.random.default_rng(0), alphas=alphas)

    fixed = [probed(truth, (a,)).mean() for a in module.ALPHAS]
    assert probed(truth).mean() >= max(fixed) - 0.1
    by_class = np.stack([probed(np.full(len(test), c)) for c in range(4)])
    assert (by_class.sum(axis=0) == 1).all()  # each row is named once, whatever the truth given
    np.testing.assert_array_equal(by_class[truth, np.arange(len(test))], probed(truth))


def test_probe_does_not_read_rounding_residue() -> None:
    """A label left at 1e-14 of the length is gone: the smallest alpha is above it."""
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((400, 10)), np.repeat([0, 1], 200)
    leak = np.where(y == 0, -1.0, 1.0)[:, None]
    seen = cut(np.hstack([x, leak]), y, np.random.default_rng(0))
    gone = cut(np.hstack([x, 1e-14 * leak]), y, np.random.default_rng(0))
    assert probe_correct(*seen, rng=rng).mean() == 1.0
    assert probe_correct(*gone, rng=rng).mean() < 0.65


def test_knn_and_probe_are_invariant_to_rotation() -> None:
    rng = np.random.default_rng(9)
    train, y, test, truth = cut(*blobs(rng), rng)
    q = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    for score in (knn_correct, lambda *a: probe_correct(*a, rng=np.random.default_rng(0))):
        np.testing.assert_array_equal(
            score(train, y, test, truth), score(train @ q, y, test @ q, truth)
        )


# --- copies ---------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 10))
def test_ranks_equal_a_sorted_list(seed: int, originals: int, copies: int) -> None:
    rng = np.random.default_rng(seed)
    # Small integers make ties frequent; the constant keeps rows off zero.
    gallery = np.hstack([rng.integers(-1, 2, (originals, 2)), np.ones((originals, 1))])
    queries = np.hstack([rng.integers(-1, 2, (copies, 2)), np.ones((copies, 1))])
    truth = rng.integers(0, originals, copies)
    ranks = copy_ranks(gallery, np.arange(originals), queries, truth)
    for query, right, rank in zip(queries, truth, ranks, strict=True):
        cosine = [float(np.dot(g, query) / math.sqrt(g @ g * (query @ query))) for g in gallery]
        rivals = [c for i, c in enumerate(cosine) if i != right]
        assert rank == 1 + sum(c >= cosine[right] - 1e-9 for c in rivals)


def test_everything_equal_finds_nothing() -> None:
    same = np.ones((8, 3))
    assert copy_ranks(same, np.arange(8), same, np.arange(8)).tolist() == [8] * 8


def test_the_best_of_several_rows_of_one_original_counts() -> None:
    gallery = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    ranks = copy_ranks(gallery, np.array([5, 5, 8]), np.array([[0.1, 1.0]]), np.array([5]))
    assert ranks.tolist() == [1]


def test_recall_counts_ranks_up_to_k() -> None:
    ranks = np.array([1, 2, 5, 6, 11])
    assert [recall_at(ranks, k) for k in (1, 5, 10)] == [0.2, 0.6, 0.8]


# --- intervals ------------------------------------------------------------------------------


def test_share_on_eight_items() -> None:
    raw = np.array([1, 1, 1, 1, 1, 1, 0, 0], bool)
    kept = np.array([1, 1, 1, 0, 0, 0, 0, 0], bool)
    before, after, ratio = share(raw, kept, np.random.default_rng(0))
    assert (before.value, after.value, ratio.value) == (0.75, 0.375, 0.5)
    assert (before.n, before.clusters) == (8, 8)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40), st.booleans())
def test_intervals_hold_their_value_and_are_never_certain(
    outcomes: list[tuple[bool, bool]], clustered: bool
) -> None:
    raw, kept = np.array(outcomes, bool).T
    clusters = np.arange(len(raw)) // 3 if clustered else None
    estimates = share(raw, kept, np.random.default_rng(0), clusters, bootstrap=200)
    for found in estimates:
        if found.value is not None:
            assert found.low is not None
            assert found.high is not None
            assert found.low <= found.value <= found.high
            assert found.high - found.low > 0
    assert (estimates[2].value is None) or raw.any()


@pytest.mark.parametrize("right", [False, True])
def test_all_or_nothing_gets_wilsons_bound(right: bool) -> None:
    n, z2 = 50, 1.959963984540054**2
    answers = np.full(n, right)
    rate = share(answers, answers, np.random.default_rng(0))[0]
    edge = z2 / (n + z2)
    expected = (1 - edge, 1.0) if right else (0.0, edge)
    assert (rate.low, rate.high) == pytest.approx(expected)
    assert "Wilson" in rate.method


def test_equal_answers_keep_a_share_of_one_with_a_bound_not_a_point() -> None:
    raw = np.arange(100) < 80
    ratio = share(raw, raw.copy(), np.random.default_rng(0))[2]
    assert ratio.value == 1.0
    assert ratio.low == pytest.approx(1 - (3.8415 / 103.8415) / 0.8, abs=1e-4)
    assert ratio.high == pytest.approx(1 + (3.8415 / 103.8415) / 0.8, abs=1e-4)


def test_nothing_kept_has_an_upper_bound_above_zero() -> None:
    raw, kept = np.arange(100) < 80, np.zeros(100, bool)
    ratio = share(raw, kept, np.random.default_rng(0))[2]
    assert ratio.value == ratio.low == 0.0
    assert ratio.high == pytest.approx((3.8415 / 103.8415) / 0.8, abs=1e-4)


@pytest.mark.parametrize("hits", [0, 2])
def test_a_raw_rate_near_zero_has_no_share(hits: int) -> None:
    raw = np.arange(100) < hits
    ratio = share(raw, np.ones(100, bool), np.random.default_rng(0))[2]
    assert ratio.value is ratio.low is ratio.high is None
    assert "insufficient" in ratio.method


def test_pairing_narrows_the_share_and_clustering_widens_it() -> None:
    rng = np.random.default_rng(10)
    raw = np.repeat(rng.random(60) < 0.7, 5)
    kept = raw & ~(np.arange(300) % 23 == 0)

    def width(*args: Any) -> float:
        found = share(*args, np.random.default_rng(0))[2]
        assert found.low is not None
        assert found.high is not None
        return found.high - found.low

    def rate_width(clusters: NDArray[Any] | None) -> float:
        found = share(raw, kept, np.random.default_rng(0), clusters)[0]
        assert found.low is not None
        assert found.high is not None
        return found.high - found.low

    assert width(raw, kept) < 0.5 * width(raw, rng.permutation(kept))
    assert rate_width(np.repeat(np.arange(60), 5)) > 1.7 * rate_width(None)


def test_multinomial_bootstrap_equals_drawing_clusters_one_by_one() -> None:
    rng = np.random.default_rng(11)
    clusters = np.repeat(np.arange(30), rng.integers(1, 8, 30))
    raw = rng.random(len(clusters)) < np.repeat(rng.random(30), np.bincount(clusters))
    kept = raw & (rng.random(len(raw)) < 0.6)
    rows = [np.flatnonzero(clusters == c) for c in range(30)]
    slow = []
    for _ in range(4000):
        drawn = np.concatenate([rows[c] for c in rng.integers(0, 30, 30)])
        slow.append(kept[drawn].sum() / raw[drawn].sum())
    found = share(raw, kept, rng, clusters, bootstrap=20_000)[2]
    assert (found.low, found.high) == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=0.02)


def test_the_interval_covers_the_true_share() -> None:
    """Two hundred worlds with share 2/3: about 95 in 100 intervals hold it."""
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        raw = rng.random(300) < 0.6
        kept = np.where(raw, rng.random(300) < 0.55, rng.random(300) < 0.175)
        found = share(raw, kept, rng, bootstrap=400)[2]
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= (0.6 * 0.55 + 0.4 * 0.175) / 0.6 <= found.high
    assert 180 <= hits <= 199


# --- whole tasks ----------------------------------------------------------------------------


def identity_map(x: NDArray[Any]) -> NDArray[Any]:
    return x


def test_an_untouched_embedding_keeps_everything_and_a_wrecked_one_little() -> None:
    rng = np.random.default_rng(12)
    raw = samples_of(*blobs(rng, each=60, noise=0.3))
    same = utility(raw, identity_map, rng=np.random.default_rng(0))
    assert [name for name, *_ in same] == ["k-NN top-1", "linear probe top-1"]
    for _, before, after, ratio in same:
        assert before == after
        assert ratio.value == 1.0
        assert before.value is not None
        assert before.value > 0.9
    noise = np.random.default_rng(13).standard_normal(raw.data.shape)
    wrecked = utility(raw, lambda x: noise, rng=np.random.default_rng(0))
    for (_, untouched, *_rest), (_, before, after, ratio) in zip(same, wrecked, strict=True):
        assert before.value == untouched.value
        assert after.high is not None
        assert after.high < 0.45
        assert ratio.high is not None
        assert ratio.high < 0.5


def test_the_split_is_stratified_and_seeded() -> None:
    labels = np.repeat([0, 1, 2], [4, 10, 100])
    held = hold_out(labels, 0.3, np.random.default_rng(0))
    assert np.bincount(labels[held]).tolist() == [1, 3, 30]
    np.testing.assert_array_equal(held, hold_out(labels, 0.3, np.random.default_rng(0)))
    assert (held != hold_out(labels, 0.3, np.random.default_rng(1))).any()
    assert hold_out(np.array([0, 0, 1]), 0.99, np.random.default_rng(0)).sum() == 1
    assert hold_out(np.array([0, 0, 0, 0]), 0.1, np.random.default_rng(0)).sum() == 1


def test_raw_and_protected_probes_choose_on_the_same_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draws: list[float] = []

    def spy(*args: Any, rng: np.random.Generator) -> NDArray[Any]:
        draws.append(rng.random())
        return np.ones(len(args[3]), bool)

    monkeypatch.setattr(module, "probe_correct", spy)
    utility(
        samples_of(*blobs(np.random.default_rng(0))), identity_map, rng=np.random.default_rng(0)
    )
    assert len(draws) == 2
    assert draws[0] == draws[1]


def copies(rng: np.random.Generator, originals: int = 30) -> Samples:
    first = unit(rng.standard_normal((originals, 16)))
    edits = [first + s * rng.standard_normal(first.shape) for s in (0.05, 0.2)]
    names = np.repeat(["original", "crop", "jpeg"], originals)
    numbers = np.tile(np.arange(originals), 3)
    return samples_of(unit(np.vstack([first, *edits])), numbers, edit=names)


def test_copy_detection_is_clustered_by_original() -> None:
    raw = copies(np.random.default_rng(14))
    found = utility(raw, lambda x: x[:, :3], rng=np.random.default_rng(0), task="copies")
    assert [name for name, *_ in found] == [f"copy recall@{k}" for k in (1, 5, 10)]
    for _, before, after, ratio in found:
        assert before.value is not None
        assert after.value is not None
        assert ratio.value is not None
        assert before.value > 0.9
        assert after.value < before.value
        assert (before.n, before.clusters) == (60, 30)
    recalls = [after.value for _, _, after, _ in found]
    assert recalls == sorted(recalls)  # type: ignore[type-var]


def test_a_recall_that_cannot_fail_is_left_out() -> None:
    raw = copies(np.random.default_rng(15), originals=5)
    found = utility(raw, identity_map, rng=np.random.default_rng(0), task="copies")
    assert [name for name, *_ in found] == ["copy recall@1"]


# --- refusals -------------------------------------------------------------------------------


def test_refusals_name_the_place_and_the_way_out() -> None:
    rng = np.random.default_rng(16)
    x, y = blobs(rng, classes=3, each=10)
    few = samples_of(x[:13], y[:13])
    one = samples_of(x[:10], y[:10])
    good = samples_of(x, y)
    with pytest.raises(DataError, match="class class1 has 3 rows, utility needs 4: add rows"):
        utility(few, identity_map, rng=rng)
    with pytest.raises(DataError, match="one class only"):
        utility(one, identity_map, rng=rng)
    with pytest.raises(DataError, match="4 vectors for 30 rows"):
        utility(good, lambda v: v[:4], rng=rng)
    with pytest.raises(DataError, match="use 'classes' or 'copies'"):
        utility(good, identity_map, rng=rng, task="clases")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="attribute 'edit' = 'original'"):
        utility(good, identity_map, rng=rng, task="copies")
    with pytest.raises(DataError, match="between 0 and 1, got 1"):
        utility(good, identity_map, rng=rng, test=1.0)
    with pytest.raises(DataError, match="lower k"):
        utility(good, identity_map, rng=rng, k=500)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_row_without_direction_is_named(bad: float) -> None:
    rng = np.random.default_rng(17)
    x, y = blobs(rng)
    wrong = x.copy()
    wrong[11] = bad
    with pytest.raises(DataError, match="test: row 11 is zero or not finite"):
        knn_correct(x, y, wrong, y)
    with pytest.raises(DataError, match="train: row 11"):
        probe_correct(wrong, y, x, y, rng=rng)
    with pytest.raises(DataError, match="gallery: row 11"):
        copy_ranks(wrong, np.arange(len(x)), x, np.arange(len(x)))


def test_arrays_that_do_not_fit_are_refused() -> None:
    rng = np.random.default_rng(18)
    x, y = blobs(rng)
    with pytest.raises(DataError, match="different dimensions"):
        knn_correct(x, y, x[:, :5], y)
    with pytest.raises(DataError, match="199 labels for an array of shape"):
        knn_correct(x, y[1:], x, y)
    with pytest.raises(DataError, match="original 200 has copies but no row in the gallery"):
        copy_ranks(x, np.arange(200), x[:1], np.array([200]))
    with pytest.raises(DataError, match="every class has one training row"):
        probe_correct(x[::40], y[::40], x, y, rng=rng)
    with pytest.raises(DataError, match="do not pair"):
        share(np.ones(3, bool), np.ones(4, bool), rng)
    with pytest.raises(DataError, match="do not pair"):
        share(np.ones(3, bool), np.ones(3, bool), rng, clusters=np.zeros(2, int))
    with pytest.raises(DataError, match="do not pair"):
        share(np.ones(0, bool), np.ones(0, bool), rng)


def test_inputs_are_left_as_they_were_and_every_dtype_answers_alike() -> None:
    rng = np.random.default_rng(19)
    train, y, test, truth = cut(*blobs(rng, noise=0.2), rng)
    kept = (train.copy(), test.copy())
    whole = knn_correct(train, y, test, truth, k=5)
    half = knn_correct(train.astype(np.float16), y, test.astype(np.float16), truth, k=5)
    probe_correct(train, y, test, truth, rng=rng)
    np.testing.assert_array_equal(whole, half)
    np.testing.assert_array_equal(kept[0], train)
    np.testing.assert_array_equal(kept[1], test)


@pytest.mark.shared
def test_real_pictures_lose_utility_when_their_main_directions_go(shared: Path) -> None:
    with np.load(shared / "data" / "cifar10" / "cifar10_5k.npz", allow_pickle=False) as store:
        pictures, labels = store["train_images"][:1500], store["train_labels"][:1500]
    thumbs = pictures.reshape(-1, 8, 4, 8, 4, 3).mean(axis=(2, 4)).reshape(1500, -1)
    thumbs = unit(thumbs - thumbs.mean(axis=0))
    axes = np.linalg.svd(thumbs, full_matrices=False)[2][:16].T
    raw = samples_of(thumbs, labels.astype(np.int64))
    found = utility(raw, lambda x: x - x @ axes @ axes.T, rng=np.random.default_rng(0))
    for _, before, _after, ratio in found:
        assert before.low is not None
        assert before.low > 0.15  # ten classes: chance is 0.1
        assert ratio.high is not None
        assert ratio.high < 1.0
