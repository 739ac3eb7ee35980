"""A fitted eraser as an ONNX graph, alone or behind an encoder, so that raw vectors never leave it.

The graph computes in float64 whatever comes in and goes out: a float32 product leaves a linear
trace of what is erased. A row that the Python transform refuses comes out as NaN: a graph cannot
refuse, and noise brought to unit length would look like a vector.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from efface._version import __version__
from efface.errors import ArtefactError, EffaceWarning, EraserError
from efface.export.files import PathLike, write_whole
from efface.export.onnx_nodes import Names, erasing_nodes
from efface.extras import need
from efface.protect.linear.eraser import LinearEraser

KEY = "efface.projector"
"""The entry of ``metadata_props`` that holds the projector's digest."""
OPSET, IR = 13, 7
OLDEST_OPSET, OLDEST_IR = 9, 4
_LARGEST = 2**31 - 1

Precision = Literal["float64", "float32"]


def onnx_model(
    eraser: LinearEraser,
    *,
    precision: Precision = "float64",
    input: str = "raw",
    output: str = "clean",
) -> Any:
    """A model with one input (n x d, float32) and one output of the same form, erased."""
    onnx = need("onnx", "onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes, constants = erasing_nodes(
        eraser, input, output, Names({input, output}), kind, _checked(precision)
    )
    graph = helper.make_graph(
        nodes,
        "efface",
        [helper.make_tensor_value_info(input, kind, ["n", eraser.dim])],
        [helper.make_tensor_value_info(output, kind, ["n", eraser.dim])],
        constants,
    )
    model = helper.make_model(
        graph,
        producer_name="efface",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
    )
    _describe(model, eraser, precision)
    onnx.checker.check_model(model, full_check=True)
    return model


def append_to_encoder(
    encoder: Any,
    eraser: LinearEraser,
    output: str | None = None,
    *,
    keep: Sequence[str] = (),
    name: str = "clean",
    precision: Precision = "float64",
) -> Any:
    """The encoder with the eraser behind its ``output``; the raw vectors are no output any more.

    ``encoder`` is a path or a ``ModelProto``, which stays as it is. Its other outputs go too, for
    they may hold the same, unless they are named in ``keep``. The new output is called ``name``,
    so nobody who asks for the old one takes raw vectors for clean ones.
    """
    onnx = need("onnx", "onnx")
    model = _load(onnx, encoder)
    _check_versions(model)
    raw = _raw_output(onnx, model, output, keep)
    _check_form(onnx, raw, eraser.dim)
    kept = [o for o in model.graph.output if o.name in keep]
    taken = _taken(model, name)
    kind = raw.type.tensor_type.elem_type
    nodes, constants = erasing_nodes(
        eraser, raw.name, name, Names(taken | {name}), kind, _checked(precision)
    )
    clean = onnx.ValueInfoProto()
    clean.CopyFrom(raw)
    clean.name = name
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(constants)
    del model.graph.output[:]
    model.graph.output.extend([clean, *kept])
    _describe(model, eraser, precision)
    _check_result(onnx, model)
    return model


def save_onnx(model: Any, path: PathLike) -> None:
    """Write a model as one file, whole or not at all."""
    if model.ByteSize() > _LARGEST:
        raise ArtefactError(
            f"{path}: the model has more than 2 GB, which one ONNX file cannot hold: save it with "
            "onnx.save(..., save_as_external_data=True)"
        )
    write_whole(path, model.SerializeToString())


def _checked(precision: str) -> str:
    if precision == "float32":
        warnings.warn(
            "a float32 graph leaves a linear trace of what it erases, near 1e-7, which a trained "
            "attacker can read: use float64 unless the runtime has none",
            EffaceWarning,
            stacklevel=3,
        )
    elif precision != "float64":
        raise EraserError(f"precision {precision!r} is neither 'float64' nor 'float32'")
    return precision


def _describe(model: Any, eraser: LinearEraser, precision: str) -> None:
    said = {
        KEY: eraser.digest(),
        "efface.method": eraser.method,
        "efface.rank": str(eraser.rank),
        "efface.precision": precision,
        "efface.version": __version__,
    }
    if precision == "float32":
        said["efface.warning"] = "computes in float32: leaves a linear trace of what is erased"
    for key, value in said.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value


# --- the encoder ----------------------------------------------------------------------------


