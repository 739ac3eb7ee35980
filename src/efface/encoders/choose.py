"""``--encoder``: a path, a kind with a path, a name of the manifest, or ``dlib``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from efface.encoders.declared import Sheet
from efface.encoders.manifest import Model, find_model, models_folder, read_manifest
from efface.encoders.shelf import Shelf, require
from efface.encoders.weights import refuse_other
from efface.errors import DataError, PlanError
from efface.registry import cards, make, nearest
from efface.types import Encoder

_SHORT = {"hf": "huggingface"}
_ENDINGS = {
    ".onnx": "onnx",
    ".pt": "torchscript",
    ".pth": "torchscript",
    ".torchscript": "torchscript",
}


def open_encoder(
    named: str,
    said: Sheet | None = None,
    *,
    batch: int | None = None,
    models: str | Path | None = None,
    manifest: str | Path | None = None,
) -> Encoder:
    """The encoder, loaded; what is wrong with it shows here and not at the first picture."""
    said = said or Sheet()
    kind, path, said = _resolved(named, said, models, manifest)
    params = {"batch": batch} if batch is not None else {}
    encoder: Encoder = make("encoder", kind, **params, **_params(kind, path, said))
    refuse_other(Path(path or named), encoder.facts.weights, said.sha256)
    return encoder


def open_detector_path(
    named: str, models: str | Path | None = None, manifest: str | Path | None = None
) -> str:
    """``dlib``, a file, or the file of a detector in the manifest."""
    if named == "dlib" or Path(named).suffix:
        return named
    model = find_model(read_manifest(manifest), named)
    if model.kind != "detector":
        raise PlanError(f"{named}: is an encoder, not a detector")
    shelf = Shelf(models_folder(models))
    require(named, model, shelf)
    return str(shelf.place(named, model, model.files[0]))


def _resolved(
    named: str, said: Sheet, models: str | Path | None, manifest: str | Path | None
) -> tuple[str, str | None, Sheet]:
    """Kind, path and declaration."""
    kinds = [card.name for card in cards("encoder")]
    prefix, colon, rest = named.partition(":")
    prefix = _SHORT.get(prefix, prefix)
    if colon and prefix in kinds and rest:
        return prefix, rest, said
    if named == "dlib":
        return "dlib", None, said
    path = Path(named)
    if path.suffix.lower() in _ENDINGS:
        return _ENDINGS[path.suffix.lower()], named, said
    if _is_checkpoint(path):
        return "huggingface", named, said
    return _from_manifest(named, said, read_manifest(manifest), Shelf(models_folder(models)), kinds)


def _is_checkpoint(path: Path) -> bool:
    try:
        return (path / "config.json").is_file()
    except OSError:  # a name that is too long, for example
        return False


def _from_manifest(
    name: str, said: Sheet, models: Mapping[str, Model], shelf: Shelf, kinds: list[str]
) -> tuple[str, str | None, Sheet]:
    if name not in models:
        known = ["dlib"] + [f"{kind}:PATH" for kind in kinds] + [n for n, m in models.items()
                                                      if m.kind != "detector"]  # fmt: skip
        raise PlanError(f"no encoder {name!r}{nearest(name, known)}")
    model = models[name]
    if model.kind == "detector":
        raise PlanError(f"{name}: is a detector, not an encoder: give it to --detector")
    require(name, model, shelf)
    file = model.files[0]
    about = Sheet(name=name, licence=model.licence, source=model.page, sha256=file.sha256)
    place = shelf.place(name, model, file)
    path = str(place.parent if model.kind == "huggingface" else place)
    return model.kind, path, said.over(about.over(model.declared))


def _params(kind: str, path: str | None, said: Sheet) -> dict[str, Any]:
    """What the encoder of this kind is made from; what does not apply to it is refused."""
    if kind == "dlib":
        _refuse(kind, said, pooling=True)
        return {} if path is None else {"path": path}
    if kind == "huggingface":
        _refuse(kind, said, pooling=False)
        return {"path": path, "pooling": said.pooling, "declared": said}
    if kind == "sscd":
        size = said.preprocessing.size
        rest = msgspec.structs.replace(said.preprocessing, size=None)
        side = {"side": size} if size is not None else {}
        return {"path": path, "declared": msgspec.structs.replace(said, preprocessing=rest), **side}
    return {"path": path, "declared": said}


def _refuse(kind: str, said: Sheet, pooling: bool) -> None:
    """Encoders that bring their own preprocessing take no other."""
    given = msgspec.structs.asdict(said.preprocessing)
    typed = [name for name, value in given.items() if value is not None]
    typed += ["output"] * (said.output is not None)
    typed += ["pooling"] * (pooling and said.pooling is not None)
    if typed:
        raise DataError(f"{kind}: brings its own preprocessing: leave --{typed[0]} out")
