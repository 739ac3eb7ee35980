"""A fitted eraser as one safetensors file: ``efface.projector/1``.

Tensors, all float64: ``basis`` (d x r), where the eraser has them ``dual`` (d x r), ``mean`` (d)
and ``energy``. Metadata: strings; whatever is not a plain word is JSON. ``digest`` is the SHA-256
of the map, ``seal`` that of everything in the file, so a damaged byte anywhere is noticed. The
seal is no signature: who can write the file can also renew it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface._version import __version__
from efface.errors import ArtefactError, EraserError
from efface.protect.linear.eraser import LinearEraser

FORMAT = "efface.projector/1"

Tensors = Mapping[str, NDArray[np.float64]]
PathLike = str | os.PathLike[str]

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


def save_eraser(
    eraser: LinearEraser, path: PathLike, *, metadata: Mapping[str, Any] | None = None
) -> None:
    """Write the eraser whole or not at all. ``metadata`` is any JSON object, kept as ``notes``."""
    tensors = _tensors(eraser)
    strings = _strings(eraser, dict(metadata or {}))
    strings["seal"] = _seal(tensors, strings)
    _write(Path(path), _pack(tensors, strings))


def load_eraser(path: PathLike) -> LinearEraser:
    """Read an eraser; anything damaged, incomplete or of another format is refused."""
    tensors, known = _read(Path(path))
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
        raise ArtefactError(f"{path}: {error}: get a sound copy, or fit again") from error
    if eraser.digest() != known["digest"]:
        raise _damaged(path, "its map is not the one that was saved")
    return eraser


def read_metadata(path: PathLike) -> dict[str, Any]:
    """What the file says of its eraser, after the same checks; the user's own under ``notes``."""
    return _read(Path(path))[1]


# --- writing --------------------------------------------------------------------------------


def _tensors(eraser: LinearEraser) -> dict[str, NDArray[np.float64]]:
    given = {
        "basis": eraser.basis,
        "dual": eraser.dual,
        "mean": eraser.mean,
        "energy": eraser.energy if len(eraser.energy) else None,
    }
    return {k: np.ascontiguousarray(v, dtype="<f8") for k, v in given.items() if v is not None}


def _strings(eraser: LinearEraser, notes: dict[str, Any]) -> dict[str, str]:
    plain = {
        "format": FORMAT,
        "method": eraser.method,
        "fit_digest": eraser.fit_digest,
        "digest": eraser.digest(),
        "efface": __version__,
    }
    try:
        coded = {name: _json(value) for name, value in _values(eraser, notes).items()}
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


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _seal(tensors: Tensors, strings: Mapping[str, str]) -> str:
    """SHA-256 over every tensor and every string but the seal itself, in a fixed order."""
    shapes = {name: list(tensors[name].shape) for name in sorted(tensors)}
    words = {name: text for name, text in strings.items() if name != "seal"}
    sha = hashlib.sha256(_json([shapes, words]).encode())
    for name in shapes:
        sha.update(np.ascontiguousarray(tensors[name], dtype="<f8").data)
    return sha.hexdigest()


def _pack(tensors: Tensors, strings: Mapping[str, str]) -> bytes:
    """The file's bytes: the same for the same eraser. The library alone shuffles the metadata."""
    from safetensors.numpy import save

    blob = save(dict(tensors))
    size = int.from_bytes(blob[:8], "little")
    entries = json.loads(blob[8 : 8 + size])
    ordered = {"__metadata__": dict(sorted(strings.items())), **entries}
    header = json.dumps(ordered, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + blob[8 + size :]


def _write(path: Path, blob: bytes) -> None:
    """Beside the target, flushed, then put in its place: a crash leaves the old file or the new."""
    target = Path(os.path.realpath(path))  # through a link, so that the link stays one
    partial = target.with_name(f"{target.name[:40]}.{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(blob)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except OSError as error:
        raise ArtefactError(
            f"{path}: cannot be written ({error.strerror or error}): choose another folder, or "
            "make room and give write permission"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


# --- reading --------------------------------------------------------------------------------


def _read(path: Path) -> tuple[dict[str, NDArray[np.float64]], dict[str, Any]]:
    """Tensors and metadata, once everything about the file has been found in order."""
    try:
        blob = path.read_bytes()
    except OSError as error:
        raise ArtefactError(
            f"{path}: cannot be read ({error.strerror or error}): check the path"
        ) from error
    strings = _header_strings(path, blob)
    _check_format(path, strings)
    tensors = _load(path, blob)
    if _seal(tensors, strings) != strings.get("seal"):
        raise _damaged(path, "its seal does not match its content")
    known = _decode(path, strings)
    _check_shapes(path, tensors, known)
    return tensors, known


def _header_strings(path: Path, blob: bytes) -> dict[str, str]:
    size = int.from_bytes(blob[:8], "little")
    if len(blob) < 8 or size > len(blob) - 8:
        raise ArtefactError(
            f"{path}: is truncated or no safetensors file: get a sound copy, or fit again"
        )
    try:
        header = json.loads(blob[8 : 8 + size].decode())
        strings = header.get("__metadata__", {})
        sound = all(isinstance(v, str) for v in strings.values())
    except (ValueError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise ArtefactError(f"{path}: is no safetensors file: get a sound copy, or fit again")
    return dict(strings)


def _check_format(path: Path, strings: Mapping[str, str]) -> None:
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


def _load(path: Path, blob: bytes) -> dict[str, NDArray[np.float64]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors: dict[str, NDArray[Any]] = load(blob)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, f"its tensors cannot be read ({error})") from error
    if "basis" not in tensors:
        raise ArtefactError(f"{path}: has no tensor 'basis': get a sound copy, or fit again")
    for name, tensor in tensors.items():
        if tensor.dtype != np.float64:
            raise ArtefactError(
                f"{path}: tensor {name!r} is {tensor.dtype}, not float64: get a sound copy, or "
                "fit again"
            )
        if not np.isfinite(tensor).all():
            raise ArtefactError(
                f"{path}: tensor {name!r} holds a value that is not finite: get a sound copy, or "
                "fit again"
            )
    return tensors


def _decode(path: Path, strings: Mapping[str, str]) -> dict[str, Any]:
    missing = [name for name in (*_PLAIN, *_JSON) if name not in strings]
    if missing:
        raise _damaged(path, f"its metadata lack {', '.join(missing)}")
    known: dict[str, Any] = {name: strings[name] for name in _PLAIN}
    for name, kind in _JSON.items():
        try:
            value = json.loads(strings[name])
        except ValueError:
            value = None
        if type(value) is not kind:
            raise _damaged(path, f"its metadata {name!r} is not understood")
        known[name] = value
    return known


def _check_shapes(path: Path, tensors: Tensors, known: Mapping[str, Any]) -> None:
    flat = (known["dim"], known["rank"])
    wanted = {"basis": flat, "dual": flat, "mean": flat[:1]}
    for name, tensor in tensors.items():
        fits = tensor.ndim == 1 if name == "energy" else tensor.shape == wanted.get(name)
        if not fits:
            raise ArtefactError(
                f"{path}: tensor {name!r} of shape {tensor.shape} does not belong to a projector "
                f"of rank {flat[1]} in {flat[0]} dimensions: get a sound copy, or fit again"
            )


def _damaged(path: PathLike, what: str) -> ArtefactError:
    return ArtefactError(
        f"{path}: is damaged or was changed: {what}; get a sound copy, or fit again"
    )
