"""What a user says of an encoder: in a small TOML beside its file, or on the command line.

name = "my-encoder"
output = "embedding"

[preprocessing]
size = 224
normalise = "imagenet"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from efface.errors import DataError, PlanError
from efface.facts import Alignment, Colour, Filter, Fit, Layout, Preprocessing, Sha256, Side
from efface.registry import nearest

Pooling = Literal["cls", "mean", "cls+mean", "pooler", "projection"]
Normalise = Literal["imagenet", "clip", "half", "half-128", "unit", "pixel"]
_IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_CLIP = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)

NORMALISE: dict[str, tuple[float, tuple[float, ...], tuple[float, ...]]] = {
    "imagenet": (1 / 255, *_IMAGENET),
    "clip": (1 / 255, *_CLIP),
    "half": (1 / 255, (0.5,), (0.5,)),  # -1 to 1
    "half-128": (1.0, (127.5,), (128.0,)),
    "unit": (1 / 255, (0.0,), (1.0,)),  # 0 to 1
    "pixel": (1.0, (0.0,), (1.0,)),  # 0 to 255
}
"""Scale, mean and standard deviation by the names under which they are known."""


class Declared(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The preprocessing as far as somebody said it; None where nobody did."""

    # Limits on the sides are checked with the result: msgspec 0.22 crashes on a union of them.
    size: int | tuple[int, int] | None = None
    fit: Fit | None = None
    shorter: Side | None = None
    filter: Filter | None = None
    rounded: bool | None = None
    colour: Colour | None = None
    normalise: Normalise | None = None
    scale: float | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    layout: Layout | None = None

    def __post_init__(self) -> None:
        if self.normalise and (self.scale or self.mean or self.std):
            raise DataError("'normalise' names scale, mean and std: give it or them, not both")

    @property
    def numbers(self) -> tuple[float, tuple[float, ...], tuple[float, ...]] | None:
        """Scale, mean and std; None where nothing is said of them."""
        if self.normalise:
            return NORMALISE[self.normalise]
        if self.scale is None and self.mean is None and self.std is None:
            return None
        scale = 1 / 255 if self.scale is None else self.scale
        return scale, self.mean or (0.0,), self.std or (1.0,)

    def over(self, other: Declared) -> Declared:
        """This, and where it is silent the other; what normalises is taken from one of the two."""
        mine, theirs = msgspec.to_builtins(self), msgspec.to_builtins(other)
        if self.numbers is not None:
            theirs = {**theirs, "normalise": None, "scale": None, "mean": None, "std": None}
        merged = {k: theirs[k] if mine[k] is None else mine[k] for k in mine}
        return msgspec.convert(merged, Declared)


NOTHING = Declared()


class Sheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole declaration: what the TOML file holds."""

    name: str = ""
    licence: str = ""
    source: str = ""
    sha256: Sha256 | None = None
    """If given, the weights are refused unless they have it."""
    output: str | None = None
    pooling: Pooling | None = None
    alignment: Alignment | None = None
    preprocessing: Declared = NOTHING

    def over(self, other: Sheet) -> Sheet:
        """This, and where it is silent the other."""
        mine, theirs = (
            {name: getattr(sheet, name) for name in self.__struct_fields__}
            for sheet in (self, other)
        )
        merged = {name: mine[name] or theirs[name] for name in mine}
        merged["preprocessing"] = self.preprocessing.over(other.preprocessing)
        return Sheet(**merged)


def beside(path: Path) -> Path | None:
    """``model.onnx.toml`` or ``model.toml`` for ``model.onnx``, if there is one."""
    for name in (f"{path.name}.toml", f"{path.stem}.toml"):
        if path.with_name(name).is_file():
            return path.with_name(name)
    return None


def read_sheet(path: Path) -> Sheet:
    """A declaration from TOML; an unknown key is answered with the nearest."""
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: is no TOML ({error}): correct it") from error
    _check_keys(path, found, Sheet)
    _check_keys(path, found.get("preprocessing", {}), Declared, "preprocessing.")
    try:
        return msgspec.convert(found, Sheet, strict=True)
    except msgspec.ValidationError as error:
        raise PlanError(f"{path}: {error}: correct the declaration") from error


def declaration(path: Path, typed: Sheet) -> Sheet:
    """What was typed, over what stands in the file beside the weights."""
    file = beside(path)
    return typed if file is None else typed.over(read_sheet(file))


def resolve(
    said: Declared, found: Mapping[str, Any], place: str, usual: Declared = NOTHING
) -> tuple[Preprocessing, list[str]]:
    """The preprocessing from what is declared, what the file shows and what is usual for its kind;
    and what of it was assumed.

    What makes vectors silently wrong is not assumed of any file: size and range of the numbers.
    """
    height, width = _size(said, found, place)
    numbers, assumed = said.numbers or found.get("numbers"), []
    if numbers is None:
        numbers = usual.numbers or _no_numbers(place)
        assumed.append(f"normalise {usual.normalise}")
    values: dict[str, Any] = {"colour": "RGB", "filter": "bilinear", "layout": "NCHW"}
    for name, fallback in values.items():
        values[name] = getattr(said, name) or found.get(name) or getattr(usual, name)
        if values[name] is None:
            values[name] = fallback
            assumed.append(f"{name} {fallback}")
    fit = said.fit or ("squash" if said.shorter is None else "crop")
    if said.fit is None and said.shorter is None:
        assumed.append("fit squash")
    values.update(zip(("scale", "mean", "std"), numbers, strict=True))
    values.update(height=height, width=width, fit=fit, shorter=said.shorter)
    values["rounded"] = said.rounded is not False
    try:
        return msgspec.convert(values, Preprocessing), assumed  # which checks, as building does not
    except msgspec.ValidationError as error:
        raise DataError(f"{place}: {error}") from error


def _size(said: Declared, found: Mapping[str, Any], place: str) -> tuple[int, int]:
    """The declared size, which must be the one that the file demands, if it demands one."""
    size = (said.size, said.size) if isinstance(said.size, int) else said.size
    fixed: tuple[int, int] | None = found.get("size")
    if size is None and fixed is None and said.fit == "shorter" and said.shorter:
        return said.shorter, said.shorter
    if size is None and fixed is None:
        raise DataError(f"{place}: takes pictures of any size: declare the one it was trained on "
                        "with --size, or size in its TOML")  # fmt: skip
    if size is not None and fixed is not None and size != fixed:
        raise DataError(
            f"{place}: takes {fixed[0]} x {fixed[1]} pictures, declared are {size[0]} x {size[1]}: "
            "leave the size out"
        )
    return size or fixed or (0, 0)


def _no_numbers(place: str) -> Any:
    raise DataError(
        f"{place}: does not say which numbers it wants for pixels, and a wrong guess gives vectors "
        f"that look like any others: declare --normalise ({', '.join(NORMALISE)}), or --mean and "
        "--std, or write them into a TOML beside it; the encoder's page says which"
    )


def _check_keys(
    path: Path, found: Mapping[str, Any], kind: type[msgspec.Struct], prefix: str = ""
) -> None:
    known: Sequence[str] = kind.__struct_fields__
    for key in found if isinstance(found, dict) else ():
        if key not in known:
            raise PlanError(f"{path}: no key {prefix + key!r}{nearest(key, list(known))}")
