"""A projector's file in words for a person, and as plain values for a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from efface.errors import ArtefactError
from efface.export.container import PathLike
from efface.export.fitting import Encoder, SplitRecord
from efface.export.safetensors import Projector
from efface.export.signature import Signature, beside, read_signature
from efface.types import PARTS

UNKNOWN = "not known"
Lines = Iterator[tuple[str, str]]


def as_values(projector: Projector, path: PathLike) -> dict[str, Any]:
    """Everything but the fingerprints, which are counted only: they can betray who was fitted."""
    known = {name: value for name, value in projector.metadata.items() if name != "fingerprints"}
    return {
        "file": str(path),
        "bytes": projector.size,
        "sha256": projector.sha256,
        **known,
        "fingerprints": len(projector.eraser.fingerprints),
        "signature": _signature_values(projector, path),
    }


def as_text(projector: Projector, path: PathLike) -> str:
    """Aligned lines; whatever a terminal would act on is shown as its code."""
    lines = [*_what(projector, path), *_made(projector), *_why(projector), *_trust(projector, path)]
    width = max(len(label) for label, _ in lines)
    return "\n".join(f"{label:<{width}}  {printable(text)}".rstrip() for label, text in lines)


def printable(text: str) -> str:
    """The text without control characters: a file from elsewhere does not drive the terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _what(projector: Projector, path: PathLike) -> Lines:
    eraser, fitting = projector.eraser, projector.fitting
    form = "oblique" if eraser.dual is not None else "orthogonal"
    centred = "centred, " if eraser.mean is not None else ""
    length = "unit length before and after" if eraser.normalise else "lengths left as they are"
    yield "projector", str(path)
    yield "format", f"{projector.metadata['format']}, {projector.size:,} bytes"
    yield "method", f"{eraser.method}, {form} projection, {centred}{length}"
    yield "removes", f"{eraser.rank} of {eraser.dim} directions"
    yield "releases", fitting.dtype or f"type {UNKNOWN}"
    yield "encoder", _encoder(fitting.encoder)


def _encoder(encoder: Encoder | None) -> str:
    if encoder is None:
        return UNKNOWN
    weights = f"weights sha256 {encoder.weights}" if encoder.weights else "weights not known"
    return f"{encoder.name or 'no name'}, {weights}"


def _made(projector: Projector) -> Lines:
    eraser, fitting = projector.eraser, projector.fitting
    data = f" ({fitting.dataset})" if fitting.dataset else ""
    yield "fitted on", f"{eraser.identities:,} people, {eraser.rows:,} vectors{data}"
    yield "fit data", f"sha256 {eraser.fit_digest}" if eraser.fit_digest else UNKNOWN
    yield from _split(fitting.split)
    yield "seed", UNKNOWN if fitting.seed is None else str(fitting.seed)
    libraries = [f"{name} {version}" for name, version in sorted(fitting.versions.items())]
    yield "made with", ", ".join([f"efface {projector.metadata['efface']}", *libraries])
    for name, value in sorted(projector.metadata["notes"].items()):
        yield "note", f"{name}: {value}"


def _split(split: SplitRecord | None) -> Lines:
    if split is None:
        yield "split", UNKNOWN
        return
    yield "split", split.rule
    parts = [f"{part} {split.counts[part][0]:,}" for part in PARTS if part in split.counts]
    yield "", "people: " + ", ".join(parts)
    if split.digest:
        yield "", f"sha256 {split.digest}"


def _why(projector: Projector) -> Lines:
    eraser, found = projector.eraser, projector.fitting.validation
    if found is None:
        coverage = eraser.params.get("coverage")
        rule = f"coverage {coverage} of the energy" if coverage else "given by the user"
        yield "why rank", f"{rule}; no attack measured it"
        return
    sweep, estimate = found.sweep, found.at(eraser.rank)
    aim = f" (target: upper end at most {sweep.target:g})" if sweep.target is not None else ""
    yield "why rank", f"chosen on {sweep.measured_on} people at FAR {found.far:g}{aim}"
    if estimate is not None:
        people = f"{estimate.clusters:,} people, level {estimate.level:g}"
        yield "", f"worst-case TAR at rank {eraser.rank}: {estimate} ({people})"
    raw = found.at(0)
    if raw is not None:
        yield "", f"worst-case TAR of the raw vectors: {raw}"
    yield "", f"tried: ranks {', '.join(str(p.x) for p in sweep.points if p.x)}; {sweep.note}"


def _trust(projector: Projector, path: PathLike) -> Lines:
    yield "known people", f"{len(projector.eraser.fingerprints):,} fingerprints, for later audits"
    for warning in projector.eraser.warnings or ("none",):
        yield "warning", warning
    yield "map digest", projector.metadata["digest"]
    yield "file sha256", projector.sha256
    yield "signature", _signature_words(projector, path)


def _signature_words(projector: Projector, path: PathLike) -> str:
    file = beside(path)
    if not file.exists():
        return f"none beside it ({file.name})"
    try:
        found = read_signature(file)
    except ArtefactError as error:
        return f"cannot be used: {error}"
    if found.sha256 != projector.sha256:
        return f"{file.name} was made for another file"
    return f"{file.name}, key {found.key_id[:16]}; not checked: efface verify-signature"


def _signature_values(projector: Projector, path: PathLike) -> dict[str, Any] | None:
    """None without a file; ``same_file`` is no proof, only the key can give one."""
    if not beside(path).exists():
        return None
    found: Signature | None = None
    try:
        found = read_signature(beside(path))
    except ArtefactError as error:
        return {"file": str(beside(path)), "error": str(error)}
    return {
        "file": str(beside(path)),
        "key_id": found.key_id,
        "same_file": found.sha256 == projector.sha256,
        "verified": False,
    }
