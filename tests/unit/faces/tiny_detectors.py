"""ONNX files that answer like detectors: whatever the picture, one face in one cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 64


def yunet(path: Path, *, drop: str | None = None, pad: int = 0) -> Path:
    """A YuNet of 64 x 64: a face of 32 pixels around (24, 24) from the cell (1, 1) of stride 16.
    ``drop`` leaves out an output; ``pad`` makes the outputs longer than the grid."""
    outputs = {}
    for stride in (8, 16, 32):
        count = (SIDE // stride) ** 2 + pad
        for kind, depth in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)):
            outputs[f"{kind}_{stride}"] = np.zeros((1, count, depth), np.float32)
    at = SIDE // 16 + 1
    outputs["cls_16"][0, at] = outputs["obj_16"][0, at] = 0.9
    outputs["bbox_16"][0, at] = [0.5, 0.5, np.log(2), np.log(2)]
    points = np.array([[16, 18], [32, 18], [24, 25], [18, 32], [30, 32]])
    outputs["kps_16"][0, at] = (points / 16 - 1).ravel()
    outputs.pop(drop or "", None)
    return constant(path, outputs)


def retinaface(path: Path) -> Path:
    """Outputs of 4, 2 and 10 numbers for each prior of 64 x 64: no face."""
    count = sum((SIDE // s) ** 2 * 2 for s in (8, 16, 32))
    chance = np.tile(np.float32([1, 0]), (1, count, 1))
    return constant(path, {
        "loc": np.zeros((1, count, 4), np.float32), "conf": chance,
        "landms": np.zeros((1, count, 10), np.float32),
    })  # fmt: skip


def scrfd(path: Path) -> Path:
    """Nine outputs, two anchors to a cell, fixed to 64 x 64: one face at the first anchor of the
    cell (1, 1) of stride 16, at (16, 16)."""
    outputs = {}
    for kind, depth in (("score", 1), ("bbox", 4), ("kps", 10)):
        for stride in (8, 16, 32):
            outputs[f"{kind}_{stride}"] = np.zeros(((SIDE // stride) ** 2 * 2, depth), np.float32)
    at = (SIDE // 16 + 1) * 2
    outputs["score_16"][at] = 0.8
    outputs["bbox_16"][at] = [0.5, 0.5, 1.5, 1.5]
    points = np.array([[16, 18], [32, 18], [24, 25], [18, 32], [30, 32]])
    outputs["kps_16"][at] = ((points - 16) / 16).ravel()
    return constant(path, outputs)


def constant(path: Path, outputs: dict[str, np.ndarray]) -> Path:
    """A network that reads its picture and answers the same to all: answer + 0 * mean."""
    nodes = [
        helper.make_node("ReduceMean", ["input"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "nought"], ["nothing"]),
    ]
    held = [numpy_helper.from_array(np.float32(0), "nought")]
    for name, value in outputs.items():
        held.append(numpy_helper.from_array(value, f"{name}_value"))
        nodes.append(helper.make_node("Add", [f"{name}_value", "nothing"], [name]))
    picture = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, SIDE, SIDE])
    told = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, list(value.shape))
        for name, value in outputs.items()
    ]
    graph = helper.make_graph(nodes, "tiny", [picture], told, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(path))
    return path


def swapper(path: Path, *, side: int = 128, dimension: int = 4, mapped: bool = True) -> Path:
    """A swap network: the picture's face made as bright as the other's vector says, and, as
    INSwapper has it, a square map at the end of the weights that no operation reads."""
    nodes = [
        helper.make_node("Slice", ["source", "from", "to", "axes"], ["first"]),
        helper.make_node("Reshape", ["first", "flat"], ["level"]),
        helper.make_node("Mul", ["target", "nought"], ["nothing"]),
        helper.make_node("Add", ["nothing", "level"], ["output"]),
    ]
    held = [
        numpy_helper.from_array(np.array([0]), "from"),
        numpy_helper.from_array(np.array([1]), "to"),
        numpy_helper.from_array(np.array([1]), "axes"),
        numpy_helper.from_array(np.array([1, 1, 1, 1]), "flat"),
        numpy_helper.from_array(np.float32(0), "nought"),
    ]
    if mapped:
        turned = np.roll(np.eye(dimension, dtype=np.float32), 1, axis=1)
        held.append(numpy_helper.from_array(turned, "emap"))
    inputs = [
        helper.make_tensor_value_info("target", TensorProto.FLOAT, [1, 3, side, side]),
        helper.make_tensor_value_info("source", TensorProto.FLOAT, [1, dimension]),
    ]
    out = helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 3, side, side])
    graph = helper.make_graph(nodes, "tiny", inputs, [out], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(path))
    return path
