"""Encoders of Hugging Face's transformers, from a folder or from the user's own hub cache.

Nothing is fetched: a folder, or a name that is in the cache already. Only safetensors are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from efface.encoders.base import NetworkEncoder
from efface.encoders.declared import Sheet
from efface.encoders.hf_families import FAMILIES, Family
from efface.encoders.hf_processor import read_processor
from efface.encoders.numbers import Network
from efface.encoders.weights import digest, refuse_other
from efface.errors import ArtefactError, DataError
from efface.extras import need
from efface.facts import EncoderFacts
from efface.registry import nearest, register
from efface.results import Card
from efface.types import Floats


@register(
    Card(
        role="encoder",
        name="huggingface",
        summary="CLIP, SigLIP, DINOv2 or DINOv3 by transformers, from a folder or the hub cache.",
        accepts="image",
        yields="embedding",
        needs="a folder in transformers' format, with safetensors",
        paper="Wolf et al., Transformers: State-of-the-art natural language processing, 2020",
        licence="the weights' own",
    )
)
@dataclass
class HuggingFace(NetworkEncoder):
    """The vision part of a checkpoint; what makes one vector of it is ``pooling``."""

    path: str
    """A folder, or the name of a repository in the hub cache."""
    pooling: str | None = None
    declared: Sheet | None = None
    """Name, licence, source and digest, as a manifest has them; never a preprocessing."""
    batch: int = 16

    def _loaded(self) -> tuple[EncoderFacts, Network]:
        folder = _folder(self.path)
        config = _config(folder)
        family = _family(folder, config)
        pooling = self.pooling or family.poolings[0]
        if pooling not in family.poolings:
            known = ", ".join(family.poolings)
            raise DataError(f"{folder}: {family.name} has no pooling {pooling!r}; it has {known}")
        sheet = self.declared or Sheet()
        weights = digest(weight_files(folder))
        refuse_other(folder, weights, sheet.sha256)
        model = _model(folder, family)
        preprocessing = read_processor(folder, family)
        network = Tower(model, family, pooling)
        facts = EncoderFacts(
            name=sheet.name or Path(self.path).name, kind="huggingface", weights=weights,
            dimension=network.dimension(preprocessing), preprocessing=preprocessing,
            pooling=pooling, licence=sheet.licence,
            source=sheet.source or _source(self.path, config),
        )  # fmt: skip
        return facts, network


@dataclass
class Tower:
    """The vision part in evaluation mode, from a batch of numbers to vectors."""

    model: Any
    family: Family
    pooling: str

    def __call__(self, batch: Any) -> Floats:
        torch = need("torch", "huggingface")
        with torch.inference_mode():
            output = self.model(pixel_values=torch.from_numpy(batch))
        return self.family.vectors(output, self.model.config, self.pooling)

    def dimension(self, preprocessing: Any) -> int:
        planes = np.zeros((1, 3, preprocessing.height, preprocessing.width), np.float32)
        return int(self(planes).shape[1])


def _folder(path: str) -> Path:
    """The folder itself, or that of a repository in the hub cache; never from the network."""
    if Path(path).is_dir():
        return Path(path)
    hub = need("huggingface_hub", "huggingface")
    try:
        return Path(hub.snapshot_download(path, local_files_only=True))
    except Exception as error:  # the hub has an error of its own for each reason
        raise ArtefactError(
            f"{path}: is no folder, and not in the hub cache: fetch it with 'hf download {path}', "
            "or name a folder that holds config.json and model.safetensors"
        ) from error


def _config(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtefactError(
            f"{file}: cannot be read ({error}): name a checkpoint's folder"
        ) from error
    if not isinstance(found, dict):
        raise ArtefactError(f"{file}: is no configuration: get a sound copy")
    return found


def _family(folder: Path, config: dict[str, Any]) -> Family:
    kind = str(config.get("model_type"))
    if kind not in FAMILIES:
        raise DataError(
            f"{folder}: is a {kind!r} checkpoint{nearest(kind, list(FAMILIES))}: export another "
            "kind of network to ONNX and use it from there"
        )
    return FAMILIES[kind]


def weight_files(folder: Path) -> list[Path]:
    """The safetensors of a checkpoint. Older formats are pickles, which can run any code."""
    files = sorted(folder.glob("model*.safetensors"))
    if not files:
        old = ", ".join(sorted(p.name for p in folder.glob("*.bin")))
        raise ArtefactError(
            f"{folder}: holds no model.safetensors{f', only {old}' if old else ''}: get the "
            "safetensors of this checkpoint"
        )
    return files


def _model(folder: Path, family: Family) -> Any:
    """Every weight comes from the file: transformers would draw what is missing by lot."""
    transformers, torch = need("transformers", "huggingface"), need("torch", "huggingface")
    with _quietly(transformers):
        try:
            model, info = getattr(transformers, family.model).from_pretrained(
                str(folder), local_files_only=True, use_safetensors=True, dtype=torch.float32,
                output_loading_info=True,
            )  # fmt: skip
        except Exception as error:  # safetensors and torch have errors of their own
            why = str(error).strip().split("\n")[0][:200]
            raise ArtefactError(f"{folder}: cannot be loaded ({why}): get a sound copy") from error
    wrong = [*sorted(info["missing_keys"]), *sorted(map(str, info["mismatched_keys"]))]
    if wrong:
        raise ArtefactError(
            f"{folder}: {len(wrong)} weights are missing or of another shape ({wrong[0]} ...): get "
            "a sound copy of this checkpoint"
        )
    return model.eval()


@contextmanager
def _quietly(transformers: Any) -> Iterator[None]:
    """Without its progress bars and its report of the text part that is not used."""
    log = transformers.logging
    before, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity(log.CRITICAL)
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(before)
        if bars:
            log.enable_progress_bar()


def _source(path: str, config: dict[str, Any]) -> str:
    name = path if not Path(path).is_dir() else str(config.get("_name_or_path", ""))
    plausible = name.count("/") == 1 and not name.startswith((".", "/", "~"))
    return f"https://huggingface.co/{name}" if plausible else ""
