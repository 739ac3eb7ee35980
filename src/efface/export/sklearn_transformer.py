"""The transformer itself, in a file of its own: it needs scikit-learn as soon as it is read."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from efface.protect.linear.eraser import LinearEraser


class EraserTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Erases with an eraser that was fitted elsewhere."""

    def __init__(self, eraser: LinearEraser) -> None:
        self.eraser = eraser

    def fit(self, X: Any, y: Any = None) -> EraserTransformer:
        """Learns nothing; notes the names and the number of the features."""
        self._checked(X, reset=True)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        return self.eraser.transform(self._checked(X, reset=False))

    def _checked(self, X: Any, *, reset: bool) -> NDArray[Any]:
        kinds = ("float64", "float32", "float16")
        x: NDArray[Any] = validate_data(self, X, reset=reset, dtype=kinds)
        return x

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> EraserTransformer:
        """An eraser is frozen: clones share it."""
        return type(self)(self.eraser)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
