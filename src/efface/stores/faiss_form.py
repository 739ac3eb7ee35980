"""What kind of FAISS index a file holds: all that is needed to make another one like it.

Only forms whose vectors come back as they were stored are known. Everything else is refused with
the reason; FAISS itself may end the whole process when asked for vectors it cannot give back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from efface.errors import DataError
from efface.extras import need

FLAT = {"IndexFlat", "IndexFlatIP", "IndexFlatL2"}
MAPS = {"IndexIDMap", "IndexIDMap2"}
_GRAPHS = {"IndexHNSWFlat", "IndexHNSWSQ"}
_LISTS = {"IndexIVFFlat", "IndexIVFScalarQuantizer"}

_ORIGINALS = "project the original vectors and build the index again from them"


@dataclass(frozen=True)
class Form:
    """An index without its vectors. ``family`` says what is around them."""

    family: Literal["flat", "graph", "lists"]
    dim: int
    metric: int
    metric_arg: float
    dtype: Literal["float32", "float16"]
    ids: str = ""
    """The class of the map of ids around the index; empty where there is none."""
    neighbours: tuple[int, int] = (0, 0)
    """Of a graph: links per vector in the lowest layer and in those above it."""
    ef: tuple[int, int] = (0, 0)
    """Of a graph: efConstruction and efSearch."""
    lists: int = 0
    probes: int = 1
    direct_map: int = 0
    coarse: Form | None = None
    """Of lists: the form of the index over their centroids."""


def form_of(index: Any, place: str) -> Form:
    """The form of an index as FAISS read it, or a refusal that says why."""
    faiss = need("faiss", "faiss")
    name = type(index).__name__
    if name in MAPS:
        inner = form_of(faiss.downcast_index(index.index), place)
        if inner.ids:
            raise _refusal(place, name, "maps ids twice", _ORIGINALS)
        return replace(inner, ids=name)
    common = _common(index)
    if name in FLAT:
        return Form("flat", dtype="float32", **common)
    if name == "IndexScalarQuantizer":
        return Form("flat", dtype=_half(faiss, index.sq, place), **common)
    if name in _GRAPHS:
        return _graph(faiss, index, place, common)
    if name in _LISTS:
        return _lists(faiss, index, place, common)
    raise _refusal(place, name, *_reason(name))


def _common(index: Any) -> dict[str, Any]:
    return {"dim": index.d, "metric": index.metric_type, "metric_arg": index.metric_arg}


def _graph(faiss: Any, index: Any, place: str, common: dict[str, Any]) -> Form:
    if index.storage is None:
        raise _refusal(place, type(index).__name__, "holds no vectors", _ORIGINALS)
    stored = form_of(faiss.downcast_index(index.storage), place)
    if stored.family != "flat" or stored.ids:
        raise _refusal(
            place, type(index).__name__, "keeps its vectors in another index", _ORIGINALS
        )
    graph = index.hnsw
    return Form(
        "graph",
        dtype=stored.dtype,
        neighbours=(graph.nb_neighbors(0), graph.nb_neighbors(1)),
        ef=(graph.efConstruction, graph.efSearch),
        **common,
    )


def _lists(faiss: Any, index: Any, place: str, common: dict[str, Any]) -> Form:
    name = type(index).__name__
    half = name == "IndexIVFScalarQuantizer"
    if half and index.by_residual:
        raise _refusal(place, name, "keeps the difference from a centroid, rounded", _ORIGINALS)
    if not hasattr(faiss, "downcast_InvertedLists") or not isinstance(
        faiss.downcast_InvertedLists(index.invlists), faiss.ArrayInvertedLists
    ):
        raise _refusal(place, name, "keeps its lists outside this file", "merge them into one file")
    coarse = form_of(faiss.downcast_index(index.quantizer), place)
    if coarse.family == "lists" or coarse.ids or coarse.dtype != "float32":
        raise _refusal(place, name, "finds its lists through another kind of index", _ORIGINALS)
    return Form(
        "lists",
        dtype=_half(faiss, index.sq, place) if half else "float32",
        lists=index.nlist,
        probes=index.nprobe,
        direct_map=index.direct_map.type,
        coarse=coarse,
        **common,
    )


def _half(faiss: Any, quantiser: Any, place: str) -> Literal["float16"]:
    if quantiser.qtype != faiss.ScalarQuantizer.QT_fp16:
        raise _refusal(
            place, "IndexScalarQuantizer", "has rounded its vectors to fewer than 16 bits or to "
            "another form than float16", _ORIGINALS
        )  # fmt: skip
    return "float16"


def _reason(name: str) -> tuple[str, str]:
    if name == "IndexPreTransform":
        return (
            "changes vectors before it stores them, so these are not the ones that were added",
            "give the file of the index inside, or build it again from the original vectors",
        )
    if "PQ" in name or "Quantizer" in name or "RaBitQ" in name or name == "IndexLSH":
        return "has compressed its vectors, and what comes back is not what was added", _ORIGINALS
    return "is of a form that is not known here", _ORIGINALS


def _refusal(place: str, name: str, why: str, way_out: str) -> DataError:
    return DataError(f"{place}: {name} {why}: {way_out}")
