"""Face recognisers in the style of ArcFace: an ONNX file that takes faces aligned to 112 x 112.

Whether such a file wants red or blue first differs from one to the next, and both give vectors that
seem to work. So ``arcface`` has no default for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from efface.encoders.declared import Declared, Sheet
from efface.encoders.onnx import Onnx
from efface.errors import DataError
from efface.registry import register
from efface.results import Card

_ALIGNED = Sheet(alignment="arcface", preprocessing=Declared(size=112))


@register(
    Card(
        role="encoder",
        name="arcface",
        summary="Face recogniser as ONNX on aligned 112 x 112 faces; RGB or BGR must be said.",
        accepts="image",
        yields="embedding",
        needs="an ONNX file and its order of channels",
        paper="Deng et al., ArcFace: Additive angular margin loss, CVPR 2019",
        licence="the weights' own",
    )
)
@dataclass
class ArcFace(Onnx):
    """(x - 127.5) / 127.5 unless the network does that itself or another is declared."""

    usual: ClassVar[Declared] = Declared(normalise="half")

    def _sheet(self, path: Path) -> Sheet:
        said = super()._sheet(path).over(_ALIGNED)
        if (said.preprocessing.colour or self.usual.colour) is None:
            raise DataError(
                f"{path}: declare --colour RGB or --colour BGR: the file does not show it, and a "
                "wrong order gives vectors that look like any others; the encoder's page says which"
            )
        return said


@register(
    Card(
        role="encoder",
        name="adaface",
        summary="Face recogniser as ONNX on aligned 112 x 112 faces; BGR, as AdaFace is published.",
        accepts="image",
        yields="embedding",
        needs="an ONNX file",
        paper="Kim, Jain and Liu, AdaFace: Quality adaptive margin, CVPR 2022",
        licence="the weights' own",
    )
)
@dataclass
class AdaFace(ArcFace):
    """(x / 255 - 0.5) / 0.5, blue first."""

    usual: ClassVar[Declared] = Declared(normalise="half", colour="BGR")
