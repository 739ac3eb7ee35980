"""Checkpoints of transformers' own architectures, tiny and with random weights, on the disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TRUNK = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2,
    "patch_size": 8, "image_size": 32,
}  # fmt: skip
_CROP = {"size": {"shortest_edge": 36}, "crop_size": {"height": 32, "width": 32}}


def save_model(folder: Path, family: str) -> Path:
    """A model with every weight drawn by lot, biases and scales too, and its processor's file."""
    import torch
    import transformers

    torch.manual_seed(3)
    model = MODELS[family](transformers)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.2)
    model.eval().save_pretrained(folder)
    processor = PROCESSORS[family]
    if isinstance(processor, dict):  # a processor that needs torchvision even to be made
        (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    else:
        processor(transformers).save_pretrained(folder)
    return folder


def _clip(lib: Any) -> Any:
    text = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
            "num_attention_heads": 1, "vocab_size": 50, "max_position_embeddings": 8}  # fmt: skip
    return lib.CLIPModel(
        lib.CLIPConfig(vision_config={**_TRUNK, "projection_dim": 24}, text_config=text,
                       projection_dim=24)
    )  # fmt: skip


def _siglip(lib: Any) -> Any:
    text = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
            "num_attention_heads": 1, "vocab_size": 50, "max_position_embeddings": 8}  # fmt: skip
    return lib.SiglipModel(lib.SiglipConfig(vision_config=_TRUNK, text_config=text))


MODELS: dict[str, Callable[[Any], Any]] = {
    "clip": _clip,
    "siglip": _siglip,
    "dinov2": lambda lib: lib.Dinov2Model(lib.Dinov2Config(**_TRUNK, mlp_ratio=2)),
    "dinov2_with_registers": lambda lib: lib.Dinov2WithRegistersModel(
        lib.Dinov2WithRegistersConfig(**_TRUNK, mlp_ratio=2, num_register_tokens=3)
    ),
    "dinov3_vit": lambda lib: lib.DINOv3ViTModel(
        lib.DINOv3ViTConfig(**_TRUNK, num_register_tokens=4)
    ),
    "dinov3_convnext": lambda lib: lib.DINOv3ConvNextModel(
        lib.DINOv3ConvNextConfig(hidden_sizes=[8, 12, 16, 24], depths=[1, 1, 1, 1], image_size=32)
    ),
}
_DINO3 = {"image_processor_type": "DINOv3ViTImageProcessorFast", "do_resize": True, "resample": 2,
          "size": {"height": 32, "width": 32}, "image_mean": [0.485, 0.456, 0.406],
          "image_std": [0.229, 0.224, 0.225], "rescale_factor": 1 / 255}  # fmt: skip
_DINO2 = {"resample": 3, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}

PROCESSORS: dict[str, Any] = {
    "clip": lambda lib: lib.CLIPImageProcessorPil(**_CROP),
    "siglip": lambda lib: lib.SiglipImageProcessorPil(size={"height": 32, "width": 32}),
    "dinov2": lambda lib: lib.BitImageProcessorPil(**_CROP, **_DINO2),
    "dinov2_with_registers": lambda lib: lib.BitImageProcessorPil(**_CROP, **_DINO2),
    "dinov3_vit": _DINO3,
    "dinov3_convnext": _DINO3,
}
