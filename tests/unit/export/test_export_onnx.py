"""The ONNX graph, alone and behind an encoder, does what the Python transform does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_worlds import KINDS, distances, eraser, erasers, removed_row, vectors
from hypothesis import given, settings

from efface.errors import ArtefactError, EffaceWarning, EraserError
from efface.export.onnx import KEY, append_to_encoder, onnx_model, save_onnx
from efface.export.tolerance import tolerance
from efface.protect.linear.eraser import LinearEraser

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
helper = onnx.helper
FLOAT, HALF, DOUBLE = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)


def session(model: Any) -> Any:
    blob = model if isinstance(model, str) else model.SerializeToString()
    return runtime.InferenceSession(blob, providers=["CPUExecutionProvider"])


def run(model: Any, x: np.ndarray) -> np.ndarray:
    one = session(model)
    return one.run(None, {one.get_inputs()[0].name: x})[0]


def said(model: Any) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


# --- alone --------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(erasers())
def test_equal_to_python_within_the_tolerance(one: LinearEraser) -> None:
    for dtype in (np.float32, np.float16):
        x = vectors(one, dtype=dtype)
        clean = run(onnx_model(one), x.astype(np.float32))
        assert clean.dtype == np.float32
        assert (distances(clean, one.transform(x)) <= tolerance(one, x)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_float32_inside_has_its_own_tolerance_and_a_warning(kind: str) -> None:
    one = eraser(kind)
    x = vectors(one)
    with pytest.warns(EffaceWarning, match="linear trace"):
        model = onnx_model(one, precision="float32")
    off = distances(run(model, x), one.transform(x))
    assert (off <= tolerance(one, x, inside="float32")).all()
    assert said(model)["efface.precision"] == "float32"
    assert "linear trace" in said(model)["efface.warning"]


def test_batches_of_any_size_names_and_digest(tmp_path: Path) -> None:
    one = eraser("oblique")
    save_onnx(onnx_model(one, input="face", output="safe"), tmp_path / "x.onnx")
    loaded = session(str(tmp_path / "x.onnx"))
    assert [i.name for i in loaded.get_inputs()] == ["face"]
    assert [o.name for o in loaded.get_outputs()] == ["safe"]
    for rows in (0, 1, 7):
        assert loaded.run(["safe"], {"face": vectors(one, rows)})[0].shape == (rows, one.dim)
    meta = loaded.get_modelmeta().custom_metadata_map
    assert meta[KEY] == one.digest()
    assert meta["efface.precision"] == "float64"
    assert "efface.warning" not in meta


def test_what_python_refuses_comes_out_as_nan_and_only_that() -> None:
    one = eraser()
    x = vectors(one, 4)
    x[0], x[1], x[2, 3] = 0, removed_row(one)[0], np.inf
    for row in (0, 1):
        with pytest.raises(EraserError):
            one.transform(x[row : row + 1])
    clean = run(onnx_model(one), x)
    assert list(np.isnan(clean).any(1)) == [True, True, True, False]


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(EraserError, match="neither"):
        onnx_model(eraser(), precision="float16")  # type: ignore[arg-type]


# --- behind an encoder --------------------------------------------------------------------------


def encoder(
    dim: int = 16,
    *,
    kind: int = FLOAT,
    opset: int = 13,
    ir: int = 7,
    shape: Any = ("n", 16),
    extra: bool = False,
    tensor: str = "embedding",
) -> Any:
    """Pictures of 6 numbers, a product, a ReLU; with ``extra`` the layer before is an output."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    weights = np.random.default_rng(4).standard_normal((6, dim)).astype(dtype)
    shift = np.full(dim, 0.25, dtype)
    nodes = [
        helper.make_node("MatMul", ["image", "w"], ["hidden"]),
        helper.make_node("Add", ["hidden", "shift"], [tensor]),
    ]
    outputs = [helper.make_tensor_value_info(tensor, kind, shape)]
    if extra:
        outputs.append(helper.make_tensor_value_info("hidden", kind, ["n", dim]))
    inputs = [helper.make_tensor_value_info("image", kind, ["n", 6])]
    constants = [onnx.numpy_helper.from_array(weights, "w")]
    constants += [onnx.numpy_helper.from_array(shift, "shift")]
    if ir < 4:
        inputs += [helper.make_tensor_value_info("w", kind, [6, dim])]
        inputs += [helper.make_tensor_value_info("shift", kind, [dim])]
    graph = helper.make_graph(nodes, "encoder", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def images(rows: int = 9, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(5).standard_normal((rows, 6)).astype(dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("opset", "ir"), [(9, 3), (11, 6), (13, 7), (17, 8), (21, 10)])
def test_the_encoder_gives_clean_vectors_only(kind: str, opset: int, ir: int) -> None:
    one, before = eraser(kind), encoder(opset=opset, ir=ir)
    after = append_to_encoder(before, one)
    raw = run(before, images())
    loaded = session(after)
    assert [o.name for o in loaded.get_outputs()] == ["clean"]
    assert loaded.get_outputs()[0].shape == ["n", 16]
    off = distances(run(after, images()), one.transform(raw))
    assert (off <= tolerance(one, raw)).all()
    assert said(after)[KEY] == one.digest()


@pytest.mark.parametrize(("kind", "dtype"), [(HALF, np.float16), (DOUBLE, np.float64)])
def test_the_type_of_the_encoder_is_kept(kind: int, dtype: Any) -> None:
    one, before = eraser(), encoder(kind=kind)
    raw = run(before, images(dtype=dtype))
    clean = run(append_to_encoder(before, one), images(dtype=dtype))
    assert clean.dtype == raw.dtype == dtype
    name = np.dtype(dtype).name
    assert (distances(clean, one.transform(raw)) <= tolerance(one, raw, out=name)).all()


def test_the_encoder_that_was_given_stays_as_it_is() -> None:
    before = encoder()
    blob = before.SerializeToString()
    append_to_encoder(before, eraser())
    assert before.SerializeToString() == blob


def test_several_outputs_need_the_name_and_the_others_go() -> None:
    before = encoder(extra=True)
    with pytest.raises(ArtefactError, match=r"name the embedding \(embedding, hidden\)"):
        append_to_encoder(before, eraser())
    after = append_to_encoder(before, eraser(), "embedding")
    assert [o.name for o in after.graph.output] == ["clean"]
    kept = append_to_encoder(before, eraser(), "embedding", keep=["hidden"])
    assert [o.name for o in kept.graph.output] == ["clean", "hidden"]
    with pytest.raises(ArtefactError, match="cannot be kept"):
        append_to_encoder(before, eraser(), "embedding", keep=["embedding"])
    with pytest.raises(ArtefactError, match="no output 'face': it has embedding, hidden"):
        append_to_encoder(before, eraser(), "face")


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (("n", 17), "has the shape"),
        (("n", 16, 1, 1), "flatten it first"),
        ((16,), "in the last place"),
    ],
)
def test_another_dimension_is_refused(shape: Any, words: str) -> None:
    with pytest.raises(ArtefactError, match=words):
        append_to_encoder(encoder(shape=shape), eraser())


