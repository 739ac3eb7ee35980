"""Any network in an ONNX file, with a preprocessing that is declared or can be read from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from efface.encoders.base import BATCH, NetworkEncoder
from efface.encoders.declared import NOTHING, Declared, Sheet, declaration, resolve
from efface.encoders.numbers import Network
from efface.encoders.onnx_file import (
    Described,
    choose_output,
    described,
    graph_of,
    opened,
    weight_files,
)
from efface.encoders.pooling import pooled
from efface.encoders.weights import digest, existing, refuse_other
from efface.errors import DataError
from efface.facts import EncoderFacts, Preprocessing
from efface.registry import register
from efface.results import Card
from efface.types import Floats


@register(
    Card(
        role="encoder",
        name="onnx",
        summary="Any ONNX file with one picture as input, its preprocessing declared.",
        accepts="image",
        yields="embedding",
        needs="an ONNX file; a TOML beside it or options that say what it wants",
        paper="the network's own",
        licence="the weights' own",
    )
)
@dataclass
class Onnx(NetworkEncoder):
    """Size, layout, type and built-in normalisation come from the file; the rest is declared."""

    path: str
    declared: Sheet | None = None
    batch: int = BATCH
    threads: int | None = None
    """Threads of the runtime; by default as many as it finds cores."""
    usual: ClassVar[Declared] = NOTHING
    """What files of this kind want where they say nothing."""

    def _loaded(self) -> tuple[EncoderFacts, Network]:
        path = existing(self.path)
        sheet = self._sheet(path)
        graph = graph_of(path)
        weights = digest(weight_files(path, graph))
        refuse_other(path, weights, sheet.sha256)
        session = opened(path, self.threads)
        file = described(path, session, graph)
        output = choose_output(path, file, sheet.output)
        preprocessing, assumed = resolve(sheet.preprocessing, file.found(), str(path), self.usual)
        _check_numbers(path, file, preprocessing)
        network = Feed(session, file, output, sheet.pooling or "")
        facts = EncoderFacts(
            name=sheet.name or path.stem, kind=type(self).card.name, weights=weights,  # type: ignore[attr-defined]
            dimension=_probed(path, network, preprocessing), preprocessing=preprocessing,
            alignment=sheet.alignment or "none", pooling=sheet.pooling or "",
            licence=sheet.licence, source=sheet.source, assumed=assumed,
        )  # fmt: skip
        return facts, network

    def _sheet(self, path: Path) -> Sheet:
        return declaration(path, self.declared or Sheet())

    @property
    def _numbers(self) -> Any:
        network: Any = self._ready[1]
        return np.dtype(network.file.dtype)


@dataclass
class Feed:
    """A session fed with batches, or one by one where the file fixes the batch."""

    session: Any
    file: Described
    output: str
    pooling: str

    def __call__(self, batch: Any) -> Floats:
        fixed = self.file.batch
        if fixed is None or fixed == len(batch):
            return self._run(batch)
        parts = [
            self._run(_filled(batch[start : start + fixed], fixed))
            for start in range(0, len(batch), fixed)
        ]
        return np.concatenate(parts)[: len(batch)]

    def _run(self, batch: Any) -> Floats:
        found = self.session.run([self.output], {self.file.input: batch})[0]
        return pooled(found, self.pooling)


def _filled(batch: Any, size: int) -> Any:
    """The last pictures repeated up to the batch that the file demands."""
    return batch if len(batch) == size else np.resize(batch, (size, *batch.shape[1:]))


def _check_numbers(path: Path, file: Described, made: Preprocessing) -> None:
    file.start.check(path, made)
    if file.dtype == "uint8" and made.formula != "pixels as they are, 0 to 255":
        raise DataError(f"{path}: takes uint8 pixels: declare --normalise pixel, or nothing")
    if file.layout and made.layout != file.layout:
        raise DataError(f"{path}: its input is {file.layout}: leave --layout out")
    if file.channels not in (None, made.channels):
        raise DataError(
            f"{path}: takes {file.channels} channels, {made.colour} has {made.channels}: declare "
            "--colour as the encoder's page does"
        )


def _probed(path: Path, network: Feed, made: Preprocessing) -> int:
    """Run two pictures through: the dimension, and whether it is an encoder at all."""
    planes = (made.channels, made.height, made.width)
    shape = planes if made.layout == "NCHW" else (made.height, made.width, made.channels)
    batch = np.zeros((2, *shape), network.file.dtype)
    found = _tried(path, network, batch, made)
    if len(found) != 2 and network.file.batch is None:
        # Says any batch, and has 1 written into its reshapes.
        network.file = replace(network.file, batch=1)
        found = _tried(path, network, batch, made)
    if found.ndim != 2 or len(found) != 2 or found.shape[1] < 2:
        raise DataError(
            f"{path}: is no encoder: for two pictures its output {network.output!r} is "
            f"{' x '.join(map(str, found.shape))}, not 2 x d"
        )
    return int(found.shape[1])


def _tried(path: Path, network: Feed, batch: Any, made: Preprocessing) -> Floats:
    try:
        return network(batch)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except Exception as error:  # onnxruntime has a class of error for each state
        why = str(error).strip().split("\n")[0][:200]
        raise DataError(
            f"{path}: does not take {made.height} x {made.width} pictures ({why}): declare another "
            "size or layout"
        ) from error
