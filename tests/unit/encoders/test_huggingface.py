"""CLIP, SigLIP and DINO: against the library's own processor and forward pass."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

from tiny_checkpoints import MODELS, PROCESSORS, save_model  # noqa: E402
from tiny_networks import pictures  # noqa: E402

from efface.encoders.fit import fitted  # noqa: E402
from efface.encoders.huggingface import HuggingFace  # noqa: E402
from efface.encoders.weights import file_digest  # noqa: E402
from efface.errors import ArtefactError, DataError  # noqa: E402


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("hub")
    return {family: save_model(root / family, family) for family in MODELS}


@pytest.fixture
def folder(saved: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the DINOv2 checkpoint to damage."""
    return Path(shutil.copytree(saved["dinov2"], tmp_path / "dinov2"))


def library_numbers(family: str, folder: Path, picture: np.ndarray) -> Any:
    """pixel_values as the library makes them."""
    processor = PROCESSORS[family]
    if not isinstance(processor, dict):
        loaded = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
        return loaded(picture, return_tensors="pt")["pixel_values"]
    # DINOv3's processor needs torchvision: rescale, resize floats with antialiasing, normalise.
    planes = torch.from_numpy(picture.transpose(2, 0, 1).copy())[None].float() / 255
    planes = torch.nn.functional.interpolate(planes, (32, 32), mode="bilinear", antialias=True)
    mean, std = (torch.tensor(processor[k])[:, None, None] for k in ("image_mean", "image_std"))
    return (planes - mean) / std


def library_vector(family: str, folder: Path, values: Any, pooling: str) -> np.ndarray:
    with torch.inference_mode():
        if family == "clip":
            model = transformers.CLIPModel.from_pretrained(folder).eval()
            out = model.get_image_features(pixel_values=values)
            return np.asarray(getattr(out, "pooler_output", out))
        kind = (
            "SiglipVisionModel"
            if family == "siglip"
            else type(MODELS[family](transformers)).__name__
        )
        model = getattr(transformers, kind).from_pretrained(folder).eval()
        out = model(pixel_values=values)
    patches = out.last_hidden_state[:, 1 + getattr(model.config, "num_register_tokens", 0) :]
    if family == "siglip":
        patches = out.last_hidden_state
    parts = {"pooler": [out.pooler_output], "cls": [out.last_hidden_state[:, 0]],
             "mean": [patches.mean(1)],
             "cls+mean": [out.last_hidden_state[:, 0], patches.mean(1)]}[pooling]  # fmt: skip
    return torch.cat(parts, 1).numpy()


CASES = [
    ("clip", "projection"), ("siglip", "pooler"), ("siglip", "mean"), ("dinov2", "cls"),
    ("dinov2", "mean"), ("dinov2", "cls+mean"), ("dinov2_with_registers", "mean"),
    ("dinov3_vit", "cls"), ("dinov3_vit", "mean"), ("dinov3_convnext", "pooler"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "pooling"), CASES)
def test_vectors_are_those_of_the_library(
    saved: dict[str, Path], family: str, pooling: str
) -> None:
    encoder = HuggingFace(str(saved[family]), pooling)
    wanted = encoder.facts.preprocessing
    for picture in pictures(2, 51, 70) + pictures(1, 20, 33):
        values = library_numbers(family, saved[family], picture)
        theirs = library_vector(family, saved[family], values, pooling)
        ours = encoder.encode([fitted(picture, wanted)])
        assert ours.shape == theirs.shape == (1, encoder.facts.dimension)
        assert np.abs(ours - theirs).max() < 2e-4 * np.abs(theirs).max()


@pytest.mark.parametrize("family", MODELS)
def test_facts_name_what_was_used(saved: dict[str, Path], family: str) -> None:
    facts = HuggingFace(str(saved[family])).facts
    assert facts.kind == "huggingface"
    assert facts.pooling == {
        "clip": "projection", "siglip": "pooler", "dinov3_convnext": "pooler",
    }.get(family, "cls")  # fmt: skip
    assert facts.weights == file_digest(saved[family] / "model.safetensors")
    assert facts.preprocessing.rounded is not family.startswith("dinov3")
    assert not facts.assumed


