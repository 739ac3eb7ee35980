"""A face detector in an ONNX file: YuNet, SCRFD or RetinaFace, told apart by their outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from efface.encoders.weights import digest, existing
from efface.errors import DataError
from efface.faces import decode
from efface.faces.face import Face, Pixels
from efface.faces.found import Candidates, suppressed
from efface.faces.network import read_model, session
from efface.faces.pictures import framed, picture_fault, placed

LONGEST = 640
"""Longer pictures are reduced to this first: these networks look for faces of some 10 to 300
pixels."""


@dataclass(frozen=True)
class Family:
    """How one family of detectors wants its pictures and how its outputs are read."""

    name: str
    decode: Callable[[Any, decode.Size, float], Candidates]
    least: float
    overlap: float
    multiple: int = 32
    colours: str = "BGR"
    mean: tuple[float, ...] = (0.0,)
    scale: float = 1.0
    named: bool = False
    """Whether outputs are known by name, or by their order and width."""
    any_size: bool = False
    """Whether the size that the file states is a leftover of its export, as YuNet's is."""


YUNET = Family("yunet", decode.yunet, 0.6, 0.3, named=True, any_size=True)
YUNET_2022 = Family("yunet-2022", decode.yunet_2022, 0.6, 0.3, multiple=64, named=True)
SCRFD = Family("scrfd", decode.scrfd, 0.5, 0.4, colours="RGB", mean=(127.5,), scale=1 / 128)
RETINAFACE = Family("retinaface", decode.retinaface, 0.5, 0.4, mean=(104.0, 117.0, 123.0))


@dataclass(frozen=True, eq=False)
class OnnxDetector:
    """Boxes, landmarks and scores from a network. Make it with :func:`open_detector`."""

    session: Any
    family: Family
    size: decode.Size | None
    """Height and width that the network insists on."""
    name: str
    digest: str
    """SHA-256 of the file."""
    least: float
    """Candidates that score lower are no faces."""
    longest: int = LONGEST

    def detect(self, pictures: Sequence[Pixels]) -> list[tuple[Face, ...]]:
        """The faces of each picture, best score first; none in what is no picture."""
        return [() if picture_fault(p) else self._search(p) for p in pictures]

    def _search(self, picture: Pixels) -> tuple[Face, ...]:
        if self.size is None:
            canvas, scale = framed(picture, (self.longest, self.longest), self.family.multiple)
        else:
            canvas, scale = framed(picture, self.size)
            canvas = placed(canvas, self.size)
        found = self.family.decode(self._outputs(canvas), canvas.shape[:2], self.least)
        return suppressed(found, self.family.overlap).faces(scale)

    def _outputs(self, canvas: Pixels) -> Any:
        colours = canvas if self.family.colours == "RGB" else canvas[..., ::-1]
        mean = np.array(self.family.mean, np.float32)
        numbers = (colours.astype(np.float32) - mean) * np.float32(self.family.scale)
        batch = np.ascontiguousarray(numbers.transpose(2, 0, 1))[None]
        out = self.session.run(None, {self.session.get_inputs()[0].name: batch})
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, out, strict=True)) if self.family.named else out


def open_detector(
    path: str | Path,
    *,
    least: float | None = None,
    longest: int = LONGEST,
    threads: int | None = None,
) -> OnnxDetector:
    """The detector in a file. ``least`` is the lowest score of a face; by default the family's."""
    file = existing(path)
    model = read_model(file)
    family = _recognised(model.graph)
    if family is None:
        names = ", ".join(output.name for output in model.graph.output)
        raise DataError(
            f"{file}: is no detector known here, its outputs are {names}: give a YuNet, SCRFD or "
            "RetinaFace with landmarks"
        )
    relaxed = _relaxed(model).SerializeToString() if family.any_size else None
    network = session(file, relaxed, threads)
    least = family.least if least is None else least
    size = _fixed_size(network)
    made = OnnxDetector(network, family, size, file.stem, digest([file]), least, longest)
    _try(made, file)
    return made


def _recognised(graph: Any) -> Family | None:
    """YuNets by the names of their outputs; SCRFD by three outputs for each of three or five
    strides; RetinaFace by outputs of 4, 2 and 10 numbers."""
    names = {output.name for output in graph.output}
    if {f"{kind}_{stride}" for kind in ("cls", "obj", "bbox", "kps") for stride in (8, 16, 32)} <= (
        names
    ):
        return YUNET
    if names == {"loc", "conf", "iou"}:
        return YUNET_2022
    if len(names) in (9, 15):
        return SCRFD
    widths = [list(output.type.tensor_type.shape.dim)[-1:] for output in graph.output]
    return RETINAFACE if sorted(d[0].dim_value for d in widths if d) == [2, 4, 10] else None


def _relaxed(model: Any) -> Any:
    """The model for pictures of any size; OpenCV runs the same file in the same way."""
    for axis in (2, 3):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"side_{axis}"
    for output in model.graph.output:
        output.type.tensor_type.shape.dim[1].dim_param = f"cells_{output.name}"
    del model.graph.value_info[:]
    return model


def _fixed_size(network: Any) -> decode.Size | None:
    sides = tuple(network.get_inputs()[0].shape[2:])
    return (sides[0], sides[1]) if all(isinstance(side, int) for side in sides) else None


def _try(made: OnnxDetector, file: Path) -> None:
    """One black picture: whatever does not fit together shows here, not among the user's."""
    side = 2 * made.family.multiple
    try:
        made.detect([np.zeros((side, side, 3), np.uint8)])
    except Exception as error:  # the runtime's and NumPy's own, about shapes
        why = str(error).strip().split("\n")[0][:200]
        raise DataError(
            f"{file}: looks like a {made.family.name} and does not answer like one ({why}): "
            "give the network as it is published"
        ) from error
