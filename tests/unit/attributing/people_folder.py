"""A folder of rendered people, taken for photographs: files, and faces that were found already."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from efface.data.rendered.world import RenderedFaces, rendered_faces

SIZE = 128


@lru_cache(maxsize=4)
def faces_of(people: int, images: int) -> RenderedFaces:
    return rendered_faces(people=people, images=images, contexts=8, size=SIZE, pose=0.4, seed=9)


def folder(root: Path, people: int = 8, images: int = 3) -> tuple[Path, Path]:
    """The pictures, a folder for each person, and the file of their faces."""
    world = faces_of(people, images)
    names = []
    for k, picture in enumerate(world.pictures):
        name = f"person {world.identity[k]}/{k % images}.png"
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(root / name, compress_level=1)
        names.append(name)
    faces = root.parent / f"{root.name}-faces.npz"
    np.savez(faces, name=np.array(names), box=world.boxes, landmarks=world.landmarks)
    return root, faces
