"""Parquet: one file, or a folder of files that may be nested (``day=3/x.parquet``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from efface.data.readers import existing
from efface.errors import StoreError
from efface.stores.address import Address
from efface.stores.filesource import check_kind, check_target
from efface.stores.parquet_sink import ParquetSink
from efface.stores.parquet_source import ParquetSource

__all__ = ["ParquetSink", "ParquetSource", "open_sink", "open_source"]


def open_source(address: Address) -> ParquetSource:
    return ParquetSource(existing(address.location), address.embedding)


def open_sink(address: Address, source: Any) -> ParquetSink:
    """A file becomes a file; a folder becomes a folder of the same layout and file names."""
    check_kind("parquet", source)
    target = Path(address.location)
    if source.path.is_dir() and target.suffix:
        raise StoreError(
            f"{target}: the layout of {source.path} is kept: give the target a folder's name, "
            f"without {target.suffix}"
        )
    check_target(source.path, target)
    return ParquetSink(target, source)
