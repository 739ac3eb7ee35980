"""A fitted eraser as one safetensors file: ``efface.projector/1``.

Tensors, all float64: ``basis`` (d x r), where the eraser has them ``dual`` (d x r), ``mean`` (d)
and ``energy``. Metadata: strings; whatever is not a plain word is JSON. ``digest`` is the SHA-256
of the map, ``seal`` that of the whole file, so a changed byte anywhere is noticed. The seal is no
signature (see :mod:`efface.export.signature`): who can write the file can also renew it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from efface._version import __version__
from efface.errors import ArtefactError, EraserError
from efface.export import strict_json
from efface.export.container import (
    REMEDY,
    PathLike,
    Tensors,
    check_seal,
    damaged,
    pack,
    read_file,
    strings_of,
    tensors_of,
)
from efface.export.files import write_whole
from efface.export.fitting import Fitting
from efface.protect.linear.eraser import LinearEraser

FORMAT = "efface.projector/1"

_PLAIN = ("format", "method", "fit_digest", "digest", "efface", "seal")
_JSON = {
    "params": dict,
    "rank": int,
    "dim": int,
    "normalise": bool,
    "identities": int,
    "rows": int,
    "fingerprints": list,
    "warnings": list,
    "notes": dict,
}
_FITTING = tuple(field.encode_name for field in msgspec.structs.fields(Fitting))


@dataclass(frozen=True, eq=False)
class Projector:
    """A file of an eraser, read once: everything in it, and the digest of its bytes."""

    eraser: LinearEraser
    fitting: Fitting
    metadata: Mapping[str, Any]
    sha256: str
    size: int


def save_eraser(
    eraser: LinearEraser,
    path: PathLike,
    *,
    provenance: Fitting | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write the eraser whole or not at all.

    ``provenance`` says how it was fitted; ``metadata`` is any JSON object, kept as ``notes``.
    """
    fitting = provenance if provenance is not None else Fitting()
    fitting.check(eraser)
    write_whole(path, pack(_tensors(eraser), _strings(eraser, fitting, dict(metadata or {}))))


def load_eraser(path: PathLike) -> LinearEraser:
    """Read an eraser; anything damaged, incomplete or of another format is refused."""
    return read_projector(path).eraser


def read_metadata(path: PathLike) -> dict[str, Any]:
    """What the file says of its eraser, after the same checks; the user's own under ``notes``."""
    return dict(read_projector(path).metadata)


def read_projector(path: PathLike) -> Projector:
    """The eraser and all that is known about it, from one reading of the file."""
    return parse_projector(read_file(path), path)


def parse_projector(blob: bytes, path: PathLike) -> Projector:
    """The same from bytes; ``path`` is what an error calls them."""
    strings = strings_of(path, blob)
    _check_format(path, strings)
    check_seal(path, blob, strings.get("seal", ""))
    known = _decode(path, strings)
    tensors = tensors_of(path, blob)
    _check_shapes(path, tensors, known)
    eraser = _eraser(path, tensors, known)
    fitting = _fitting(path, known, eraser)
    return Projector(eraser, fitting, known, hashlib.sha256(blob).hexdigest(), len(blob))


# --- writing --------------------------------------------------------------------------------


def _tensors(eraser: LinearEraser) -> dict[str, NDArray[np.float64]]:
    given = {
        "basis": eraser.basis,
        "dual": eraser.dual,
        "mean": eraser.mean,
        "energy": eraser.energy if len(eraser.energy) else None,
    }
    return {k: np.ascontiguousarray(v, dtype="<f8") for k, v in given.items() if v is not None}


def _strings(eraser: LinearEraser, fitting: Fitting, notes: dict[str, Any]) -> dict[str, str]:
    plain = {
        "format": FORMAT,
        "method": eraser.method,
        "fit_digest": eraser.fit_digest,
        "digest": eraser.digest(),
        "efface": __version__,
    }
    values = _values(eraser, notes) | fitting.plain()
    try:
        coded = {name: strict_json.render(value) for name, value in values.items()}
    except (TypeError, ValueError) as error:
        raise ArtefactError(
            f"the projector's parameters or metadata are no JSON ({error}): give plain numbers, "
            "strings, lists and objects"
        ) from error
    return plain | coded


