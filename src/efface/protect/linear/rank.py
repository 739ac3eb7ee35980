"""How many directions to remove: the rank the data carry, the rank asked for, and refusals (P5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from efface.errors import EraserError
from efface.protect.linear.eraser import LinearEraser
from efface.protect.linear.moments import Matrix, Moments

Rank = int | Literal["auto"] | None

EPS = float(np.finfo(np.float64).eps)
COVERAGE = 0.9
"""Share of between-identity energy that ``rank="auto"`` covers unless told otherwise."""
LITTLE_VARIANCE = 0.05
"""Below this share a reader has to know. It is no reason to refuse: embeddings of 2,048 numbers
were met that hold 97 % of their variance in the 128 directions that tell people apart."""
FEW_PEOPLE = 20
"""Below this many identities the means span little of what strangers differ in."""


def noise(moments: Moments) -> float:
    """Largest singular value that rounding alone gives the centred class means.

    Entries of unit rows are near 1/sqrt(d); storing them errs by up to eps/2 of that, summing n
    of them by about sqrt(n) float64 steps. A people x d matrix of such errors has spectral norm
    near (sqrt(people) + sqrt(d)) times one error. Scale-free, and it follows the data's dtype.
    """
    people, dim = moments.people, moments.dim
    entry = np.sqrt(moments.squares / (moments.rows * dim))
    step = max(moments.eps, EPS * np.sqrt(moments.rows / people))
    return float(step * entry * (np.sqrt(people) + np.sqrt(dim)))


def numerical_rank(values: Matrix, floor: float, shape: tuple[int, int]) -> int:
    """How many singular values (descending) stand above ``floor`` and the decomposition's own
    rounding."""
    if not len(values):
        return 0
    return int(np.count_nonzero(values > max(floor, EPS * max(shape) * float(values[0]))))


@dataclass(frozen=True)
class Wish:
    """What the user asked for: a rank, everything, or a share of between-identity energy."""

    rank: Rank = None
    coverage: float | None = None
    min_variance: float = 0.01
    force: bool = False

    @property
    def share(self) -> float:
        return COVERAGE if self.coverage is None else self.coverage

    def check(self) -> None:
        rank = self.rank
        known = rank is None or rank == "auto"
        if not known and (not isinstance(rank, int | np.integer) or isinstance(rank, bool)):
            raise EraserError(f"rank must be a whole number, 'auto' or None, got {rank!r}")
        if isinstance(rank, int | np.integer) and rank < 1:
            raise EraserError(f"rank {rank} would remove nothing: ask for at least 1")
        if not 0 < self.share <= 1:
            raise EraserError(f"coverage must be above 0 and at most 1, got {self.coverage!r}")
        if not 0 <= self.min_variance < 1:
            raise EraserError(f"min_variance must be in [0, 1), got {self.min_variance!r}")


def choose(energy: Matrix, full: int, wish: Wish, *, people: int, dim: int) -> int:
    """The rank to remove, given the energy of every direction and the numerical rank ``full``."""
    if wish.rank == "auto":
        return covering(energy[:full], wish.share)
    if wish.rank is None:
        _refuse_everything(full, wish, people=people, dim=dim)
        return full
    _refuse_beyond(int(wish.rank), full, len(energy), wish)
    return int(wish.rank)


def covering(energy: Matrix, coverage: float, total: float | None = None) -> int:
    """The smallest rank whose directions carry ``coverage`` of the energy (P6)."""
    reached = np.cumsum(energy)
    goal = coverage * (float(reached[-1]) if total is None else total)
    # A share of 1 must not ask for more than there is because the sums round differently.
    return min(len(energy), int(np.searchsorted(reached, goal * (1 - 1e-12))) + 1)


def _refuse_everything(full: int, wish: Wish, *, people: int, dim: int) -> None:
    if full < dim or wish.force:
        return
    raise EraserError(
        f"{people} identities in {dim} dimensions differ in every direction: erasing at full rank "
        f"would remove everything; give a rank (for example rank={max(1, dim // 4)} or "
        "rank='auto'), or force it (--force, force=True)"
    )


def _refuse_beyond(rank: int, full: int, available: int, wish: Wish) -> None:
    if rank <= full or (wish.force and rank <= available):
        return
    forced = (
        f" (--force, or force=True, goes up to {available}, into noise)" if available > full else ""
    )
    raise EraserError(
        f"rank {rank} is more than the {full} directions in which the identities' means differ "
        f"beyond rounding: ask for at most {full}{forced}"
    )


def kept_share(eraser: LinearEraser, scatter: Matrix) -> float:
    """tr(Q S Q') / tr(S) with Q = I - A B': the share of the variance that erasure leaves."""
    basis = eraser.basis
    dual = basis if eraser.dual is None else eraser.dual
    seen = scatter @ dual
    removed = 2 * np.sum(seen * basis) - np.sum((basis.T @ basis) * (dual.T @ seen))
    return float(1 - removed / np.trace(scatter))


def kept_if_even(eraser: LinearEraser, moments: Moments) -> float:
    """The same without a covariance: what lies between identities is known exactly, what lies
    within them is taken to be the same in every direction."""
    total, between = moments.variance, moments.between
    inside = max(0.0, total - float(np.trace(between)))
    gone = float(np.sum((between @ eraser.basis) * eraser.basis))
    return 1 - (gone + inside * eraser.rank / moments.dim) / total


def refuse_emptied(kept: float, rank: int, dim: int, wish: Wish) -> None:
    """Refuse an eraser that leaves (almost) nothing: what remains would be rounding residue."""
    if kept >= wish.min_variance or wish.force:
        return
    raise EraserError(
        f"removing {rank} of {dim} dimensions would leave {kept:.1%} of the variance, less than "
        f"min_variance={wish.min_variance:g}: ask for a lower rank, lower min_variance, or "
        "force it (--force, force=True)"
    )


def doubts(rank: int, kept: float, *, people: int, dim: int) -> list[str]:
    """What a careful reader of the result has to know about this rank and these identities."""
    found = []
    if people < FEW_PEOPLE:
        found.append(
            f"fitted on {people} identities only: strangers differ in directions that "
            f"fewer than {FEW_PEOPLE} people do not show"
        )
    if people <= rank:
        found.append(
            f"removed {rank} directions after fitting on {people} identities, whose means span at "
            f"most {people - 1}"
        )
    if kept < LITTLE_VARIANCE:
        found.append(f"left {kept:.1%} of the variance: check the utility")
    if 2 * rank > dim:
        found.append(f"removed {rank} of {dim} dimensions: more than half; check the utility")
    return found
