"""What the readers share: the face of an opened file, and how its columns are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, EffaceError
from efface.facts import Encoding
from efface.registry import nearest

PARQUET = (".parquet", ".pq")
IPC = (".arrow", ".feather", ".ipc")
FORMATS = (".npz", ".npy", *PARQUET, *IPC)
_USUAL_NAMES = ("embedding", "embeddings", "vectors", "features", "x")


class Table(Protocol):
    """A file of vectors and columns beside them. Nothing is read before it is asked for."""

    place: str

    def vector_columns(self) -> dict[str, bool]:
        """The columns that hold one numeric vector per row; True where it is floating point."""

    def label_columns(self) -> list[str]:
        """The columns that hold one number, truth value or text per row."""

    def names(self) -> list[str]:
        """Every column, also those that efface has no use for."""

    def vectors(self, name: str) -> NDArray[Any]:
        """One column of vectors as they are stored, rows x dimensions."""

    def columns(self, names: Sequence[str], identity: str) -> dict[str, NDArray[Any]]:
        """These columns as arrays; gaps in text are None.

        Where a format has no types, ``identity`` comes as written: 007 and 7 are two people.
        """


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a file that an audit uses, as stored: not yet checked or normalised."""

    vectors: NDArray[Any]
    identity: NDArray[Any]
    attributes: dict[str, NDArray[Any]]
    encoding: Encoding | None = None


def choose_vectors(table: Table, wanted: str | None) -> str:
    """The column asked for; else the one with a usual name; else the only floating one."""
    found = table.vector_columns()
    if wanted is not None:
        if wanted not in found and wanted not in table.names():
            raise unknown_column(table, wanted)
        return wanted
    floats = [name for name, floating in found.items() if floating]
    usual = [name for name in floats if name.lower() in _USUAL_NAMES]
    usual = usual or [name for name in found if name.lower() in _USUAL_NAMES]
    choice = usual or floats
    if len(choice) == 1:
        return choice[0]
    if not choice:
        raise DataError(
            f"{table.place}: no column of vectors found (columns: {', '.join(table.names())}): "
            "name it with --embedding (embedding= in Python), or store the vectors as one array or "
            "list column"
        )
    raise DataError(
        f"{table.place}: several columns of vectors ({', '.join(choice)}): "
        "say which with --embedding (embedding= in Python)"
    )


def choose_labels(
    table: Table, identity: str, attributes: Sequence[str] | None, embedding: str
) -> list[str]:
    """The identity column first, then the attributes asked for or all there are."""
    usable = [name for name in table.label_columns() if name != embedding]
    chosen = list(dict.fromkeys([identity, *(usable if attributes is None else attributes)]))
    known = {*table.names(), *usable}
    for name in chosen:
        if name not in known:
            raise unknown_column(table, name)
    return chosen


def unknown_column(table: Table, name: str) -> DataError:
    known = list(dict.fromkeys([*table.names(), *table.label_columns()]))
    return DataError(
        f"{table.place}: no column {name!r}{nearest(name, known)}: name one that is there, for "
        "example with --identity"
    )


def stacked(parts: Iterable[NDArray[Any]], rows: int, place: str, name: str) -> NDArray[Any]:
    """Parts of a vector column as one array: the only part itself, or filled in one by one so
    that the column is never in memory twice."""
    out: NDArray[Any] | None = None
    done = 0
    for part in parts:
        if not len(part):
            continue
        if out is None and len(part) == rows:
            return part
        if out is None:
            out = np.empty((rows, part.shape[1]), part.dtype)
        out[done : done + len(part)] = part[: rows - done]
        done += len(part)
    if out is None:
        raise DataError(f"{place}: column {name!r} has no rows: give at least two vectors")
    if done != rows:
        raise DataError(
            f"{place}: column {name!r} has {done} rows where {rows} were announced: write it again"
        )
    return out


def decoded(items: Iterable[Any], place: str, remedy: str) -> Iterator[Any]:
    """The items of a decoder, with :func:`readable` around each step and not around its use."""
    steps = iter(items)
    while True:
        with readable(place, remedy):
            item = next(steps, None)
        if item is None:
            return
        yield item


@contextmanager
def readable(place: str, remedy: str) -> Iterator[None]:
    """Decoders answer damaged bytes with nearly any exception: all become one DataError.

    Keep the body to calls into the decoder, so that no mistake of our own hides here.
    """
    try:
        yield
    except EffaceError:
        raise
    except PermissionError as error:
        raise DataError(f"{place}: no permission to read it: change the file's mode") from error
    except Exception as error:
        why = str(error).strip().split("\n")[0] or type(error).__name__
        raise DataError(f"{place}: cannot be read ({why}): {remedy}") from error
