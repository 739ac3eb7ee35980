"""What an ONNX file says of itself: input, outputs, layout, size and the numbers it wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from efface.encoders.onnx_start import Start, read_start
from efface.encoders.weights import existing
from efface.errors import DataError
from efface.extras import need

Shape = tuple[int | None, ...]
_FLOATS = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}
_PIXELS = {"tensor(uint8)": "uint8"}
_RANGES = {"NominalRange_0_255": "pixel", "Normalized_0_1": "unit", "Normalized_1_1": "half"}


@dataclass(frozen=True)
class Described:
    """One ONNX network as a taker of pictures. None where the file leaves it open."""

    input: str
    dtype: str
    layout: str | None
    channels: int | None
    size: tuple[int, int] | None
    batch: int | None
    outputs: Mapping[str, Shape]
    start: Start
    metadata: Mapping[str, str]

    def found(self) -> dict[str, Any]:
        """What the preprocessing can be told from, under the names of a declaration."""
        from efface.encoders.declared import NORMALISE

        told: dict[str, Any] = {"layout": self.layout, "size": self.size}
        if self.channels == 1:
            told["colour"] = "grey"
        else:
            # Names of the metadata that Windows ML reads: an exporter who sets them means them.
            order = self.metadata.get("Image.BitmapPixelFormat", "").lower()[:3]
            told["colour"] = {"rgb": "RGB", "bgr": "BGR"}.get(order)
        wants = _RANGES.get(self.metadata.get("Image.NominalPixelRange", ""))
        wants = "pixel" if self.dtype == "uint8" else wants or self.start.wants
        if wants:
            told["numbers"] = NORMALISE[wants]
        return told


def graph_of(path: Path) -> Any:
    """The graph without the weights that lie in other files."""
    onnx = need("onnx", "onnx")
    try:
        return onnx.load(str(path), load_external_data=False).graph
    except Exception as error:  # protobuf's own, and whatever a damaged file provokes
        raise DataError(f"{path}: is no ONNX file: check the path, or get a sound copy") from error


def weight_files(path: Path, graph: Any) -> list[Path]:
    """The file, and those beside it in which large networks keep their weights."""
    outside = need("onnx", "onnx").TensorProto.EXTERNAL
    external = (tensor for tensor in graph.initializer if tensor.data_location == outside)
    names = {e.value for tensor in external for e in tensor.external_data if e.key == "location"}
    return [path, *(existing(path.parent / name) for name in sorted(names))]


def opened(path: Path, threads: int | None = None) -> Any:
    """A session on the CPU; what is no ONNX network is refused."""
    runtime = need("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    # Threads that wait for work sleep: the cores are for those that decode the next pictures.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        return runtime.InferenceSession(
            str(path), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has a class of error for each state, all of Exception
        why = str(error).strip().split("\n")[0][:200]
        raise DataError(f"{path}: is no ONNX network that can run here ({why})") from error


def described(path: Path, session: Any, graph: Any) -> Described:
    """The file read as a taker of pictures, or the reason why it is none."""
    inputs = session.get_inputs()
    if len(inputs) != 1:
        names = ", ".join(one.name for one in inputs)
        raise DataError(f"{path}: is no encoder: it takes {len(inputs)} inputs ({names}), not one")
    taken = inputs[0]
    shape = tuple(side if isinstance(side, int) and side > 0 else None for side in taken.shape)
    dtype = (_FLOATS | _PIXELS).get(taken.type)
    if dtype is None:
        raise DataError(
            f"{path}: takes {taken.type}, not float or uint8 pictures: export the network before "
            "it was quantised, or with a float input"
        )
    if len(shape) != 4:
        raise DataError(
            f"{path}: is no encoder of pictures: its input {taken.name!r} has rank {len(shape)} "
            f"({_shown(taken.shape)}), not 4 (batch, channels, height, width)"
        )
    layout, channels, size = _layout(path, shape)
    return Described(
        input=taken.name, dtype=dtype, layout=layout, channels=channels, size=size,
        batch=shape[0], outputs=_outputs(session), start=read_start(graph, taken.name),
        metadata=dict(session.get_modelmeta().custom_metadata_map),
    )  # fmt: skip


def _layout(
    path: Path, shape: tuple[int | None, ...]
) -> tuple[str | None, int | None, tuple[int, int] | None]:
    """Layout, channels and size; the layout is open if both ends could be channels."""
    first, last = shape[1] in (1, 3), shape[3] in (1, 3)
    if not (first or last) and None not in (shape[1], shape[3]):
        raise DataError(
            f"{path}: is no encoder of pictures: neither axis 1 nor axis 3 of its input "
            f"{_shown(shape)} is of 1 or 3 channels"
        )
    if first == last:
        return None, None, None
    height, width = shape[2:] if first else shape[1:3]
    size = None if height is None or width is None else (height, width)
    return "NCHW" if first else "NHWC", shape[1] if first else shape[3], size


def choose_output(path: Path, file: Described, wanted: str | None) -> str:
    """The only output, or the one that was named."""
    names = list(file.outputs)
    listed = ", ".join(f"{name} {_shown(shape)}" for name, shape in file.outputs.items())
    if wanted is not None:
        if wanted not in names:
            raise DataError(f"{path}: has no output {wanted!r}; it has {listed}")
        return wanted
    if len(names) > 1:
        raise DataError(
            f"{path}: has {len(names)} outputs ({listed}): say with --output which is the vector; "
            "a detector, for example, has none"
        )
    return names[0]


def _outputs(session: Any) -> dict[str, Shape]:
    return {
        one.name: tuple(side if isinstance(side, int) else None for side in one.shape)
        for one in session.get_outputs()
    }


def _shown(shape: Any) -> str:
    return " x ".join("?" if side is None else str(side) for side in shape)
