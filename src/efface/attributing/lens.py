"""What an encoder sees of a crop: all of it at its size, or the aligned face cut out of it.

Everything is done to the crop, and only then does the encoder's own preparation follow, always by
the landmarks of the picture as it was: what is looked for in a blurred face would move the cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from efface.attributions import Seen
from efface.errors import DataError
from efface.faces.align import arcface_template, similarity, warped
from efface.faces.face import Face, Pixels, Points
from efface.faces.mask import Masks
from efface.faces.resample import as_pixels, resized
from efface.facts import EncoderFacts

FaceInput = Literal["auto", "crop", "arcface", "dlib"]


@dataclass(frozen=True)
class Lens:
    """Picklable; equal lenses show the same, so that encoders can share what they see."""

    seen: Seen
    size: int

    def cut(self, stack: Pixels, face: Face, whole: Pixels) -> Pixels:
        """Altered forms of one crop (k x canvas x canvas x 3) as the encoder takes them;
        ``whole`` is the crop unaltered."""
        if self.seen == "dlib":
            window = _windows()(whole, face)
            return np.stack([window(picture) for picture in stack])
        if self.seen == "arcface":
            return self._aligned(stack, face)
        side = (self.size, self.size)
        if stack.shape[1:3] == side:
            return stack
        return np.stack([resized(picture, side) for picture in stack])

    def shares(self, masks: Masks, face: Face, whole: Pixels) -> tuple[float, ...]:
        """The share of each mask (k x canvas x canvas) that the encoder sees."""
        if self.seen == "crop":
            return tuple(1.0 for _ in masks)
        if self.seen == "arcface":
            map_ = self._map(face)
            there = warped(masks.transpose(1, 2, 0).astype(np.float32), map_, (self.size,) * 2)
            seen = there.sum(axis=(0, 1)) / np.linalg.det(map_[:, :2])
        else:
            window = _windows()(whole, face)
            shown = [window(np.repeat(m[..., None] * np.uint8(255), 3, axis=2)) for m in masks]
            seen = np.array([chip[..., 0].sum() / 255 for chip in shown]) / window.scale**2
        areas = masks.sum(axis=(1, 2))
        return tuple(float(s) for s in np.minimum(seen / np.maximum(areas, 1), 1.0))

    def _aligned(self, stack: Pixels, face: Face) -> Pixels:
        """All forms through one map at once, as if they were channels of one picture."""
        count, height, width = stack.shape[:3]
        channels = stack.transpose(1, 2, 0, 3).reshape(height, width, 3 * count)
        seen = as_pixels(warped(channels, self._map(face), (self.size,) * 2))
        return np.ascontiguousarray(
            seen.reshape(self.size, self.size, count, 3).transpose(2, 0, 1, 3)
        )

    def _map(self, face: Face) -> Points:
        onto: Points = similarity(face.landmarks[None], arcface_template(self.size))[0]
        return onto


def lens_of(facts: EncoderFacts, wanted: FaceInput = "auto") -> Lens:
    """How this encoder sees: as it was trained to, unless another way is asked for."""
    made = facts.preprocessing
    if made.fixed and made.height != made.width:
        raise DataError(
            f"{facts.name}: takes {made.height} x {made.width}, and crops are squares: it cannot "
            "be measured without changing what its pictures look like"
        )
    seen: Any = wanted
    if wanted == "auto":
        seen = "crop" if facts.alignment == "none" else facts.alignment
    size = made.height if made.fixed else made.shorter or 0
    if seen == "dlib" and size != 150:
        raise DataError(f"{facts.name}: dlib's chips have 150 pixels, it takes {size}")
    if seen == "arcface":
        arcface_template(size)  # refuses sizes without a template
    return Lens(seen, size)


@lru_cache(maxsize=1)
def _windows() -> Any:
    from efface.faces.dlib_chips import open_windows

    return open_windows()