def test_a_form_that_is_not_declared_is_inferred() -> None:
    with pytest.raises(ArtefactError, match=r"\['n', 17\]"):
        append_to_encoder(encoder(17, shape=None), eraser())
    assert run(append_to_encoder(encoder(shape=None), eraser()), images()).shape == (9, 16)
    assert run(append_to_encoder(encoder(shape=("n", "d")), eraser()), images()).shape == (9, 16)


def test_names_do_not_clash() -> None:
    one, before = eraser(), encoder(tensor="efface/basis")
    raw = run(before, images())
    clean = run(append_to_encoder(before, one), images())
    assert (distances(clean, one.transform(raw)) <= tolerance(one, raw)).all()
    with pytest.raises(ArtefactError, match="already has a tensor 'clean'"):
        append_to_encoder(encoder(tensor="clean"), one)
    assert append_to_encoder(encoder(tensor="clean"), one, name="safe").graph.output[0].name


def test_names_inside_branches_count() -> None:
    before = encoder()
    branch = helper.make_graph(
        [helper.make_node("Identity", ["hidden"], ["efface/wide"])],
        "branch",
        [],
        [helper.make_tensor_value_info("efface/wide", FLOAT, ["n", 16])],
    )
    yes = onnx.numpy_helper.from_array(np.array(True), "yes")
    before.graph.initializer.append(yes)
    before.graph.node.insert(
        1, helper.make_node("If", ["yes"], ["chosen"], then_branch=branch, else_branch=branch)
    )
    before.graph.node[2].input[0] = "chosen"
    assert run(append_to_encoder(before, eraser()), images()).shape == (9, 16)


def test_twice_is_refused() -> None:
    once = append_to_encoder(encoder(), eraser())
    with pytest.raises(ArtefactError, match="already has a projector"):
        append_to_encoder(once, eraser(), name="again")


def test_weights_in_another_file(tmp_path: Path) -> None:
    one, path = eraser(), tmp_path / "encoder.onnx"
    onnx.save(encoder(), path, save_as_external_data=True, location="weights", size_threshold=0)
    assert run(append_to_encoder(path, one), images()).shape == (9, 16)
    with pytest.raises(ArtefactError, match="in another file and not loaded"):
        append_to_encoder(onnx.load(path, load_external_data=False), one)
    (tmp_path / "weights").unlink()
    with pytest.raises(ArtefactError, match=r"encoder\.onnx: "):
        append_to_encoder(path, one)


@pytest.mark.parametrize("blob", [b"", b"no model at all", bytes(range(256))])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, blob: bytes) -> None:
    (tmp_path / "x.onnx").write_bytes(blob)
    with pytest.raises(ArtefactError, match=r"x\.onnx: is no ONNX model"):
        append_to_encoder(tmp_path / "x.onnx", eraser())
    with pytest.raises(ArtefactError, match=r"y\.onnx: cannot be read"):
        append_to_encoder(tmp_path / "y.onnx", eraser())


def test_an_old_opset_is_refused_with_the_way_out() -> None:
    with pytest.raises(ArtefactError, match="opset 8, at least 9"):
        append_to_encoder(encoder(opset=8, ir=3), eraser())


def test_whole_numbers_are_no_embedding() -> None:
    with pytest.raises(ArtefactError, match="no float tensor"):
        append_to_encoder(encoder(kind=onnx.TensorProto.INT32), eraser())


@pytest.mark.shared
def test_behind_a_real_encoder(shared: Path) -> None:
    path = shared / "models" / "efficientnet_lite0.onnx"
    if not path.is_file():
        pytest.skip(f"no {path.name}")
    one = eraser("oblique", dim=1280, rank=64)
    picture = np.random.default_rng(6).random((2, 3, 224, 224), dtype=np.float32)
    raw = run(str(path), picture)
    clean = run(append_to_encoder(path, one), picture)
    assert (distances(clean, one.transform(raw)) <= tolerance(one, raw)).all()
