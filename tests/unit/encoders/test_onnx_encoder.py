"""An ONNX file is read for what it shows, refused where it is no encoder, and run as declared."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from tiny_networks import DIM, onnx_encoder, onnx_of, pictures

from efface.encoders.declared import Declared, Sheet
from efface.encoders.onnx import Onnx
from efface.encoders.onnx_start import Start
from efface.errors import ArtefactError, DataError


def encoder(path: Path, output: str | None = None, pooling: Any = None, **said: Any) -> Onnx:
    said = {"normalise": "imagenet", **said}
    if said["normalise"] is None:
        del said["normalise"]
    return Onnx(str(path), Sheet(output=output, pooling=pooling, preprocessing=Declared(**said)))


def test_vectors_are_those_of_the_bare_runtime(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "e.onnx")
    images = pictures(5)
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    x = ((np.stack(images) / 255 - mean) / std).transpose(0, 3, 1, 2).astype(np.float32)
    theirs = onnxruntime.InferenceSession(str(path)).run(None, {"image": x})[0]
    ours = encoder(path).encode(images)
    assert np.abs(ours - theirs).max() < 1e-5
    assert np.abs(theirs).max() > 0.1


def test_facts_are_read_from_the_file_and_what_is_left_is_said_to_be_assumed(
    tmp_path: Path,
) -> None:
    path = onnx_encoder(tmp_path / "e.onnx")
    facts = encoder(path).facts
    assert (facts.name, facts.kind, facts.dimension) == ("e", "onnx", DIM)
    assert facts.weights == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (facts.preprocessing.height, facts.preprocessing.layout) == (24, "NCHW")
    assert facts.assumed == ["colour RGB", "filter bilinear", "fit squash"]
    said = encoder(path, colour="BGR", filter="area", fit="squash", layout="NCHW").facts
    assert said.assumed == []


def test_numbers_are_never_assumed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"declare --normalise \(imagenet, clip"):
        _ = encoder(onnx_encoder(tmp_path / "e.onnx"), normalise=None).facts


@pytest.mark.parametrize(
    ("start", "wants", "scale"),
    [
        ([("Sub", 127.5), ("Mul", 1 / 128)], "pixel", 1.0),
        ([("Div", 255.0), ("Sub", [0.485, 0.456, 0.406]), ("Div", [0.229, 0.224, 0.225])],
         "pixel", 1.0),
        ([("Sub", 0.5), ("Div", 0.5)], "unit", 1 / 255),
        ([("Mul", 2.0), ("Add", -1.0)], "unit", 1 / 255),
    ],
)  # fmt: skip
def test_a_network_that_normalises_itself_is_found_out(
    tmp_path: Path, start: Any, wants: str, scale: float
) -> None:
    path = onnx_encoder(tmp_path / "e.onnx", start=start)
    facts = encoder(path, normalise=None).facts
    assert facts.preprocessing.scale == scale
    assert not any("normalise" in one for one in facts.assumed)
    plain = onnx_encoder(tmp_path / "plain.onnx")
    slope = facts.preprocessing.scale
    said = {"normalise": None, "scale": slope, "mean": (0.0,), "std": (1.0,)}
    for kind, value in start:  # the same arithmetic, declared for the network without it
        value = np.atleast_1d(value)
        mean, std = np.atleast_1d(said["mean"]), np.atleast_1d(said["std"])
        if kind in ("Sub", "Add"):
            mean = mean + (value if kind == "Sub" else -value) * std
        else:
            std = std * (value if kind == "Div" else 1 / value)
        said |= {"mean": tuple(np.broadcast_to(mean, 3).tolist()),
                 "std": tuple(np.broadcast_to(std, 3).tolist())}  # fmt: skip
    declared = encoder(plain, **said).encode(pictures())
    assert np.allclose(encoder(path, normalise=None).encode(pictures()), declared, atol=1e-4)


def test_normalising_twice_is_refused(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "e.onnx", start=[("Sub", 127.5), ("Mul", 1 / 128)])
    with pytest.raises(DataError, match=r"normalises its input itself.*--normalise pixel"):
        _ = encoder(path, normalise="imagenet").facts


def test_a_shift_alone_does_not_tell_the_range() -> None:
    assert Start(1.0, -0.5).wants is None
    assert Start().wants is None
    assert Start(1 / 255, 0.0).wants == "pixel"
    assert Start(1.0, -127.5).wants == "pixel"


def test_metadata_of_the_exporter_is_believed(tmp_path: Path) -> None:
    held = {"Image.BitmapPixelFormat": "Bgr8", "Image.NominalPixelRange": "NominalRange_0_255"}
    facts = encoder(onnx_encoder(tmp_path / "e.onnx", metadata=held), normalise=None).facts
    assert (facts.preprocessing.colour, facts.preprocessing.scale) == ("BGR", 1.0)


def test_channels_last_and_uint8_and_half_precision(tmp_path: Path) -> None:
    images = pictures()
    plain = encoder(onnx_encoder(tmp_path / "a.onnx"), normalise="pixel").encode(images)
    for name, changes in {
        "last": {"shape": ("n", 24, 24, 3), "nhwc": True},
        "uint8": {"dtype": TensorProto.UINT8},
        "both": {"shape": ("n", 24, 24, 3), "nhwc": True, "dtype": TensorProto.UINT8},
    }.items():
        other = encoder(onnx_encoder(tmp_path / f"{name}.onnx", **changes), normalise="pixel")
        assert np.allclose(other.encode(images), plain, rtol=1e-5), name
    half = encoder(onnx_encoder(tmp_path / "half.onnx", dtype=TensorProto.FLOAT16))
    full = encoder(onnx_encoder(tmp_path / "full.onnx"))
    assert np.allclose(half.encode(images), full.encode(images), atol=5e-3)


def test_one_channel_means_grey(tmp_path: Path) -> None:
    facts = encoder(
        onnx_encoder(tmp_path / "g.onnx", shape=("n", 1, 24, 24)), normalise="half"
    ).facts
    assert facts.preprocessing.colour == "grey"


@pytest.mark.parametrize("batch", [1, 4])
def test_a_fixed_batch_is_filled(tmp_path: Path, batch: int) -> None:
    images = pictures(7)
    free = encoder(onnx_encoder(tmp_path / "free.onnx")).encode(images)
    fixed = encoder(onnx_encoder(tmp_path / "b.onnx", shape=(batch, 3, 24, 24))).encode(images)
    assert np.allclose(fixed, free, atol=1e-6)


def test_tokens_need_a_pooling(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "t.onnx", tokens=36)
    with pytest.raises(DataError, match=r"tokens .*declare --pooling"):
        _ = encoder(path).facts
    cls, mean, both = (encoder(path, pooling=p) for p in ("cls", "mean", "cls+mean"))
    found = both.encode(pictures())
    assert both.facts.dimension == 2 * DIM
    assert np.allclose(found, np.hstack([cls.encode(pictures()), mean.encode(pictures())]))
    with pytest.raises(DataError, match="one vector already: leave --pooling mean out"):
        _ = encoder(onnx_encoder(tmp_path / "v.onnx"), pooling="mean").facts


def test_of_several_outputs_one_is_named(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "two.onnx", second=True)
    with pytest.raises(DataError, match=r"has 2 outputs \(vector .*, relu.*--output"):
        _ = encoder(path).facts
    with pytest.raises(DataError, match="no output 'vektor'; it has vector"):
        _ = encoder(path, output="vektor").facts
    assert encoder(path, output="vector").facts.dimension == DIM


def test_any_size_needs_a_declared_one(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "any.onnx", shape=("n", 3, "h", "w"))
    with pytest.raises(DataError, match="pictures of any size: declare"):
        _ = encoder(path).facts
    assert encoder(path, size=(32, 48)).encode(pictures(2, 32, 48)).shape == (2, DIM)
    fixed = onnx_encoder(tmp_path / "fixed.onnx")
    with pytest.raises(DataError, match="takes 24 x 24 pictures, declared are 32 x 32"):
        _ = encoder(fixed, size=32).facts


@pytest.mark.parametrize(
    ("inputs", "rank", "says"),
    [
        ([("a", TensorProto.FLOAT, ["n", 3, 8, 8]), ("b", TensorProto.FLOAT, [1])], 2,
         r"takes 2 inputs \(a, b\)"),
        ([("a", TensorProto.INT8, ["n", 3, 8, 8])], 2, r"takes tensor\(int8\), not float or uint8"),
        ([("a", TensorProto.INT64, ["n", 7])], 2, r"takes tensor\(int64\)"),
        ([("a", TensorProto.FLOAT, ["n", 3, 8])], 2, r"has rank 3 \(n x 3 x 8\), not 4"),
        ([("a", TensorProto.FLOAT, ["n", 8, 8, 5])], 2, "neither axis 1 nor axis 3"),
        ([("a", TensorProto.FLOAT, ["n", 3, 8, 8])], 1, "2, neither vectors, tokens nor a map"),
        ([("a", TensorProto.FLOAT, ["n", 3, 8, 8])], 2, "a map .*--pooling mean"),
    ],
)  # fmt: skip
def test_what_is_no_encoder_is_refused(tmp_path: Path, inputs: Any, rank: int, says: str) -> None:
    with pytest.raises(DataError, match=says):
        _ = encoder(onnx_of(tmp_path / "x.onnx", inputs, rank)).facts


def test_one_number_for_all_pictures_is_no_encoder(tmp_path: Path) -> None:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node("ReduceMean", ["x"], ["y"], keepdims=0)
    graph = helper.make_graph([node], "g", [given], [out])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "n.onnx")
    with pytest.raises(DataError, match="output is without axes, a single number for all"):
        _ = encoder(tmp_path / "n.onnx").facts


def test_the_other_weights_are_refused(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "e.onnx")
    sheet = Sheet(sha256="0" * 64, preprocessing=Declared(normalise="half"))
    with pytest.raises(ArtefactError, match=f"SHA-256 .*declared is {'0' * 64}"):
        _ = Onnx(str(path), sheet).facts


def test_weights_in_other_files_belong_to_the_digest(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "e.onnx", external="e.data")
    before = encoder(path).facts.weights
    lines = "".join(
        f"{hashlib.sha256((tmp_path / n).read_bytes()).hexdigest()}  {n}\n"
        for n in ("e.data", "e.onnx")
    )
    assert before == hashlib.sha256(lines.encode()).hexdigest()
    held = bytearray((tmp_path / "e.data").read_bytes())
    held[0] ^= 1
    (tmp_path / "e.data").write_bytes(held)
    assert encoder(path).facts.weights != before
    (tmp_path / "e.data").unlink()
    with pytest.raises(ArtefactError, match=r"e\.data: no such file"):
        _ = encoder(path).facts


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("e.onnx", b"", "the file is empty"),
        ("e.onnx", b"not a network", "is no ONNX file|is no ONNX network"),
        ("missing", None, "no such file"),
        ("n" * 300, None, "cannot be read"),
        (".", None, "no such file"),
    ],
)
def test_what_is_no_file_of_weights(tmp_path: Path, name: str, content: Any, says: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((ArtefactError, DataError), match=says):
        _ = encoder(tmp_path / name).facts


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "e.onnx")
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(DataError, match=r"e\.onnx: is no ONNX"):
        _ = encoder(path).facts


def test_pickled_it_loads_again(tmp_path: Path) -> None:
    one = encoder(onnx_encoder(tmp_path / "e.onnx"))
    before = one.encode(pictures())
    assert np.array_equal(pickle.loads(pickle.dumps(one)).encode(pictures()), before)


def test_an_unfitted_picture_names_its_size(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="picture 1 is 24 x 25, the encoder takes 24 x 24"):
        encoder(onnx_encoder(tmp_path / "e.onnx")).encode([*pictures(1), *pictures(1, 24, 25)])