def _values(eraser: LinearEraser, notes: dict[str, Any]) -> dict[str, Any]:
    return {
        "params": dict(eraser.params),
        "rank": eraser.rank,
        "dim": eraser.dim,
        "normalise": eraser.normalise,
        "identities": eraser.identities,
        "rows": eraser.rows,
        "fingerprints": list(eraser.fingerprints),
        "warnings": list(eraser.warnings),
        "notes": notes,
    }


# --- reading --------------------------------------------------------------------------------


def _check_format(path: PathLike, strings: Mapping[str, str]) -> None:
    found = strings.get("format", "")
    if found == FORMAT:
        return
    if found.startswith(FORMAT.split("/")[0] + "/"):
        raise ArtefactError(
            f"{path}: is a projector of format {found!r}, this efface ({__version__}) reads "
            f"{FORMAT!r}: use the efface that wrote it, or fit again"
        )
    raise ArtefactError(
        f"{path}: is no efface projector (format {found or 'not given'}): make one with "
        "save_eraser() or 'efface fit'"
    )


def _decode(path: PathLike, strings: Mapping[str, str]) -> dict[str, Any]:
    missing = [name for name in (*_PLAIN, *_JSON, *_FITTING) if name not in strings]
    if missing:
        raise damaged(path, f"its metadata lack {', '.join(missing)}")
    known: dict[str, Any] = {name: strings[name] for name in _PLAIN}
    for name in (*_JSON, *_FITTING):
        try:
            known[name] = strict_json.parse(strings[name])
        except ValueError as error:
            raise damaged(path, f"its metadata {name!r} is not understood ({error})") from error
        if name in _JSON and type(known[name]) is not _JSON[name]:
            raise damaged(path, f"its metadata {name!r} is not understood")
    for name in ("fingerprints", "warnings"):
        if not all(isinstance(item, str) for item in known[name]):
            raise damaged(path, f"its metadata {name!r} is not understood")
    return known


def _check_shapes(path: PathLike, tensors: Tensors, known: Mapping[str, Any]) -> None:
    if "basis" not in tensors:
        raise ArtefactError(f"{path}: has no tensor 'basis': {REMEDY}")
    flat = (known["dim"], known["rank"])
    wanted = {"basis": flat, "dual": flat, "mean": flat[:1]}
    for name, tensor in tensors.items():
        fits = tensor.ndim == 1 if name == "energy" else tensor.shape == wanted.get(name)
        if not fits or flat[1] > flat[0]:
            raise ArtefactError(
                f"{path}: tensor {name!r} of shape {tensor.shape} does not belong to a projector "
                f"of rank {flat[1]} in {flat[0]} dimensions: {REMEDY}"
            )


def _eraser(path: PathLike, tensors: Tensors, known: Mapping[str, Any]) -> LinearEraser:
    try:
        eraser = LinearEraser(
            basis=tensors["basis"],
            dual=tensors.get("dual"),
            mean=tensors.get("mean"),
            normalise=known["normalise"],
            method=known["method"],
            params=known["params"],
            energy=tensors.get("energy", np.zeros(0)),
            identities=known["identities"],
            rows=known["rows"],
            fit_digest=known["fit_digest"],
            fingerprints=tuple(known["fingerprints"]),
            warnings=tuple(known["warnings"]),
        )
    except EraserError as error:
        raise ArtefactError(f"{path}: {error}: {REMEDY}") from error
    if eraser.digest() != known["digest"]:
        raise damaged(path, "its map is not the one that was saved")
    return eraser


def _fitting(path: PathLike, known: Mapping[str, Any], eraser: LinearEraser) -> Fitting:
    try:
        fitting = Fitting.read({name: known[name] for name in _FITTING})
        fitting.check(eraser)
    except (ValueError, ArtefactError) as error:
        raise damaged(path, f"its record of the fit is not understood ({error})") from error
    return fitting
