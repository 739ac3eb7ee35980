"""Vectors and ids of an index, read where FAISS keeps them, row by row in the store's order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.extras import need
from efface.stores.faiss_form import Form, form_of
from efface.stores.faiss_layout import mappable

Chosen = slice | NDArray[np.int64]


class Rows:
    """An index that was read, as a matrix with ids."""

    def __init__(self, index: Any, place: str) -> None:
        faiss = need("faiss", "faiss")
        self.form = form_of(index, place)
        self.total = int(index.ntotal)
        self._index = index  # owns the memory of everything below
        inner = faiss.downcast_index(index.index) if self.form.ids else index
        self._map = _id_map(faiss, index, place) if self.form.ids else None
        held: _Flat | _Lists = (
            _Lists(faiss, inner, self.form, place)
            if self.form.family == "lists"
            else _Flat(faiss, inner, self.form, place)
        )
        if held.total != self.total or inner.ntotal != self.total:
            raise _damaged(place, f"it says {self.total} vectors and holds {held.total}")
        if self._map is not None and not held.in_turn:
            raise _damaged(place, "its map of ids does not belong to its vectors")
        self._held = held

    def vectors(self, rows: Chosen) -> NDArray[Any]:
        """Copies of these rows, in the stored type."""
        return self._held.vectors(rows)

    def labels(self, rows: Chosen) -> NDArray[np.int64]:
        if self._map is not None:
            return np.asarray(self._map[rows])
        return self._held.labels(rows)

    def ids(self) -> NDArray[np.int64] | None:
        """What to give to ``add_with_ids``; None where rows are simply counted."""
        named = self.form.ids or self.form.family == "lists"
        return self.labels(slice(0, self.total)) if named else None


class _Flat:
    """Rows one after another, in the order in which they were added."""

    in_turn = True

    def __init__(self, faiss: Any, index: Any, form: Form, place: str) -> None:
        stored = faiss.downcast_index(index.storage) if form.family == "graph" else index
        size = form.dim * np.dtype(form.dtype).itemsize
        if not size or stored.code_size != size or stored.codes.size() % size:
            raise _damaged(place, "its vectors have another size than it says")
        self.total = stored.codes.size() // size
        self._matrix = _view(faiss, stored.codes.data(), self.total, form)

    def vectors(self, rows: Chosen) -> NDArray[Any]:
        return np.array(self._matrix[rows])

    def labels(self, rows: Chosen) -> NDArray[np.int64]:
        return np.arange(self.total)[rows]


class _Lists:
    """Rows in lists, put in the order of their ids; equal ids in the order of the lists."""

    def __init__(self, faiss: Any, index: Any, form: Form, place: str) -> None:
        lists = faiss.downcast_InvertedLists(index.invlists)
        if lists.code_size != form.dim * np.dtype(form.dtype).itemsize or lists.nlist != form.lists:
            raise _damaged(place, "its lists are of another form than it says")
        self._faiss, self._lists, self._form = faiss, lists, form
        sizes = np.array([lists.list_size(n) for n in range(form.lists)], np.int64)
        self._ends = np.cumsum(sizes)
        self.total = int(sizes.sum())
        found = [self._ids_of(n, int(size)) for n, size in enumerate(sizes)]
        ids = np.concatenate([np.zeros(0, np.int64), *found])
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]

    @property
    def in_turn(self) -> bool:
        """Whether the ids count the rows, as they do inside a map of ids."""
        return bool((self._sorted == np.arange(self.total)).all())

    def labels(self, rows: Chosen) -> NDArray[np.int64]:
        return np.asarray(self._sorted[rows])

    def vectors(self, rows: Chosen) -> NDArray[Any]:
        wanted = self._order[rows]
        lists = np.searchsorted(self._ends, wanted, side="right")
        out = np.empty((len(wanted), self._form.dim), self._form.dtype)
        for number in np.unique(lists).tolist():
            here = np.flatnonzero(lists == number)
            start = int(self._ends[number - 1]) if number else 0
            size = int(self._ends[number]) - start
            codes = _view(self._faiss, self._lists.get_codes(number), size, self._form)
            out[here] = codes[wanted[here] - start]
        return out

    def _ids_of(self, number: int, size: int) -> NDArray[np.int64]:
        if not size:
            return np.zeros(0, np.int64)
        found = self._faiss.rev_swig_ptr(self._lists.get_ids(number), size)
        return np.array(found, np.int64)


def opened(path: Path) -> Rows:
    """The index of a file. It is kept for the next question while the file stays as it is."""
    stat = path.stat()
    return _opened(str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=2)
def _opened(path: str, inode: int, size: int, changed: int) -> Rows:
    faiss = need("faiss", "faiss")
    with _bounded(faiss, size):
        try:
            index = faiss.read_index(path, _flags(faiss, path))
        except (RuntimeError, MemoryError) as error:
            raise _damaged(path, _line(error)) from error
    return Rows(index, path)


def _flags(faiss: Any, path: str) -> int:
    """Mapped where that is safe: then the index takes no memory, in however many processes."""
    return getattr(faiss, "IO_FLAG_MMAP_IFC", 0) if mappable(Path(path)) else 0


@contextmanager
def _bounded(faiss: Any, size: int) -> Iterator[None]:
    """No array in a damaged file makes FAISS take more memory than the file has bytes."""
    if not hasattr(faiss, "set_deserialization_vector_byte_limit"):
        yield  # an older FAISS has no such limit
        return
    before = faiss.get_deserialization_vector_byte_limit()
    faiss.set_deserialization_vector_byte_limit(max(size, 1 << 20))
    try:
        yield
    finally:
        faiss.set_deserialization_vector_byte_limit(before)


def _id_map(faiss: Any, index: Any, place: str) -> NDArray[np.int64]:
    if index.id_map.size() != index.ntotal:
        raise _damaged(place, "its map of ids has another length than its vectors")
    return np.asarray(faiss.vector_to_array(index.id_map))


def _view(faiss: Any, start: Any, rows: int, form: Form) -> NDArray[Any]:
    """FAISS's own bytes as a matrix; nothing is copied."""
    if not rows:
        return np.zeros((0, form.dim), form.dtype)
    flat = faiss.rev_swig_ptr(start, rows * form.dim * np.dtype(form.dtype).itemsize)
    return np.asarray(flat.view(form.dtype).reshape(rows, form.dim))


def _damaged(place: str | os.PathLike[str], what: str) -> DataError:
    return DataError(
        f"{place}: is no FAISS index or is damaged ({what}): get a sound copy, or build it again"
    )


def _line(error: BaseException) -> str:
    """The last line of what FAISS says, without the places in its own sources."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return text.split("Error: ")[-1][:200]
