"""The PyTorch module does what the Python transform does, and stays in float64."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_worlds import KINDS, distances, eraser, erasers, removed_row, vectors
from hypothesis import given, settings

from efface.errors import EffaceWarning, EraserError
from efface.export.tolerance import tolerance
from efface.export.torch import save_torch, torch_module
from efface.protect.linear.eraser import LinearEraser

torch = pytest.importorskip("torch")
every_kind = pytest.mark.parametrize("kind", KINDS)


def run(module: Any, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return module(torch.from_numpy(x)).numpy()


@settings(max_examples=25)
@given(erasers())
def test_equal_to_python_within_the_tolerance(one: LinearEraser) -> None:
    for dtype in (np.float16, np.float32, np.float64):
        x = vectors(one, dtype=dtype)
        clean, name = run(torch_module(one), x), np.dtype(dtype).name
        assert clean.dtype == dtype
        assert (distances(clean, one.transform(x)) <= tolerance(one, x, out=name)).all()


@every_kind
def test_float32_inside_has_its_own_tolerance_and_a_warning(kind: str) -> None:
    one = eraser(kind)
    x = vectors(one)
    with pytest.warns(EffaceWarning, match="linear trace"):
        module = torch_module(one, precision="float32")
    assert module.basis.dtype == torch.float32
    off = distances(run(module, x), one.transform(x))
    assert (off <= tolerance(one, x, inside="float32")).all()


@every_kind
def test_half_of_a_whole_model_does_not_blunt_it(kind: str) -> None:
    one = eraser(kind)
    x = vectors(one)
    model = torch.nn.Sequential(torch.nn.Identity(), torch_module(one)).half().float().bfloat16()
    assert model[1].digest() == one.digest()
    assert np.array_equal(run(model, x), run(torch_module(one), x))
    assert model.to("meta")[1].basis.device.type == "meta"


def test_bfloat16_comes_out_as_bfloat16() -> None:
    x = torch.from_numpy(vectors(eraser())).to(torch.bfloat16)
    assert torch_module(eraser())(x).dtype == torch.bfloat16


def test_one_vector_and_more_axes_than_two() -> None:
    one = eraser()
    x = vectors(one, 12)
    clean = run(torch_module(one), x)
    assert np.array_equal(run(torch_module(one), x.reshape(3, 4, 16)).reshape(12, 16), clean)
    assert np.allclose(run(torch_module(one), x[0]), clean[0], atol=1e-7)


@every_kind
def test_gradients_flow_and_are_right(kind: str) -> None:
    module = torch_module(eraser(kind))
    x = torch.from_numpy(vectors(eraser(), 3, np.float64)).requires_grad_()
    assert torch.autograd.gradcheck(module, x)
    assert not list(module.parameters())


@every_kind
@pytest.mark.parametrize("normalise", [True, False])
def test_state_goes_through_a_file_without_pickle(
    tmp_path: Path, kind: str, normalise: bool
) -> None:
    from safetensors import safe_open
    from safetensors.torch import load_file

    one = eraser(kind, normalise=normalise)
    save_torch(torch_module(one), tmp_path / "x.safetensors")
    other = torch_module(eraser(kind, normalise=normalise, seed=9))
    other.load_state_dict(load_file(tmp_path / "x.safetensors"))
    assert other.digest() == one.digest()
    with safe_open(tmp_path / "x.safetensors", "numpy") as file:
        said = file.metadata()
    assert said["digest"] == one.digest()
    assert said["normalise"] == str(normalise).lower()


def test_what_python_refuses_comes_out_as_nan_and_only_that() -> None:
    one = eraser()
    x = vectors(one, 4)
    x[0], x[1], x[2, 3] = 0, removed_row(one)[0], np.inf
    assert list(np.isnan(run(torch_module(one), x)).any(1)) == [True, True, True, False]


def test_another_dimension_is_refused() -> None:
    with pytest.raises(EraserError, match="16-dimensional vectors, these have 17"):
        torch_module(eraser())(torch.zeros(2, 17))
    with pytest.raises(EraserError, match="neither"):
        torch_module(eraser(), precision="float16")  # type: ignore[arg-type]


def test_copies_and_speaks_for_itself() -> None:
    one = torch_module(eraser("oblique"))
    assert copy.deepcopy(one).digest() == one.digest()
    assert "dim=16, rank=5, normalise=True, inside=torch.float64" in repr(one)


def test_torch_is_loaded_only_when_a_module_is_asked_for() -> None:
    code = "import sys, efface.export.torch as m; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
