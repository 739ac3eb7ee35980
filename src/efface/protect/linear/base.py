"""The scikit-learn-like shell that the linear erasers share: it checks, gathers moments, asks the
method for its directions, refuses what would remove everything, and applies the result."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from efface import fingerprint
from efface.errors import DataError, EffaceWarning, EraserError, PlanError
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.moments import Matrix, Moments, identity_codes
from efface.protect.linear.rank import (
    Rank,
    Wish,
    choose,
    doubts,
    kept_if_even,
    kept_share,
    refuse_emptied,
)
from efface.registry import nearest
from efface.results import Card
from efface.types import Release, Samples

DTYPES = ("float16", "float32", "float64")
PROBE_ROWS = 4096
"""Rows on which the variance left is measured when the moments hold no covariance."""


@dataclass(eq=False)
class LinearProtection(ABC):
    """What every linear eraser can do; a method adds ``_solve`` and its own parameters.

    ``fit`` takes Samples, or vectors with one label per row. ``rank="auto"`` takes the smallest
    rank that covers ``coverage`` of the between-identity energy (0.9 when None; an audit takes
    None as leave to choose by its privacy target, P6). ``dtype`` is what ships: a release is
    measured in it. ``keep_moments`` leaves the moments in ``moments_``. The eraser carries
    fingerprints of the people it has seen, so that an audit keeps them out of its test.
    """

    rank: Rank = None
    coverage: float | None = None
    min_variance: float = 0.01
    force: bool = False
    normalise: bool = True
    dtype: Literal["float16", "float32", "float64"] = "float32"
    keep_moments: bool = False

    eraser_: LinearEraser = field(init=False, repr=False)
    moments_: Moments = field(init=False, repr=False)
    prints_: dict[Any, str] = field(init=False, repr=False)
    variance_kept_: float = field(init=False, repr=False)
    n_features_in_: int = field(init=False, repr=False)

    card: ClassVar[Card]

    @property
    def nested(self) -> bool:
        """Whether the leading directions alone are the same method at a lower rank."""
        return True

    @abstractmethod
    def _solve(self, moments: Moments) -> LinearEraser:
        """The directions to remove; the shell adds where they come from."""

    def _check_params(self) -> None:
        self._wish().check()
        if self.dtype not in DTYPES:
            raise EraserError(f"dtype must be one of {', '.join(DTYPES)}, got {self.dtype!r}")

    def _needs_covariance(self) -> bool:
        return True

    # --- fitting ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from Samples, or from vectors ``X`` and one label per row ``y``."""
        self._check_params()
        samples = X if isinstance(X, Samples) else _samples(X, y)
        second = self._needs_covariance()
        moments = Moments(samples.dim, second=second, normalise=self.normalise)
        moments.update(samples.data, samples.identity, dtype=samples.stored_dtype)
        scatter = moments.covariance if second else _probe(samples, self.normalise)
        prints = _prints(samples)
        self._keep(moments, prints)
        return self._finish(moments, scatter, samples.digest(), prints.values())

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add a batch; the eraser is solved when it is next asked for.

        The covariance is gathered as well, so that what is left of the vectors is known exactly.
        """
        self._check_params()
        samples = X if isinstance(X, Samples) else _samples(X, y)
        if "moments_" not in vars(self):
            self.moments_ = Moments(samples.dim, second=True, normalise=self.normalise)
            self.prints_ = {}
        people = samples.names[samples.identity]
        self.moments_.update(samples.data, people, dtype=samples.stored_dtype)
        for name, made in _prints(samples).items():
            self.prints_[name] = fingerprint.merged(self.prints_.get(name, ""), made)
        vars(self).pop("eraser_", None)
        vars(self).pop("variance_kept_", None)
        return self

    def fit_moments(
        self, moments: Moments, *, digest: str = "", fingerprints: Iterable[str] = ()
    ) -> Self:
        """Learn from moments gathered elsewhere: shards, a stream, another process.

        Without a covariance in them, the variance left is judged as if the variance within
        identities were the same in every direction. Moments hold no rows: ``fingerprints`` of the
        people have to be made where the rows are, or no audit can know who was fitted.
        """
        self._check_params()
        if moments.normalise != self.normalise:
            raise EraserError(
                f"the moments were gathered with normalise={moments.normalise}, the eraser has "
                f"normalise={self.normalise}: give both the same"
            )
        self._keep(moments, {})
        scatter = moments.covariance if moments.second else None
        return self._finish(moments, scatter, digest, fingerprints)

    def _keep(self, moments: Moments, prints: Mapping[Any, str]) -> None:
        vars(self).pop("moments_", None)
        vars(self).pop("prints_", None)
        if self.keep_moments:
            self.moments_, self.prints_ = moments, dict(prints)

    def _finish(
        self, moments: Moments, scatter: Matrix | None, digest: str, prints: Iterable[str]
    ) -> Self:
        if moments.people < 2:
            raise DataError(
                f"{moments.people} identity in the data to fit on: an eraser needs at least two "
                "(better hundreds) to see what tells people apart"
            )
        found = self._solve(moments)
        kept = kept_if_even(found, moments) if scatter is None else kept_share(found, scatter)
        refuse_emptied(kept, found.rank, moments.dim, self._wish())
        people, dim = moments.people, moments.dim
        notes = (*found.warnings, *doubts(found.rank, kept, people=people, dim=dim))
        self.eraser_ = replace(
            found,
            normalise=self.normalise,
            method=self.card.name,
            params=_plain(self.get_params()),
            identities=moments.people,
            rows=moments.rows,
            fit_digest=digest,
            fingerprints=fingerprint.kept(prints),
            warnings=notes,
        )
        self.variance_kept_ = kept
        self.n_features_in_ = moments.dim
        for note in notes:
            warnings.warn(f"{self.card.name}: {note}", EffaceWarning, stacklevel=3)
        return self

    def _wish(self) -> Wish:
        return Wish(self.rank, self.coverage, self.min_variance, self.force)

    def _choose(self, energy: Matrix, full: int, moments: Moments) -> int:
        return choose(energy, full, self._wish(), people=moments.people, dim=moments.dim)

    def _at_least(self) -> int:
        """Directions a forced rank needs even where they are noise."""
        return int(self.rank) if self.force and isinstance(self.rank, int | np.integer) else 0

    # --- applying ---------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Erase: an array gives an array, Samples give Samples."""
        if isinstance(X, Samples):
            return X.replace(self.eraser_.transform(X.data))
        return self.eraser_.transform(_numbers(X))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X, y).transform(X)

    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        """What the attacker sees, in the dtype that ships. Nothing here is drawn at random."""
        del rng
        wide = samples.data.astype(np.result_type(samples.data, self.dtype), copy=False)
        return Release(self.eraser_.transform(wide).astype(self.dtype, copy=False), samples.kind)

    # --- what scikit-learn asks of a transformer ----------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        del deep
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def set_params(self, **params: Any) -> Self:
        known = list(self.get_params())
        for name, value in params.items():
            if name not in known:
                raise PlanError(f"{self.card.name} has no parameter {name!r}{nearest(name, known)}")
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return bool({"eraser_", "moments_"} & set(vars(self)))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(),
        )

    def __getattr__(self, name: str) -> Any:
        """Solve a stream on demand, and answer an unfitted eraser with what to do."""
        if name in ("eraser_", "variance_kept_") and "moments_" in vars(self):
            moments = vars(self)["moments_"]
            prints = vars(self).get("prints_", {})
            self._finish(moments, moments.covariance, "", prints.values())
            return vars(self)[name]
        if name in ("eraser_", "variance_kept_", "moments_", "n_features_in_"):
            raise NotFitted(f"this {type(self).__name__} is not fitted yet: call fit() first")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


