"""A folder of rendered people with their faces, and two small networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from PIL import Image

from efface.data.rendered.world import rendered_faces

PEOPLE, EACH, SIZE = 7, 2, 128


def pictures(root: Path) -> tuple[Path, Path]:
    """A folder for each person, and the file of faces beside them all."""
    world = rendered_faces(PEOPLE, EACH, contexts=8, size=SIZE, pose=0.3, seed=4)
    names = []
    for k, picture in enumerate(world.pictures):
        name = f"Zoë {world.identity[k]}/{k % EACH} ü.png"
        (root / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(root / "in" / name, compress_level=1)
        names.append(name)
    faces = root / "faces.npz"
    np.savez(faces, name=np.array(names), box=world.boxes, landmarks=world.landmarks)
    return root / "in", faces


def network(path: Path, side: int = 64, field: int = 8) -> Path:
    """Means of square fields, less the middle grey."""
    shape = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, side, side])
    size = 3 * (side // field) ** 2
    out = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["n", size])
    nodes = [
        helper.make_node("AveragePool", ["image"], ["pool"], kernel_shape=[field] * 2,
                         strides=[field] * 2),
        helper.make_node("Flatten", ["pool"], ["vector"]),
    ]  # fmt: skip
    graph = helper.make_graph(nodes, "means", [shape], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    path.with_suffix(".toml").write_text('[preprocessing]\nnormalise = "half"\n')
    return path
