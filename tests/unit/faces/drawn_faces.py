"""Faces whose geometry is known exactly: drawn shapes, and landmarks placed by hand."""

from __future__ import annotations

import numpy as np

from efface.faces.face import Face, Finding, Outcome
from efface.faces.landmarks import TEMPLATE

UPRIGHT = np.array([[90.0, 100], [130, 100], [110, 122], [95, 145], [125, 145]])
"""Inter-ocular distance 40, eyes to mouth 45, centre (110, 122.5)."""


def turned(points: np.ndarray, degrees: float, scale: float = 1.0, shift=(0.0, 0.0)) -> np.ndarray:
    """Points turned about their mean, scaled and moved."""
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    mean = points.mean(axis=0)
    return (points - mean) @ turn.T * scale + mean + shift


def noise(seed: int, height: int = 224, width: int = 224) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def smooth(seed: int, side: int = 224) -> np.ndarray:
    """A picture of slow waves in three colours."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side
    waves = [
        np.sin(2 * np.pi * (rng.uniform(0.5, 3) * x + rng.uniform(0.5, 3) * y + rng.random()))
        for _ in range(3)
    ]
    return np.rint(127.5 + 100 * np.stack(waves, axis=-1)).astype(np.uint8)


def found(box, landmarks=None) -> Finding:
    """A finding of one face; without landmarks the template's, placed in the box."""
    box = np.array(box, float)
    if landmarks is None:
        landmarks = box[:2] + TEMPLATE / 112 * (box[2:] - box[:2])
    face = Face(box, landmarks)
    return Finding(Outcome.ONE, face, (face,))
