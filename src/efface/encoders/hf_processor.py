"""The preprocessing of a transformers checkpoint, read from its processor's configuration.

The pixels are worked on here, without the library's processor: that one needs torchvision, or
another code path of its own. What a configuration leaves out is the default of its processor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from efface.encoders.declared import NORMALISE
from efface.encoders.hf_families import Family
from efface.errors import ArtefactError, DataError
from efface.facts import Filter, Preprocessing
from efface.registry import nearest

_FILTERS: tuple[Filter, ...] = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
"""By Pillow's number, which is what a configuration holds."""
_IMAGENET, _HALF, _CLIP = (NORMALISE[name][1:] for name in ("imagenet", "half", "clip"))
_BASE = {
    "do_resize": True, "do_center_crop": False, "do_rescale": True, "rescale_factor": 1 / 255,
    "do_normalize": True, "do_pad": False,
}  # fmt: skip
_CROPPED = {"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224},
            "do_center_crop": True, "resample": 3}  # fmt: skip
_SQUARE = {"size": {"height": 224, "width": 224}}


def _defaults(mean_std: Any, **others: Any) -> dict[str, Any]:
    return {**_BASE, "image_mean": mean_std[0], "image_std": mean_std[1], **others}


PROCESSORS = {
    "CLIP": _defaults(_CLIP, **_CROPPED),
    "Siglip": _defaults(_HALF, **_SQUARE, resample=3),
    "Bit": _defaults(_CLIP, **_CROPPED),
    "ViT": _defaults(_HALF, **_SQUARE, resample=2),
    "DINOv3ViT": _defaults(_IMAGENET, **_SQUARE, resample=2),
}
"""Defaults by processor, as its class in transformers has them."""


def read_processor(folder: Path, family: Family) -> Preprocessing:
    """The preprocessing that comes with a checkpoint."""
    file, held = _configuration(folder)
    kind = str(held.get("image_processor_type") or held.get("feature_extractor_type") or "")
    for ending in ("Pil", "Fast", "ImageProcessor", "FeatureExtractor"):
        kind = kind.removesuffix(ending)
    if kind not in PROCESSORS:
        raise DataError(f"{file}: no processor {kind!r} is known{nearest(kind, list(PROCESSORS))}")
    said = {**PROCESSORS[kind], **{k: v for k, v in held.items() if v is not None}}
    try:
        return _preprocessing(said, rounded=kind != "DINOv3ViT")
    except (DataError, TypeError, ValueError, KeyError, IndexError) as error:
        raise DataError(
            f"{file}: its preprocessing cannot be followed here ({error}): export the network to "
            "ONNX and declare it there"
        ) from error


def _configuration(folder: Path) -> tuple[Path, Mapping[str, Any]]:
    """The processor's own file, or its part of the file that holds all of a model's processors."""
    for name in ("preprocessor_config.json", "processor_config.json"):
        file = folder / name
        if not file.is_file():
            continue
        try:
            held = json.loads(file.read_text(encoding="utf-8"))
            held = held.get("image_processor", held)
        except (OSError, ValueError, AttributeError) as error:
            raise ArtefactError(f"{file}: cannot be read ({error}): get a sound copy") from error
        if isinstance(held, dict):
            return file, held
    raise ArtefactError(
        f"{folder}: holds no preprocessor_config.json, which says what the network wants of a "
        "picture: get it from where the weights came from"
    )


def _preprocessing(said: Mapping[str, Any], rounded: bool) -> Preprocessing:
    if said["do_pad"] or not said["do_resize"]:
        raise DataError("it pads, or does not resize")
    scale = float(said["rescale_factor"]) if said["do_rescale"] else 1.0
    usual: Any = ((0.0,), (1.0,))
    mean, std = (said["image_mean"], said["image_std"]) if said["do_normalize"] else usual
    return Preprocessing(
        **_geometry(said), filter=_FILTERS[int(said["resample"])], rounded=rounded, scale=scale,
        mean=tuple(map(float, mean)), std=tuple(map(float, std)),
    )  # fmt: skip


def _geometry(said: Mapping[str, Any]) -> dict[str, Any]:
    size, crop = said["size"], said["crop_size"] if said["do_center_crop"] else None
    # Older files hold one number: the shorter side where a crop follows, else both.
    if isinstance(size, int):
        size = {"shortest_edge": size} if crop else {"height": size, "width": size}
    if isinstance(crop, int):
        crop = {"height": crop, "width": crop}
    if set(size) == {"height", "width"}:
        if crop not in (None, size):
            raise DataError("it resizes to one size and cuts another")
        return {"height": size["height"], "width": size["width"]}
    if set(size) != {"shortest_edge"}:
        raise DataError(f"size has {', '.join(size)}")
    shorter = size["shortest_edge"]
    if crop is None:
        return {"height": shorter, "width": shorter, "fit": "shorter", "shorter": shorter}
    return {"height": crop["height"], "width": crop["width"], "fit": "crop", "shorter": shorter}
