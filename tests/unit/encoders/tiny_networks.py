"""Small networks of the kinds that encoders are, made on the spot from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DIM = 16


def onnx_encoder(
    path: Path,
    *,
    shape: Sequence[Any] = ("n", 3, 24, 24),
    start: Sequence[tuple[str, float | Sequence[float]]] = (),
    dim: int = DIM,
    dtype: int = TensorProto.FLOAT,
    tokens: int = 0,
    second: bool = False,
    metadata: dict[str, str] | None = None,
    nhwc: bool = False,
    external: str | None = None,
) -> Path:
    """Arithmetic (``start``), one strided convolution, ReLU, global mean, a product.

    ``tokens`` gives n x tokens x dim instead; ``second`` a second output; ``external`` puts the
    weights into another file.
    """
    rng = np.random.default_rng(7)
    nodes, held, name = [], [], "image"
    if dtype != TensorProto.FLOAT:
        nodes.append(helper.make_node("Cast", [name], ["float"], to=TensorProto.FLOAT))
        name = "float"
    for index, (kind, value) in enumerate(start):
        array = np.asarray(value, np.float32)
        held.append(numpy_helper.from_array(array.reshape(-1, 1, 1) if array.ndim else array,
                                            f"c{index}"))  # fmt: skip
        nodes.append(helper.make_node(kind, [name, f"c{index}"], [f"s{index}"]))
        name = f"s{index}"
    if nhwc:
        nodes.append(helper.make_node("Transpose", [name], ["nchw"], perm=[0, 3, 1, 2]))
        name = "nchw"
    channels = shape[-1] if nhwc else shape[1]
    kernel = rng.standard_normal((8, channels if channels == 1 else 3, 5, 5)).astype(np.float32)
    head = rng.standard_normal((8, dim)).astype(np.float32)
    held += [numpy_helper.from_array(kernel / 8, "kernel"), numpy_helper.from_array(head, "head"),
             numpy_helper.from_array(np.array([0, 8, -1]), "flat")]  # fmt: skip
    nodes += [
        helper.make_node("Conv", [name, "kernel"], ["conv"], strides=[4, 4], pads=[2, 2, 2, 2]),
        helper.make_node("Relu", ["conv"], ["relu"]),
    ]
    if tokens:
        nodes += [
            helper.make_node("Reshape", ["relu", "flat"], ["grid"]),
            helper.make_node("Transpose", ["grid"], ["tokens"], perm=[0, 2, 1]),
            helper.make_node("MatMul", ["tokens", "head"], ["vector"]),
        ]
    else:
        nodes += [
            helper.make_node("GlobalAveragePool", ["relu"], ["mean"]),
            helper.make_node("Flatten", ["mean"], ["flattened"]),
            helper.make_node("MatMul", ["flattened", "head"], ["vector"]),
        ]
    out = [shape[0], tokens, dim] if tokens else [shape[0], dim]
    outputs = [helper.make_tensor_value_info("vector", TensorProto.FLOAT, out)]
    if second:
        outputs.append(helper.make_tensor_value_info("relu", TensorProto.FLOAT, None))
    graph = helper.make_graph(
        nodes, "tiny", [helper.make_tensor_value_info("image", dtype, list(shape))], outputs, held
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata or {})
    onnx.save(model, str(path), save_as_external_data=external is not None, location=external,
              size_threshold=0)  # fmt: skip
    return path


def onnx_of(path: Path, inputs: Sequence[tuple[str, int, Sequence[Any]]], rank: int = 2) -> Path:
    """A network that is no encoder: it hands its first input on, or its maximum."""
    given = [helper.make_tensor_value_info(*one) for one in inputs]
    node = (
        helper.make_node("Identity", [inputs[0][0]], ["out"])
        if rank != 1
        else helper.make_node("ReduceMax", [inputs[0][0]], ["out"], axes=[1, 2, 3], keepdims=0)
    )
    outputs = [helper.make_tensor_value_info("out", inputs[0][1], None)]
    graph = helper.make_graph([node], "other", given, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


def torchscript_encoder(path: Path, dim: int = DIM) -> Path:
    """A convolution with a global mean, traced so that it takes any size."""
    import warnings

    import torch

    torch.manual_seed(7)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, stride=4), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, dim),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(net.eval()).save(str(path))
    return path


def pictures(count: int = 3, height: int = 24, width: int = 24, seed: int = 0) -> list[np.ndarray]:
    """Coarse colourful patterns."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (count, 6, 6, 3), np.uint8)
    rows, columns = np.arange(height) * 6 // height, np.arange(width) * 6 // width
    return list(coarse[:, rows][:, :, columns])
