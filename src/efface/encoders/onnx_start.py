"""Does an ONNX network normalise its input itself? Read from its first operations.

Many exports of face encoders begin with a subtraction and a multiplication. Normalised twice, a
picture becomes a grey field, and nothing in the output says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from efface.errors import DataError
from efface.extras import need
from efface.facts import Preprocessing

_ARITHMETIC = ("Add", "Sub", "Mul", "Div")
_TRANSPARENT = ("Identity", "Cast", "Transpose", "Dropout")
_NARROW, _WIDE = 0.5, 300.0
"""A trained network sees inputs that span about 2 (minus one to one), 5 (ImageNet's deviations) or,
in the manner of Caffe, 255; and zero is not far outside of them."""


@dataclass(frozen=True)
class Start:
    """slope * x + offset, the arithmetic before the first layer; identity where there is none."""

    slope: float = 1.0
    offset: float = 0.0

    @property
    def normalises(self) -> bool:
        return (self.slope, self.offset) != (1.0, 0.0)

    @property
    def wants(self) -> Literal["pixel", "unit"] | None:
        """0 to 255 or 0 to 1, whichever the network brings to a range it can have been trained on;
        None where both or neither would do."""
        fit = [name for name, top in (("pixel", 255.0), ("unit", 1.0)) if self._plausible(0, top)]
        if not self.normalises or len(fit) != 1:
            return None
        return "pixel" if fit == ["pixel"] else "unit"

    def check(self, place: Path | str, made: Preprocessing) -> None:
        """Refuse numbers that the network, which normalises again, would squeeze or blow up."""
        mean, std = sum(made.mean) / len(made.mean), sum(made.std) / len(made.std)
        low, high = -mean / std, (255 * made.scale - mean) / std
        if self.normalises and not self._plausible(low, high):
            wants = f": declare --normalise {self.wants}" if self.wants else ""
            raise DataError(
                f"{place}: normalises its input itself ({self.slope:.6g} x {self.offset:+.6g}); "
                f"after {made.formula} its first layer would see {self._line(low):.3g} to "
                f"{self._line(high):.3g}{wants}"
            )

    def _line(self, x: float) -> float:
        return self.slope * x + self.offset

    def _plausible(self, low: float, high: float) -> bool:
        one, two = sorted((self._line(low), self._line(high)))
        return _NARROW <= two - one <= _WIDE and abs(one + two) / 2 <= two - one


def read_start(graph: Any, taken: str) -> Start:
    """Follow the input through arithmetic with constants, up to the first layer."""
    known = _constants(graph)
    slope, offset, name = 1.0, 0.0, taken
    while True:
        takers = [node for node in graph.node if name in node.input]
        if len(takers) != 1:
            break
        node = takers[0]
        if node.op_type in _ARITHMETIC:
            step = _step(node, name, known)
            if step is None:
                break
            slope, offset = slope * step[0], offset * step[0] + step[1]
        elif node.op_type not in _TRANSPARENT:
            break
        name = node.output[0]
    return Start(slope, offset)


def _constants(graph: Any) -> dict[str, Any]:
    """Small constants by name: one number, or one per channel."""
    onnx = need("onnx", "onnx")
    held = {one.name: one for one in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            held[node.output[0]] = node.attribute[0].t
    small = {name: one for name, one in held.items() if np.prod(one.dims, initial=1) <= 3}
    return {
        name: onnx.numpy_helper.to_array(one)
        for name, one in small.items()
        if one.data_location != onnx.TensorProto.EXTERNAL
    }


def _step(node: Any, name: str, known: dict[str, Any]) -> tuple[float, float] | None:
    """Slope and offset of one operation, means over channels; None where nothing is constant."""
    if len(node.input) != 2 or name not in node.input:
        return None
    first = node.input[0] == name
    other = known.get(node.input[1 if first else 0])
    if other is None or not other.size:
        return None
    value = float(np.mean(other, dtype=np.float64))
    if node.op_type == "Mul":
        return value, 0.0
    if node.op_type == "Add":
        return 1.0, value
    if node.op_type == "Sub":
        return (1.0, -value) if first else (-1.0, value)
    return (1 / value, 0.0) if first and value else None