class NotFitted(EraserError, AttributeError):
    """Asked for what only fitting finds; an AttributeError too, so that hasattr() says no."""


# --- input ----------------------------------------------------------------------------------


def _samples(X: Any, y: Any) -> Samples:
    """Vectors and labels as they came, with integer codes; the moments check the numbers."""
    if y is None:
        raise DataError("identities are missing: fit(X, y) needs one label per row, or Samples")
    x = _numbers(X)
    if x.ndim != 2 or not len(x):
        raise DataError(f"expected rows of vectors to fit on, got an array of shape {x.shape}")
    labels, codes = identity_codes(y, len(x))
    names = np.empty(len(labels), object)
    names[:] = labels
    return Samples(x, codes, names, dataset="X", stored_dtype=str(x.dtype))


def _prints(samples: Samples) -> dict[Any, str]:
    """Name of everybody in the samples -> fingerprint."""
    made = fingerprint.of_people(fingerprint.of_rows(samples.data), samples.identity)
    return {samples.names[code]: text for code, text in made.items()}


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """NumPy scalars as Python's own: parameters go into JSON."""
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in params.items()}


def _numbers(X: Any) -> NDArray[Any]:
    try:
        x = np.asarray(X)
    except ValueError as error:
        raise DataError(f"the rows of X differ in length: {error}") from None
    if x.dtype.kind not in "fiu":
        raise DataError(f"vectors must be real numbers, got {x.dtype}: convert them to float32")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _probe(samples: Samples, normalise: bool) -> Matrix:
    """Covariance of evenly spaced rows: enough to see how much of the vectors is left."""
    step = -(-len(samples) // PROBE_ROWS)
    rows = Moments(samples.dim, second=True, normalise=normalise)
    some = samples.data[::step]
    return rows.update(some, np.zeros(len(some), np.int64)).covariance
