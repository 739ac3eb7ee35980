"""The nodes of the erasing graph, in operators that have not changed since opset 9."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.export.tolerance import residue
from efface.extras import need
from efface.protect.linear.eraser import LinearEraser


class Names:
    """Names that nothing in the graph has yet."""

    def __init__(self, taken: set[str]) -> None:
        self._prefix = "efface/"
        while any(name.startswith(self._prefix) for name in taken):
            self._prefix = f"_{self._prefix}"

    def __call__(self, name: str) -> str:
        return self._prefix + name


def erasing_nodes(
    eraser: LinearEraser, raw: str, clean: str, names: Names, kind: int, precision: str
) -> tuple[list[Any], list[Any]]:
    """Nodes and constants from tensor ``raw`` to tensor ``clean``, both of type ``kind``."""
    build = _Graph(names, np.dtype(precision))
    dtype = build.onnx.helper.tensor_dtype_to_np_dtype(kind)
    x = build.cast(raw, build.kind, "wide")
    if eraser.normalise:
        x = build.node("Div", [x, build.lengths(x, eraser.dim, "length")], "unit")
    y = _erase(build, eraser, x)
    if eraser.normalise:
        left = build.lengths(y, eraser.dim, "left")
        enough = build.node("Greater", [left, build.constant("least", residue(dtype))], "enough")
        # What is left of a refused row is rounding: NaN says so.
        sound = build.node("Where", [enough, left, build.constant("nothing", np.nan)], "sound")
        y = build.node("Div", [y, sound], "whole")
    build.cast(y, kind, "ship", clean)
    return build.nodes, build.constants


def _erase(build: _Graph, eraser: LinearEraser, x: str) -> str:
    dual = eraser.basis if eraser.dual is None else eraser.dual
    found = build.node("MatMul", [x, build.constant("dual", dual)], "found")
    if eraser.mean is not None:
        mean = build.constant("mean", eraser.mean @ dual)
        found = build.node("Sub", [found, mean], "centred")
    removed = build.node("MatMul", [found, build.constant("basis", eraser.basis.T)], "removed")
    return build.node("Sub", [x, removed], "erased")


class _Graph:
    """Nodes and constants under construction."""

    def __init__(self, names: Names, dtype: np.dtype[Any]) -> None:
        self.onnx = need("onnx", "onnx")
        self.names, self.dtype = names, dtype
        self.kind: int = self.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(value, self.dtype)
        if np.ndim(value) == 0:
            array = array.reshape(())
        self.constants.append(self.onnx.numpy_helper.from_array(array, self.names(name)))
        return self.names(name)

    def node(self, op: str, inputs: list[str], name: str, output: str = "", **more: Any) -> str:
        made = output or self.names(name)
        helper = self.onnx.helper
        self.nodes.append(helper.make_node(op, inputs, [made], name=self.names(name), **more))
        return made

    def cast(self, tensor: str, kind: int, name: str, output: str = "") -> str:
        return self.node("Cast", [tensor], name, output, to=kind)

    def lengths(self, x: str, dim: int, name: str) -> str:
        """A product with ones adds up the squares: ReduceSum changed its form between opsets."""
        ones = self.names("ones")
        if all(ones != known.name for known in self.constants):
            self.constant("ones", np.ones((dim, 1)))
        squares = self.node("Mul", [x, x], f"{name}/squares")
        total = self.node("MatMul", [squares, ones], f"{name}/sum")
        return self.node("Sqrt", [total], name)
