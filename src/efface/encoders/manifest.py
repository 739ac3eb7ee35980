"""Named weights: where they come from, under which terms, and how they are known again."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from efface.encoders.declared import Sheet
from efface.errors import PlanError
from efface.facts import Sha256
from efface.registry import nearest

Terms = Literal["free", "non-commercial", "gated", "unclear"]
Kind = Literal[
    "onnx", "arcface", "adaface", "torchscript", "sscd", "huggingface", "dlib", "detector"
]


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of a model. Without ``url`` it is put in place by hand."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    url: Annotated[str, msgspec.Meta(pattern="^https?://|^$")] = ""
    sha256: Sha256 | None = None
    """None where it is not known from the publisher."""
    bytes: int | None = None


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One named model of the manifest."""

    kind: Kind
    summary: str
    page: str
    licence: str
    terms: Terms
    files: Annotated[list[File], msgspec.Meta(min_length=1)]
    notice: str = ""
    by_hand: str = ""
    """What to do where it cannot be fetched."""
    package: str = ""
    """The installed package that brings the files."""
    declared: Sheet = Sheet()

    @property
    def restricted(self) -> bool:
        return self.terms != "free"

    @property
    def known(self) -> bool:
        """Whether every file's digest is known from the publisher."""
        return all(file.sha256 is not None for file in self.files)


def read_manifest(extra: str | Path | None = None) -> dict[str, Model]:
    """The manifest that comes with efface, and over it one of the user's own."""
    text = (resources.files("efface.encoders") / "manifest.toml").read_text(encoding="utf-8")
    models = _parsed(text, "manifest.toml")
    if extra is not None:
        try:
            own = Path(extra).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PlanError(f"{extra}: cannot be read ({error}): check the path") from error
        models |= _parsed(own, str(extra))
    return models


def find_model(models: Mapping[str, Model], name: str) -> Model:
    """A model by name; an unknown name is answered with the nearest."""
    if name not in models:
        raise PlanError(f"no model named {name!r}{nearest(name, list(models))}")
    return models[name]


def models_folder(chosen: str | Path | None = None) -> Path:
    """Where models lie: as chosen, as EFFACE_MODELS says, or in the user's cache."""
    if chosen:
        return Path(chosen)
    if os.environ.get("EFFACE_MODELS"):
        return Path(os.environ["EFFACE_MODELS"])
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "efface" / "models"


def _parsed(text: str, place: str) -> dict[str, Model]:
    try:
        return msgspec.convert(tomllib.loads(text), dict[str, Model])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise PlanError(f"{place}: is no manifest of models ({error}): correct it") from error
