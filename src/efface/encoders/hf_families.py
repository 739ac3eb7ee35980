"""Which part of which transformers model gives a vector, and how: the poolings by family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from efface.encoders.pooling import tokens
from efface.types import Floats


@dataclass(frozen=True)
class Family:
    """A kind of checkpoint: its class in transformers, and what its outputs mean."""

    name: str
    model: str
    poolings: tuple[str, ...]
    """The first is the one that its authors use as the picture's vector."""
    special: Callable[[Any], int] = lambda config: 0
    """How many tokens before the patches: the class token and registers."""

    def vectors(self, output: Any, config: Any, pooling: str) -> Floats:
        """n x d from the model's output."""
        if pooling == "projection":
            return _array(output.image_embeds)
        if pooling == "pooler":
            return _array(output.pooler_output)
        return tokens(_array(output.last_hidden_state), pooling, self.special(config))


def _array(tensor: Any) -> Floats:
    return np.asarray(tensor.float().cpu().numpy())


def _registers(config: Any) -> int:
    return 1 + int(getattr(config, "num_register_tokens", 0))


_CLIP = Family("CLIP", "CLIPVisionModelWithProjection", ("projection",))
_SIGLIP = Family("SigLIP", "SiglipVisionModel", ("pooler", "mean"))
_TOKENS = ("cls", "mean", "cls+mean")

FAMILIES = {
    "clip": _CLIP,
    "clip_vision_model": _CLIP,
    "siglip": _SIGLIP,
    "siglip_vision_model": _SIGLIP,
    "dinov2": Family("DINOv2", "Dinov2Model", _TOKENS, _registers),
    "dinov2_with_registers": Family(
        "DINOv2 with registers", "Dinov2WithRegistersModel", _TOKENS, _registers
    ),
    "dinov3_vit": Family("DINOv3", "DINOv3ViTModel", _TOKENS, _registers),
    "dinov3_convnext": Family("DINOv3 ConvNeXt", "DINOv3ConvNextModel", ("pooler",)),
}
"""By ``model_type`` of a checkpoint's configuration."""
