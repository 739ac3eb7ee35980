"""Rendered people through a real face recogniser: encode, audit, erase, ask what it looks at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from efface import api
from efface.attributing.run import attribution
from efface.attributing.settings import Settings
from efface.data.readers import load
from efface.data.rendered.folder import write_faces
from efface.data.rendered.world import World
from efface.data.samples import curate
from efface.demo.vectors import line
from efface.encoders.choose import open_encoder
from efface.encoding.geometry import FaceCut
from efface.encoding.run import Order, encode
from efface.export.safetensors import load_eraser, save_eraser
from efface.pictures.source import open_source
from efface.progress import Progress, Stages
from efface.threads import cores
from efface.types import Encoder


def run(
    folder: Path, seed: int, people: int = 150, rank: int = 40, queried: int = 24
) -> Iterator[str]:
    """Pictures, vectors, projector and two reports into ``folder``; yield a line for each step."""
    world = World(people=people, images=5, contexts=60, size=128, pose=0.4, seed=seed)
    drawn = write_faces(world, folder / "people")
    yield f"6. {drawn} pictures of {people} people who do not exist: {folder / 'people'}"

    encoder, vectors = open_encoder("dlib"), folder / "embeddings.parquet"
    yield _encoded(encoder, folder / "people", vectors)

    samples = curate(load(vectors), 2, seed=seed)
    eraser, fitting = api.fit_projector(samples, "isp", rank=rank, far=1e-2, seed=seed)
    projector = folder / "projector.safetensors"
    save_eraser(eraser, projector, provenance=fitting)
    audited = api.audit(
        samples, protections=[load_eraser(projector)], far=1e-2, seed=seed, sweep=(),
        attacks=["cosine", "ridge", "lda"], command="efface demo",
    )  # fmt: skip
    audited.save(folder)
    yield f"   before: {line(audited.worst('raw'))}"
    yield f"   after:  {line(audited.worst())}"
    yield f"   {samples.dim - eraser.rank} of {samples.dim} directions are left to link them by."

    yield "8. is it the face, or what is around it?"
    yield f"   {_looked_at(encoder, folder, seed, queried)}"
    yield f"9. the reports: {folder / 'report.html'}, {folder / 'attribution.html'}"


def _encoded(encoder: Encoder, people: Path, out: Path) -> str:
    cut = FaceCut("dlib", encoder.facts.preprocessing)
    order = Order(open_source(people), encoder, out, cut, workers=cores(), keep=True)
    with Progress[None]("encode", 0, unit="picture") as bar:
        found = encode(order, bar.of).pictures
    lost = ", ".join(f"{count} {why}" for why, count in found.left_out.items()) or "none lost"
    return f"7. {found.encoded} vectors by dlib's face recogniser ({lost}): {out}"


def _looked_at(encoder: Encoder, folder: Path, seed: int, queried: int) -> str:
    settings = Settings(per_person=1, people=queried, seed=seed)
    with Stages() as tell:
        found = attribution(
            folder / "people", [encoder], settings=settings, cache=folder / "cache",
            workers=cores(), show_pictures=True, tell=tell, command="efface demo",
        )  # fmt: skip
    found.save(folder)
    return found.headline
