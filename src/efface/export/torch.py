"""A fitted eraser as a PyTorch module. PyTorch is imported when a module is asked for."""

from __future__ import annotations

import warnings
from typing import Any, Literal

from efface.errors import EffaceWarning, EraserError
from efface.export.files import PathLike, write_whole
from efface.extras import need
from efface.protect.linear.eraser import LinearEraser


def torch_module(
    eraser: LinearEraser, *, precision: Literal["float64", "float32"] = "float64"
) -> Any:
    """An ``nn.Module`` that maps (..., d) to (..., d) and keeps the type of its input.

    It computes in ``precision``, and goes on to after ``module.half()``. float32 is for devices
    without float64; it leaves a linear trace of what is erased, near 1e-7. A row that the Python
    transform refuses comes out as NaN, so that no batch waits for a check.
    """
    torch = need("torch", "torch")
    if precision not in ("float64", "float32"):
        raise EraserError(f"precision {precision!r} is neither 'float64' nor 'float32'")
    if precision == "float32":
        warnings.warn(
            "a float32 module leaves a linear trace of what it erases, near 1e-7, which a trained "
            "attacker can read: use float64 unless the device has none",
            EffaceWarning,
            stacklevel=2,
        )
    from efface.export.torch_module import Erase

    return Erase(eraser, getattr(torch, precision))


def save_torch(module: Any, path: PathLike) -> None:
    """Write the state of a module as safetensors, never as pickle.

    ``torch_module(eraser).load_state_dict`` takes it, and so does any module with these buffers.
    """
    save = need("safetensors.torch", "torch").save
    words = {"format": "efface.torch/1", "digest": module.digest()}
    words["normalise"] = "true" if module.normalise else "false"
    state = {name: tensor.contiguous() for name, tensor in module.state_dict().items()}
    write_whole(path, save(state, metadata=words))
