"""A new index of a known form from clean vectors alone.

Centroids that were trained on raw vectors would leak them, and links of a graph tell who was near
whom. So both are made again. One thread builds, so that equal vectors give an equal file.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.extras import need
from efface.stores.faiss_form import Form

_BLOCK = 1 << 16
_PER_LIST = 256
"""Training vectors per list: what FAISS itself would draw at most."""


def build(vectors: NDArray[Any], ids: NDArray[np.int64] | None, form: Form, path: Path) -> None:
    """Train, fill and write an index; ``vectors`` may be a mapping of a file."""
    faiss = need("faiss", "faiss")
    with _one_thread(faiss):
        index = empty(faiss, form)
        if form.family == "lists":
            _train(index, vectors, form)
        if form.ids:
            index = getattr(faiss, form.ids)(index)
        _fill(index, vectors, ids)
        if form.direct_map:
            _lists_of(faiss, index).set_direct_map_type(form.direct_map)
        _write(faiss, index, path)


def empty(faiss: Any, form: Form) -> Any:
    """The index without its map of ids, untrained and without vectors."""
    if form.family == "graph":
        index = _graph(faiss, form)
    elif form.family == "lists":
        index = _lists(faiss, form)
    elif form.dtype == "float16":
        index = faiss.IndexScalarQuantizer(form.dim, faiss.ScalarQuantizer.QT_fp16, form.metric)
        index.is_trained = True  # halves have nothing to learn
    else:
        index = _flat(faiss, form)
    index.metric_arg = form.metric_arg
    return index


def _flat(faiss: Any, form: Form) -> Any:
    known = {faiss.METRIC_INNER_PRODUCT: faiss.IndexFlatIP, faiss.METRIC_L2: faiss.IndexFlatL2}
    made = known.get(form.metric)
    return made(form.dim) if made else faiss.IndexFlat(form.dim, form.metric)


def _graph(faiss: Any, form: Form) -> Any:
    lowest, above = form.neighbours
    if form.dtype == "float16":
        half = faiss.ScalarQuantizer.QT_fp16
        index = faiss.IndexHNSWSQ(form.dim, half, above, form.metric)
        faiss.downcast_index(index.storage).is_trained = index.is_trained = True
    else:
        index = faiss.IndexHNSWFlat(form.dim, above, form.metric)
    index.storage.metric_arg = form.metric_arg
    index.hnsw.efConstruction, index.hnsw.efSearch = form.ef
    if lowest != index.hnsw.nb_neighbors(0):
        index.hnsw.set_nb_neighbors(0, lowest)
    return index


def _lists(faiss: Any, form: Form) -> Any:
    coarse = empty(faiss, form.coarse) if form.coarse else _flat(faiss, form)
    if form.dtype == "float16":
        index = faiss.IndexIVFScalarQuantizer(
            coarse, form.dim, form.lists, faiss.ScalarQuantizer.QT_fp16, form.metric, False
        )
    else:
        index = faiss.IndexIVFFlat(coarse, form.dim, form.lists, form.metric)
    index.nprobe = form.probes
    index.cp.spherical = form.metric == faiss.METRIC_INNER_PRODUCT  # as FAISS's own factory has it
    index.cp.min_points_per_centroid = 1  # or it writes a warning past us
    if form.coarse and form.coarse.family == "graph":
        index.quantizer_trains_alone = 2  # cluster first, then link the centroids
    return index


def _train(index: Any, vectors: NDArray[Any], form: Form) -> None:
    most = _PER_LIST * form.lists
    rows: Any = slice(None)
    if len(vectors) > most:
        rows = np.sort(np.random.default_rng(0).choice(len(vectors), most, replace=False))
    index.train(np.ascontiguousarray(vectors[rows], np.float32))


def _fill(index: Any, vectors: NDArray[Any], ids: NDArray[np.int64] | None) -> None:
    for start in range(0, len(vectors), _BLOCK):
        block = np.ascontiguousarray(vectors[start : start + _BLOCK], np.float32)
        if ids is None:
            index.add(block)
        else:
            index.add_with_ids(block, np.ascontiguousarray(ids[start : start + _BLOCK]))


def _lists_of(faiss: Any, index: Any) -> Any:
    return faiss.downcast_index(index.index) if hasattr(index, "id_map") else index


def _write(faiss: Any, index: Any, path: Path) -> None:
    try:
        faiss.write_index(index, str(path))
    except RuntimeError as error:  # FAISS says no more than the words of the system
        full = "No space" in str(error) or "write error" in str(error)
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error)[-200:]) from error


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
