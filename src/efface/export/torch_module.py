"""The module itself, in a file of its own: it needs PyTorch as soon as it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from efface.errors import EraserError
from efface.protect.linear.eraser import LinearEraser


class Erase(nn.Module):
    """x -> x - A B'(x - mean), with unit length before and after where the eraser has it."""

    basis: Tensor
    dual: Tensor | None
    mean: Tensor | None

    def __init__(self, eraser: LinearEraser, dtype: torch.dtype) -> None:
        super().__init__()
        self.normalise = eraser.normalise
        for name in ("basis", "dual", "mean"):
            value = getattr(eraser, name)
            self.register_buffer(name, None if value is None else torch.tensor(value, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] != self.basis.shape[0]:
            raise EraserError(
                f"the projector was fitted on {self.basis.shape[0]}-dimensional vectors, "
                f"these have {x.shape[-1]}"
            )
        ship = x.dtype if x.is_floating_point() else torch.float32
        wide = x.to(self.basis.dtype)
        if not self.normalise:
            return self._erase(wide).to(ship)
        clean = self._erase(wide / _lengths(wide))
        left = _lengths(clean)
        return (clean / left.where(left > 8 * torch.finfo(ship).eps, torch.nan)).to(ship)

    def _erase(self, x: Tensor) -> Tensor:
        dual = self.basis if self.dual is None else self.dual
        found = x @ dual
        if self.mean is not None:
            found = found - self.mean @ dual
        return x - found @ self.basis.T

    def digest(self) -> str:
        """That of the eraser whose map these buffers hold."""
        return LinearEraser(
            _array(self.basis),
            None if self.dual is None else _array(self.dual),
            None if self.mean is None else _array(self.mean),
            self.normalise,
        ).digest()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Move, but never round: ``half()`` on a model around this must not blunt the eraser."""
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = buffer.to(fn(buffer.new_empty(0)).device)
        return self

    def extra_repr(self) -> str:
        dim, rank = self.basis.shape
        return f"dim={dim}, rank={rank}, normalise={self.normalise}, inside={self.basis.dtype}"


def _lengths(x: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return lengths


def _array(x: Tensor) -> NDArray[np.float64]:
    return np.asarray(x.detach().cpu().to(torch.float64).numpy())
