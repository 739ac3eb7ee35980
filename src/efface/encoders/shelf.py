"""The folder where named models lie, and what can be said of what lies there."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from efface.encoders.manifest import File, Model
from efface.encoders.weights import file_digest
from efface.errors import ArtefactError

State = Literal["verified", "unverified", "changed", "wrong", "missing"]
RECORD = "efface-model.json"


@dataclass(frozen=True)
class Found:
    """One file of a model, where it is or belongs, and what it proved to be.

    ``verified``: its SHA-256 is the publisher's. ``unverified``: no digest of the publisher is
    known. ``changed``: unverified, and not the file any more that was fetched. ``wrong``: another
    digest than the publisher's.
    """

    file: File
    path: Path
    state: State
    digest: str = ""


class Shelf:
    """One folder for each model, named after it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, name: str, model: Model, file: File) -> Path:
        """Where a file is, or where it is to be put."""
        inside = _package(model.package) if model.package else None
        return (inside / "models" if inside else self.folder / name) / file.name

    def has(self, name: str, model: Model) -> bool:
        return all(self.place(name, model, file).is_file() for file in model.files)

    def look(self, name: str, model: Model) -> list[Found]:
        """Every file of a model, digested."""
        return [self._looked(name, model, file) for file in model.files]

    def record(self, name: str, file: str, digest: str) -> None:
        """Remember what was fetched where no digest of the publisher is known."""
        known = {**self.recorded(name), file: digest}
        path = self.folder / name / RECORD
        path.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=2) + b"\n")

    def recorded(self, name: str) -> dict[str, str]:
        try:
            data = (self.folder / name / RECORD).read_bytes()
            return msgspec.json.decode(data, type=dict[str, str])
        except (OSError, msgspec.MsgspecError):
            return {}

    def _looked(self, name: str, model: Model, file: File) -> Found:
        path = self.place(name, model, file)
        if not path.is_file():
            return Found(file, path, "missing")
        digest = file_digest(path)
        if file.sha256 is not None:
            return Found(file, path, "verified" if digest == file.sha256 else "wrong", digest)
        before = self.recorded(name).get(file.name, digest)
        return Found(file, path, "unverified" if before == digest else "changed", digest)


def instructions(name: str, model: Model, shelf: Shelf) -> str:
    """Exactly which file belongs where, for who has no network or has to fetch by hand."""
    lines = [f"{name}: {model.by_hand}" if model.by_hand else f"{name}: fetch by hand"]
    if model.package:
        return lines[0]
    for file in model.files:
        size = f", {file.bytes:,} bytes" if file.bytes else ""
        known = f"SHA-256 {file.sha256}" if file.sha256 else "SHA-256 not known here"
        origin = file.url or model.page
        lines.append(f"put {file.name} from {origin} at {shelf.place(name, model, file)} "
                     f"({known}{size})")  # fmt: skip
    return "; ".join([*lines, f"then run 'efface models verify {name}'"])


def require(name: str, model: Model, shelf: Shelf) -> None:
    """Refuse a model that is not there, with the way to it."""
    if not shelf.has(name, model):
        pull = f"run 'efface models pull {name}', or by hand: " if _fetchable(model) else ""
        raise ArtefactError(
            f"the weights are not here yet: {pull}{instructions(name, model, shelf)}"
        )


def _fetchable(model: Model) -> bool:
    return all(file.url for file in model.files)


def _package(name: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(places[0]) if places else None