def _load(onnx: Any, encoder: Any) -> Any:
    """A copy of the encoder with all of its weights in it."""
    if isinstance(encoder, onnx.ModelProto):
        model = onnx.ModelProto()
        model.CopyFrom(encoder)
        place = "the encoder"
    else:
        model, place = _read(onnx, Path(encoder)), str(encoder)
    external = onnx.TensorProto.EXTERNAL
    if any(tensor.data_location == external for tensor in model.graph.initializer):
        raise ArtefactError(
            f"{place}: its weights are in another file and not loaded: give the path of the "
            "model, or load it with onnx.load(path)"
        )
    if any(entry.key == KEY for entry in model.metadata_props):
        raise ArtefactError(f"{place}: already has a projector behind it: start from the encoder")
    return model


def _read(onnx: Any, path: Path) -> Any:
    broken = need("google.protobuf.message", "onnx").DecodeError
    try:
        model = onnx.load(str(path))
    except OSError as error:
        raise ArtefactError(
            f"{path}: cannot be read, or the file with its weights is not beside it "
            f"({error.strerror or error}): check the path"
        ) from error
    except (broken, onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        raise ArtefactError(f"{path}: is no ONNX model or is damaged ({_line(error)})") from error
    if not model.graph.output:
        raise ArtefactError(f"{path}: is no ONNX model: it has no output")
    return model


def _check_versions(model: Any) -> None:
    """The nodes are written in operators of opset 9, which later ones still know."""
    imports = {entry.domain: entry for entry in model.opset_import}
    default = imports.get("") or imports.get("ai.onnx")
    if default is None:
        default = model.opset_import.add()
        default.domain, default.version = "", OPSET
    if default.version < OLDEST_OPSET:
        raise ArtefactError(
            f"the encoder is of opset {default.version}, at least {OLDEST_OPSET} is needed: "
            "convert it with onnx.version_converter, or export it again"
        )
    # Before, constants had to be inputs as well.
    model.ir_version = max(model.ir_version, OLDEST_IR)


def _raw_output(onnx: Any, model: Any, output: str | None, keep: Sequence[str]) -> Any:
    """The output to erase, with its form as far as it is declared or can be inferred."""
    found = {o.name: o for o in model.graph.output}
    listed = ", ".join(found)
    if output is None and len(found) > 1:
        raise ArtefactError(f"the encoder has several outputs: name the embedding ({listed})")
    chosen = next(iter(found)) if output is None else output
    for wanted in (chosen, *keep):
        if wanted not in found:
            raise ArtefactError(f"the encoder has no output {wanted!r}: it has {listed}")
    if chosen in keep:
        raise ArtefactError(f"output {chosen!r} cannot be kept: it is what is erased")
    if found[chosen].type.tensor_type.HasField("shape"):
        return found[chosen]
    return _inferred(onnx, model, chosen)


def _inferred(onnx: Any, model: Any, name: str) -> Any:
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except (RuntimeError, ValueError, TypeError):  # too large, or operators nobody knows
        graph = model.graph
    return next(o for o in graph.output if o.name == name)


def _check_form(onnx: Any, raw: Any, dim: int) -> None:
    tensor = raw.type.tensor_type
    kinds = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE}
    if tensor.elem_type not in kinds:
        raise ArtefactError(
            f"output {raw.name!r} of the encoder is no float tensor: choose the one with the "
            "embedding, dequantised"
        )
    if not tensor.HasField("shape"):
        return  # the matrix product refuses another dimension when the model runs
    shape = [d.dim_value if d.HasField("dim_value") else (d.dim_param or "?")
             for d in tensor.shape.dim]  # fmt: skip
    last = shape[-1] if shape else 0
    if len(shape) < 2 or (isinstance(last, int) and last != dim):
        raise ArtefactError(
            f"output {raw.name!r} of the encoder has the shape {shape}, the projector is for "
            f"{dim} numbers in the last place: choose another output, or flatten it first"
        )


def _check_result(onnx: Any, model: Any) -> None:
    if model.ByteSize() > _LARGEST:
        return  # more than the checker takes
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise ArtefactError(f"the encoder is no valid ONNX model ({_line(error)})") from error


def _taken(model: Any, name: str) -> set[str]:
    taken = set(_all_names(model.graph))
    if name in taken:
        raise ArtefactError(
            f"the encoder already has a tensor {name!r}: give the clean output another name"
        )
    return taken


def _all_names(graph: Any) -> Iterator[str]:
    """Every name of a node or tensor, also inside the branches of the graph."""
    for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        yield value.name
    for sparse in graph.sparse_initializer:
        yield sparse.values.name
    for node in graph.node:
        yield from (node.name, *node.input, *node.output)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _all_names(inner)


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
