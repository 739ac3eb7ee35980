"""How: the pose, the expression, the framing and the camera of one picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Shot:
    """All that changes from picture to picture of one person in one place. Angles in radians."""

    number: int
    yaw: float
    pitch: float
    roll: float
    scale: float
    """Half the width of the face, as a share of the picture's side."""
    x: float
    y: float
    """Where the middle of the head is, as shares of the picture's side."""
    smile: float
    open: float
    blink: float
    raise_brows: float
    gaze_x: float
    gaze_y: float
    light_x: float
    light_y: float
    exposure: float
    warmth: float
    soft: float
    """Blur of the lens, in pixels of a picture of 128."""
    noise: float
    """Standard deviation of the sensor's noise, in grey levels."""
    grain: int
    """Which piece of noise it is."""
    pan_x: float
    pan_y: float
    """Which part of the scene is behind the head, from 0 to 1."""


def shot(seed: int, *numbers: int, pose: float = 1.0) -> Shot:
    """The shot of these numbers in the world ``seed``. ``pose`` scales how far heads turn."""
    rng = np.random.default_rng([seed, 3, *numbers])

    def within(deviation: float, most: float) -> float:
        return float(np.clip(rng.normal(0, deviation), -most, most))

    return Shot(
        number=numbers[-1],
        yaw=pose * within(0.24, 0.6),
        pitch=pose * within(0.11, 0.28),
        roll=pose * within(0.09, 0.3),
        scale=float(rng.uniform(0.19, 0.235)),
        x=0.5 + within(0.025, 0.06),
        y=0.47 + within(0.02, 0.05),
        smile=float(np.clip(rng.normal(0.4, 0.35), -0.2, 1)),
        open=float(rng.uniform(0.15, 0.9)) if rng.random() < 0.3 else 0.0,
        blink=float(np.clip(rng.normal(0.02, 0.14), -0.2, 0.55)),
        raise_brows=within(0.3, 1.0),
        gaze_x=within(0.3, 0.8),
        gaze_y=within(0.2, 0.6),
        light_x=within(0.25, 0.6),
        light_y=within(0.15, 0.4),
        exposure=float(np.exp(rng.normal(0, 0.12))),
        warmth=within(0.03, 0.08),
        soft=float(rng.uniform(0.2, 0.8)),
        noise=float(rng.uniform(1.0, 4.0)),
        grain=int(rng.integers(1 << 30)),
        pan_x=float(rng.random()),
        pan_y=float(rng.random()),
    )
