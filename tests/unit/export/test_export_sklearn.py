"""A stored eraser is a good citizen of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from export_worlds import KINDS, eraser, vectors

from efface.errors import EraserError
from efface.export.sklearn import sklearn_transformer

sklearn = pytest.importorskip("sklearn")
checks = pytest.importorskip("sklearn.utils.estimator_checks")
NAME = "EraserTransformer"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_same_bits_as_the_eraser(kind: str, dtype: Any) -> None:
    one = eraser(kind)
    x = vectors(one, dtype=dtype)
    clean = sklearn_transformer(one).fit_transform(x)
    assert clean.dtype == one.transform(x).dtype
    assert np.array_equal(clean, one.transform(x))
    assert np.array_equal(sklearn_transformer(one).transform(x), clean)  # nothing to fit


def test_clone_and_parameters() -> None:
    one = eraser("oblique")
    transformer = sklearn_transformer(one)
    other = sklearn.base.clone(transformer)
    assert other is not transformer
    assert other.get_params() == {"eraser": one}
    second = eraser("oblique", seed=4)
    assert other.set_params(eraser=second).eraser is second


def test_in_a_pipeline_with_names_of_features() -> None:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    one = eraser()
    x = vectors(one)
    pipe = make_pipeline(sklearn_transformer(one), PCA(3)).fit(x)
    assert pipe.transform(x).shape == (30, 3)
    assert list(pipe[0].get_feature_names_out())[:2] == ["x0", "x1"]
    assert pipe[0].n_features_in_ == 16


@pytest.mark.parametrize(
    "check",
    [
        "check_get_params_invariance",
        "check_set_params",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
    ],
)
def test_the_checks_that_need_no_data_of_other_dimensions(check: str) -> None:
    if not hasattr(checks, check):
        pytest.skip(f"this scikit-learn has no {check}")
    getattr(checks, check)(NAME, sklearn_transformer(eraser()))


def test_bad_input_is_refused() -> None:
    transformer = sklearn_transformer(eraser())
    with pytest.raises(EraserError, match="these have 15"):
        transformer.transform(np.ones((2, 15)))
    with pytest.raises(ValueError, match="15 features, but EraserTransformer is expecting 16"):
        transformer.fit(np.ones((2, 16))).transform(np.ones((2, 15)))
    with pytest.raises(ValueError, match="NaN"):
        transformer.transform(np.full((2, 16), np.nan))
