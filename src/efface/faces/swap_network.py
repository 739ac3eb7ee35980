"""The slot for a face-swap network: an ONNX file in the way of INSwapper, by path (P23).

Nothing is fetched: INSwapper's weights are for research only, and their licence is the user's to
settle. Without a network :func:`efface.faces.transplant.transplant` does the same task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.encoders.weights import digest, existing
from efface.errors import DataError
from efface.faces.align import aligned, arcface_template, similarity, warped
from efface.faces.blur import FEATHER, Part
from efface.faces.face import Pixels, Points, Reals
from efface.faces.network import read_model, session
from efface.faces.transplant import Placed, Swapped, seen_through, swapped

Embed = Callable[[Pixels], NDArray[np.floating[Any]]]
"""From faces aligned to 112 x 112 to their vectors: the recogniser the network was trained with."""


@dataclass(frozen=True, eq=False)
class SwapNetwork:
    """Two inputs, an aligned face (1 x 3 x s x s, red first, 0 to 1) and a unit vector of the
    other person; one output, the face with the other identity. Called as ``transplant`` is."""

    session: Any
    embed: Embed
    side: int
    map: Reals | None
    """Multiplies the recogniser's vector before the network sees it, if the file brings one."""
    digest: str
    feather: float = FEATHER

    def __call__(
        self,
        pictures: Sequence[Pixels],
        landmarks: Reals,
        sources: Sequence[Pixels],
        source_landmarks: Reals,
    ) -> Swapped:
        """Each picture with the source's face, coloured and blended as a transplant is."""
        return swapped(pictures, landmarks, sources, source_landmarks, self._made, self.feather)

    def _made(
        self, picture: Pixels, points: Points, source: Pixels, other: Points, part: Part
    ) -> Placed:
        """The network's face, moved back from the template onto the picture's landmarks."""
        template, side = arcface_template(self.side), (self.side, self.side)
        onto = similarity(points[None], template)[0]
        face = warped(picture, onto, side).astype(np.float32) / 255
        names = [taken.name for taken in self.session.get_inputs()]
        batch = np.ascontiguousarray(face.transpose(2, 0, 1))[None]
        given = dict(zip(names, (batch, self._identity(source, other)), strict=True))
        out = np.clip(self.session.run(None, given)[0][0], 0, 1).transpose(1, 2, 0) * 255
        back = similarity(template[None], points[None])[0]
        return seen_through(out, back, part)

    def _identity(self, source: Pixels, points: Points) -> Reals:
        vector: Reals = np.asarray(self.embed(aligned([source], points[None])), np.float64).reshape(
            1, -1
        )
        vector = vector / np.linalg.norm(vector)
        if self.map is not None:
            vector = vector @ self.map
            vector = vector / np.linalg.norm(vector)
        return vector.astype(np.float32)


def open_swap_network(
    path: str | Path, embed: Embed, *, feather: float = FEATHER, threads: int | None = None
) -> SwapNetwork:
    """The network in a file, and the recogniser whose vectors it was trained to read."""
    file = existing(path)
    model = read_model(file)
    network = session(file, threads=threads)
    inputs = network.get_inputs()
    shapes = [list(taken.shape) for taken in inputs]
    ranks = [len(shape) for shape in shapes]
    if ranks != [4, 2] or len(network.get_outputs()) != 1 or not isinstance(shapes[0][3], int):
        raise DataError(
            f"{file}: is no swap network: it takes {shapes} and gives {len(network.get_outputs())} "
            "outputs, not a picture of fixed size and a vector for one picture"
        )
    side = shapes[0][3]
    arcface_template(side)  # refuses sides that no template is known for
    return SwapNetwork(network, embed, side, _map(model.graph), digest([file]), feather)


def _map(graph: Any) -> Reals | None:
    """A square matrix at the end of the weights that no operation reads: INSwapper's files carry
    the map of its vectors like this."""
    from onnx import numpy_helper

    used = {name for node in graph.node for name in node.input}
    last = graph.initializer[-1] if graph.initializer else None
    if last is None or last.name in used or len(last.dims) != 2 or last.dims[0] != last.dims[1]:
        return None
    found: Reals = numpy_helper.to_array(last)
    return found
