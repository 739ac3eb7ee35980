"""Opening the ONNX files of this package: detectors and swap networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from efface.encoders.weights import existing
from efface.errors import DataError
from efface.extras import need


def read_model(path: str | Path) -> Any:
    """The ONNX model in a file, or a DataError that says it is none."""
    file = existing(path)
    onnx = need("onnx", "onnx")
    try:
        return onnx.load(str(file))
    except Exception as error:  # protobuf's own, and whatever a damaged file provokes
        raise DataError(f"{file}: is no ONNX file: check the path, or get a sound copy") from error


def session(path: str | Path, model: bytes | None = None, threads: int | None = None) -> Any:
    """A session on the CPU for the file, or for the model that was made of it."""
    runtime = need("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        return runtime.InferenceSession(
            str(path) if model is None else model, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has a class of error for each state, all of Exception
        why = str(error).strip().split("\n")[0][:200]
        raise DataError(f"{path}: is no ONNX network that can run here ({why})") from error