def test_the_old_form_of_a_configuration_is_read(folder: Path) -> None:
    file = folder / "preprocessor_config.json"
    new = HuggingFace(str(folder)).facts.preprocessing
    held = json.loads(file.read_text())
    held.update(size=36, crop_size=32, image_processor_type="BitImageProcessor")
    file.write_text(json.dumps(held))
    assert HuggingFace(str(folder)).facts.preprocessing == new
    file.rename(folder / "processor_config.json")
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": held}))
    assert HuggingFace(str(folder)).facts.preprocessing == new


def test_without_a_crop_the_shorter_side_is_all_that_is_fixed(folder: Path) -> None:
    file = folder / "preprocessor_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "do_center_crop": False}))
    encoder = HuggingFace(str(folder))
    assert encoder.facts.preprocessing.fit == "shorter"
    tall, wide = (fitted(p, encoder.facts.preprocessing) for p in
                  [pictures(1, 60, 40)[0], pictures(1, 40, 60)[0]])  # fmt: skip
    assert (tall.shape[1], wide.shape[0]) == (36, 36)
    assert encoder.encode([tall, wide, tall]).shape == (3, 32)


def test_what_is_in_the_hub_cache_is_found_by_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    cache = tmp_path / "cache"
    home = cache / "models--someone--tiny"
    shutil.copytree(folder, home / "snapshots" / "a" / "", dirs_exist_ok=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("a")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    facts = HuggingFace("someone/tiny").facts
    assert facts.weights == file_digest(folder / "model.safetensors")
    assert facts.source == "https://huggingface.co/someone/tiny"
    with pytest.raises(ArtefactError, match="hf download someone/other"):
        _ = HuggingFace("someone/other").facts


def test_weights_that_are_missing_are_not_drawn_by_lot(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    file = folder / "model.safetensors"
    weights = load_file(file)
    weights.pop("layernorm.weight")
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(ArtefactError, match=r"1 weights are missing .*layernorm\.weight"):
        _ = HuggingFace(str(folder)).facts


def test_pickles_are_not_read(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ArtefactError, match=r"only pytorch_model\.bin: get the safetensors"):
        _ = HuggingFace(str(folder)).facts


def damage(folder: Path, how: str) -> None:
    config, processor = folder / "config.json", folder / "preprocessor_config.json"
    held = json.loads(processor.read_text())
    if how == "kind":
        config.write_text(json.dumps({**json.loads(config.read_text()), "model_type": "dinov"}))
    elif how == "truncated":
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:5000])
    elif how == "no processor":
        processor.unlink()
    elif how == "other processor":
        processor.write_text(json.dumps({**held, "image_processor_type": "SamImageProcessor"}))
    elif how == "pads":
        processor.write_text(json.dumps({**held, "do_pad": True}))
    elif how == "longest":
        processor.write_text(json.dumps({**held, "size": {"longest_edge": 3}}))
    elif how == "no json":
        config.write_text("{")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("kind", "'dinov' checkpoint .*did you mean 'dinov2'"),
        ("truncated", "cannot be loaded"),
        ("no processor", r"holds no preprocessor_config\.json"),
        ("other processor", "no processor 'Sam'"),
        ("pads", "cannot be followed here .*it pads"),
        ("longest", "size has longest_edge"),
        ("no json", r"config\.json: cannot be read"),
    ],
)
def test_damage_is_named(folder: Path, how: str, says: str) -> None:
    damage(folder, how)
    with pytest.raises((ArtefactError, DataError), match=says):
        _ = HuggingFace(str(folder)).facts


def test_an_unknown_pooling_is_answered_with_those_there_are(saved: dict[str, Path]) -> None:
    with pytest.raises(DataError, match="DINOv2 has no pooling 'pooler'; it has cls, mean"):
        _ = HuggingFace(str(saved["dinov2"]), "pooler").facts
