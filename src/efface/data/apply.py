"""Put every vector of a file through a map; everything else in the file stays as it is."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from efface.data.atomic import atomic_write
from efface.data.readers import PathLike, existing, open_table
from efface.data.table import PARQUET, choose_vectors, decoded, readable
from efface.data.vectors import as_matrix, check_rows, working_dtype
from efface.errors import DataError, EraserError

Transform = Callable[[NDArray[Any]], NDArray[Any]]
Progress = Callable[[int, int], None]
_BLOCK_BYTES = 32 << 20


def apply_file(
    transform: Transform,
    source: PathLike,
    target: PathLike,
    *,
    embedding: str | None = None,
    progress: Progress | None = None,
) -> int:
    """Write ``source`` to ``target`` with its vectors transformed; returns how many.

    Same format, same rows and columns, same type of the vectors; they are computed in float32
    (float64 stays). The target appears whole or not at all. ``progress`` is told rows done and
    rows in all. The CSV beside a ``.npy`` holds for the new file too and is not copied.
    """
    source, target = _checked_paths(source, target)
    table = open_table(source)
    name = choose_vectors(table, embedding)
    with atomic_write(target) as partial:
        work = _Work(transform, source, name, progress or (lambda done, total: None))
        return _writer(source)(work, partial)


def _checked_paths(source: PathLike, target: PathLike) -> tuple[Path, Path]:
    source, target = existing(source), Path(target)
    if source.is_dir():
        raise DataError(f"{source}: is a folder: apply the projector to one file at a time")
    if source.suffix.lower() != target.suffix.lower():
        raise DataError(
            f"{target}: the format is kept, so the name must end in {source.suffix} like {source}"
        )
    if target.exists() and target.samefile(source):
        raise DataError(f"{target}: is the file that is read: give another name")
    return source, target


def _writer(source: Path) -> Callable[[_Work, Path], int]:
    ending = source.suffix.lower()
    if ending == ".npy":
        return _apply_npy
    if ending == ".npz":
        return _apply_npz
    return _apply_parquet if ending in PARQUET else _apply_ipc


@dataclass
class _Work:
    """One run over a file: what to do to a block of rows, and whom to tell."""

    transform: Transform
    source: Path
    name: str
    progress: Progress
    width: int | None = None
    """Elements of every vector so far: what a list column must go on with."""

    def block(self, stored: NDArray[Any], start: int, total: int) -> NDArray[Any]:
        """Rows ``start`` and on, checked, transformed, in the type they were stored in."""
        place = str(self.source)
        if stored.dtype.kind != "f":
            raise DataError(
                f"{place}: vectors of type {stored.dtype} cannot hold unit rows: convert them to "
                "float32 first"
            )
        check_rows(stored, place, start)
        released = self._released(stored, start)
        with np.errstate(over="ignore"):
            kept = released.astype(stored.dtype)
        check_rows(kept, f"{place} after the transform", start)
        self.progress(start + len(kept), total)
        return kept

    def _released(self, stored: NDArray[Any], start: int) -> NDArray[Any]:
        try:
            released = np.asarray(self.transform(stored.astype(working_dtype(stored.dtype))))
        except EraserError as error:
            last = start + len(stored) - 1
            raise EraserError(f"{self.source}, rows {start} to {last}: {error}") from error
        if released.shape != stored.shape:
            raise DataError(
                f"{self.source}: the transform turned {stored.shape} into {released.shape}: it "
                "must keep rows and dimensions"
            )
        return released


def _apply_npy(work: _Work, partial: Path) -> int:
    vectors = as_matrix(open_table(work.source).vectors(work.name), str(work.source))
    with partial.open("wb") as out:
        return _write_array(work, vectors, out)


def _apply_npz(work: _Work, partial: Path) -> int:
    """The other members are copied as bytes: even what efface would never load survives."""
    vectors = as_matrix(open_table(work.source).vectors(work.name), str(work.source))
    with zipfile.ZipFile(work.source) as old, zipfile.ZipFile(partial, "w") as new:
        for member in old.infolist():
            with new.open(_like(member), "w", force_zip64=True) as out:
                if member.filename == f"{work.name}.npy":
                    _write_array(work, vectors, out)
                else:
                    _copy_member(work, old, member, out)
    return len(vectors)


def _copy_member(
    work: _Work, old: zipfile.ZipFile, member: zipfile.ZipInfo, out: IO[bytes]
) -> None:
    from efface.data.npz import REMEDY

    place = str(work.source)
    with readable(place, REMEDY):
        stream = old.open(member)
    with stream:
        for chunk in decoded(iter(lambda: stream.read(1 << 20), b""), place, REMEDY):
            out.write(chunk)


def _like(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(member.filename, member.date_time)
    info.compress_type = member.compress_type
    info.external_attr = member.external_attr
    return info


def _write_array(work: _Work, vectors: NDArray[Any], out: IO[bytes]) -> int:
    """Header and blocks one after another: a full disk is an error here, where a write through
    a mapping would be a signal."""
    header = {
        "descr": np.lib.format.dtype_to_descr(vectors.dtype),
        "fortran_order": False,
        "shape": vectors.shape,
    }
    np.lib.format.write_array_header_1_0(out, header)
    for rows in _slices(len(vectors), vectors[:1].nbytes):
        out.write(work.block(vectors[rows], rows.start, len(vectors)).tobytes())
    return len(vectors)


def _slices(rows: int, row_bytes: int) -> Iterator[slice]:
    step = _block_rows(row_bytes)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _block_rows(row_bytes: int) -> int:
    return max(1, min(_BLOCK_BYTES // max(1, row_bytes), 1 << 17))


def _apply_parquet(work: _Work, partial: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from efface.data.parquet import batches, parquet_file

    done = 0
    with parquet_file(work.source) as file:
        schema, total = file.schema_arrow, file.metadata.num_rows
        found = batches(file, work.source, _block_rows(_row_bytes(file, work)))
        # Decoded before the codecs are asked for: of damaged metadata the decoder makes an
        # error, but pyarrow's view of it ends the process.
        first = list(islice(found, 1))
        codecs = _codecs(file, str(work.source))
        with pq.ParquetWriter(partial, schema, compression=codecs) as writer:
            for batch in chain(first, found):
                released = _with_vectors(work, batch, done, total)
                writer.write_table(pa.Table.from_batches([released], schema=schema))
                done += len(batch)
    return _not_empty(done, work)


def _row_bytes(file: Any, work: _Work) -> int:
    from efface.data.arrow import vector_array
    from efface.data.parquet import batches

    for batch in batches(file, work.source, 1, [work.name]):
        return vector_array(batch.column(0), str(work.source), work.name).nbytes
    return 1


def _codecs(file: Any, place: str) -> dict[str, str] | str:
    """The compression of every column, as it was."""
    from efface.data.parquet import REMEDY

    if not file.metadata.num_row_groups:
        return "none"
    names = {"UNCOMPRESSED": "none"}
    with readable(place, REMEDY):
        group = file.metadata.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        return {c.path_in_schema: names.get(c.compression, c.compression.lower()) for c in columns}


def _apply_ipc(work: _Work, partial: Path) -> int:
    import pyarrow as pa

    from efface.data.ipc import ipc_batches, is_stream

    # A column of text codes may gain words from batch to batch, which the file form only takes
    # as deltas. Feather files are compressed, as Feather writers do.
    codec = "lz4" if work.source.suffix.lower() == ".feather" else None
    options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
    make = pa.ipc.new_stream if is_stream(work.source) else pa.ipc.new_file
    with ipc_batches(work.source) as (_, batches):
        total = sum(len(batch) for batch in batches)
    done = 0
    with (
        ipc_batches(work.source) as (schema, batches),
        make(str(partial), schema, options=options) as writer,
    ):
        for batch in batches:
            for rows in _slices(len(batch), batch.nbytes // max(1, len(batch))):
                part = batch.slice(rows.start, rows.stop - rows.start)
                writer.write_batch(_with_vectors(work, part, done, total))
                done += len(part)
    return _not_empty(done, work)


def _with_vectors(work: _Work, batch: Any, start: int, total: int) -> Any:
    """The batch with its vector column transformed; field, type and neighbours kept."""
    from efface.data.arrow import vector_array, vector_like

    index = batch.schema.names.index(work.name)
    field = batch.schema.field(index)
    stored = vector_array(batch.column(index), str(work.source), work.name, start, work.width)
    work.width = stored.shape[1]
    released = work.block(stored, start, total)
    return batch.set_column(index, field, vector_like(released, field.type))


def _not_empty(rows: int, work: _Work) -> int:
    if not rows:
        raise DataError(f"{work.source}: the file has no rows: give at least one vector")
    return rows
