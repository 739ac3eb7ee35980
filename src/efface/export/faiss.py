"""A fitted eraser as a FAISS chain: whatever is added or searched goes through it first.

FAISS computes in float32. A single d x d product would leave a linear trace of what is erased,
near 1e-7, in directions where nothing else is left. So the map always goes through coordinates of
its image, which has no such directions; the full form then lifts them back to d dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import EraserError
from efface.export.files import PathLike, whole_file
from efface.extras import need
from efface.protect.linear.eraser import LinearEraser


@dataclass(frozen=True, eq=False)
class Compact:
    """x -> frame (inner x + offset): the map through an orthonormal frame of what it can reach.

    The frame spans the image of I - A B' and the constant A B' mean. So it has d - r columns, and
    one more where the constant leaves the image. Inner products and lengths are those of the
    erased vectors.
    """

    frame: NDArray[np.float64]
    """d x k, orthonormal columns."""
    inner: NDArray[np.float64]
    """k x d."""
    offset: NDArray[np.float64] | None

    @property
    def dim(self) -> int:
        return int(self.frame.shape[1])


def compact(eraser: LinearEraser) -> Compact:
    """Coordinates of the erased vectors in the space that is left to them."""
    dual = eraser.basis if eraser.dual is None else eraser.dual
    linear = np.eye(eraser.dim) - eraser.basis @ dual.T
    constant = None if eraser.mean is None else eraser.basis @ (eraser.mean @ dual)
    reach = linear if constant is None else np.column_stack([linear, constant])
    left, size, _ = np.linalg.svd(reach, full_matrices=False)
    # A projection stretches or keeps what it does not remove: the gap lies between 1 and 1e-13.
    frame = left[:, size > 1e-9 * size[0]] if size[0] > 1e-9 else left[:, :0]
    if not frame.shape[1]:
        raise EraserError("the projector removes every direction: nothing is left to index")
    return Compact(frame, frame.T @ linear, None if constant is None else frame.T @ constant)


def index_dim(eraser: LinearEraser, *, compact_form: bool = False) -> int:
    """The dimension an index behind the chain must have."""
    return compact(eraser).dim if compact_form else eraser.dim


def faiss_chain(eraser: LinearEraser, index: Any, *, compact_form: bool = False) -> Any:
    """An ``IndexPreTransform`` that erases what is added, trained on or searched in ``index``.

    The index has d dimensions, or with ``compact_form`` those of ``index_dim``. FAISS cannot
    refuse a row: one without a direction becomes a zero vector.
    """
    faiss = need("faiss", "faiss")
    form = compact(eraser)
    wanted = form.dim if compact_form else eraser.dim
    if index.d != wanted:
        raise EraserError(
            f"the index has {index.d} dimensions, the chain ends in {wanted}: make an index of "
            f"{wanted} dimensions"
        )
    steps = [_linear(faiss, form.inner, form.offset)]
    if eraser.normalise:
        steps = [_unit(faiss, eraser.dim), *steps, _unit(faiss, form.dim)]
    if not compact_form:
        steps.append(_linear(faiss, form.frame, None))
    chain = faiss.IndexPreTransform(index)
    for step in reversed(steps):
        chain.prepend_transform(step)
    return chain


def save_faiss(index: Any, path: PathLike) -> None:
    """Write an index, chain and all, whole or not at all."""
    faiss = need("faiss", "faiss")
    with whole_file(path) as partial:
        try:
            faiss.write_index(index, str(partial))
        except RuntimeError as error:  # a full disk, as FAISS tells it
            raise OSError(str(error).splitlines()[0]) from error


def _unit(faiss: Any, dim: int) -> Any:
    return faiss.NormalizationTransform(dim, 2.0)


def _linear(faiss: Any, matrix: NDArray[np.float64], bias: NDArray[np.float64] | None) -> Any:
    rows, columns = matrix.shape
    step = faiss.LinearTransform(columns, rows, bias is not None)
    faiss.copy_array_to_vector(np.ascontiguousarray(matrix, np.float32).ravel(), step.A)
    if bias is not None:
        faiss.copy_array_to_vector(np.ascontiguousarray(bias, np.float32), step.b)
    step.is_trained = True
    step.set_is_orthonormal()  # then FAISS can also lead vectors back: see reconstruct
    return step
