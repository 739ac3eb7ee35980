"""Index files of every form that can be projected, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

DIM, ROWS = 8, 400
MAPPED = ("IDMap,Flat", "IDMap2,Flat", "IDMap,HNSW8", "IDMap2,IVF4,Flat", "IDMap,SQfp16")
LISTED = ("IVF4,Flat", "IVF4_HNSW4,Flat")
PLAIN = ("Flat", "HNSW8", "SQfp16", "HNSW8_SQfp16")
KEYS = (*PLAIN, *LISTED, *MAPPED)


def raw(rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(rows, DIM)).astype(np.float32)


def ids(rows: int = ROWS) -> np.ndarray:
    """Neither in order nor near each other."""
    return np.random.default_rng(6).permutation(rows).astype(np.int64) * 7 + 1000


def make(key: str, path: Path, *, metric: str = "IP", named: bool | None = None) -> Any:
    """Write an index; ``named`` gives ids where the form keeps them."""
    import faiss

    measure = {"IP": faiss.METRIC_INNER_PRODUCT, "L2": faiss.METRIC_L2}[metric]
    index = faiss.index_factory(DIM, key, measure)
    _quiet(faiss, index)
    index.train(raw())
    if key in MAPPED if named is None else named:
        index.add_with_ids(raw(), ids())
    else:
        index.add(raw())
    faiss.write_index(index, str(path))
    return index


def half_lists(path: Path) -> None:
    """Lists of float16 without residuals, which the factory does not make."""
    import faiss

    coarse = faiss.IndexFlatL2(DIM)
    half = faiss.ScalarQuantizer.QT_fp16
    index = faiss.IndexIVFScalarQuantizer(coarse, DIM, 4, half, faiss.METRIC_L2, False)
    _quiet(faiss, index)
    index.train(raw())
    index.add_with_ids(raw(), ids())
    faiss.write_index(index, str(path))


def _quiet(faiss: Any, index: Any) -> None:
    inner = faiss.downcast_index(index.index) if hasattr(index, "id_map") else index
    if hasattr(inner, "cp"):
        inner.cp.min_points_per_centroid = 1
