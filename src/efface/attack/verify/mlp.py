"""A small multilayer perceptron: sees what no linear map can (section 4.2, appendix E).

Written in NumPy so that the strong attacker is part of every install: two hidden ReLU layers,
cross-entropy over training people, Adam; one visible loop. The paper compares the last hidden
layer as it is. That is a weak adversary: the layer holds far more than its cosine shows, and
whitening it by its own within-person scatter finds leaks that the plain cosine misses.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from efface.attack.verify.comparison import unit_claim
from efface.attack.verify.lda import LDA
from efface.attack.verify.params import positive
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Release, Samples

Weights = list[NDArray[np.float32]]
_CHUNK = 16384


@register(
    Card(
        role="attack",
        name="mlp",
        summary="Two hidden ReLU layers trained to name people; last hidden layer, whitened.",
        accepts="embedding",
        yields="comparison vectors",
        needs="labelled shadow vectors",
        paper="From Measurement to Mitigation (CVPR 2026), section 4.2 and appendix E; P8",
    )
)
@dataclass
class MLP:
    """softmax(W3 relu(W2 relu(W1 x))) against identity; comparison vector from relu(W2 ...).

    ``whitenings`` are shrinkages of the within-person metric on the last hidden layer, 0 for the
    layer as it is (the paper's). With ``checkpoints`` on the way (early stopping) they are the
    options among which calibration people choose.
    """

    hidden: tuple[int, int] = (512, 256)
    steps: int = 600
    batch: int = 256
    rate: float = 2e-3
    decay: float = 1e-2
    checkpoints: int = 2
    whitenings: tuple[float, ...] = (0.0, 0.03, 0.3, 1.0)
    checkpoint: int | None = None
    whitening: float | None = None
    mean_: NDArray[np.float64] | None = field(default=None, repr=False)
    scale_: float = field(default=1.0, repr=False)
    snapshots_: tuple[Weights, ...] = field(default=(), repr=False)
    metrics_: tuple[LDA, ...] = field(default=(), repr=False)

    paper_params: ClassVar[dict[str, Any]] = {"whitenings": (0.0,)}

    def check(self) -> None:
        whole = {n: (getattr(self, n),) for n in ("steps", "batch", "checkpoints")}
        for name, values in {**whole, "hidden": self.hidden}.items():
            positive("mlp", name, values, whole=True)
        positive("mlp", "rate", (self.rate,))
        positive("mlp", "decay", (self.decay,), zero=True)
        positive("mlp", "whitenings", self.whitenings, zero=True)

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        x = shadow.data.astype(np.float64)
        self.mean_ = x.mean(axis=0)
        x -= self.mean_
        # One scale for all inputs: erased directions must not be blown up to unit variance.
        self.scale_ = float(1 / max(np.sqrt(np.mean(x**2)), 1e-12))
        codes = np.unique(shadow.identity, return_inverse=True)[1]
        # Small matrices: a second BLAS thread costs more than it brings.
        with threadpool_limits(1, user_api="blas"):
            inputs = (x * self.scale_).astype(np.float32)
            self.snapshots_ = tuple(self._train(inputs, codes, rng))
        self.metrics_ = tuple(
            LDA().fit(shadow.replace(self._hidden(w, shadow.data)), threat, rng)
            for w in self.snapshots_
        )
        return self

    def options(self) -> Sequence[Self]:
        if self.checkpoint is not None:
            return (self,)
        return tuple(
            replace(self, checkpoint=i, whitening=w)
            for i in range(len(self.snapshots_))
            for w in self.whitenings
        )

    def settings(self) -> dict[str, Scalar]:
        if self.checkpoint is None:
            return {"steps": self.steps}
        steps = self.steps * (self.checkpoint + 1) // self.checkpoints
        return {"steps": steps, "whitening": self.whitening}

    def run(self, release: Release) -> Claim:
        if self.mean_ is None or not self.snapshots_:
            raise RuntimeError("fit the attack before running it")
        place = -1 if self.checkpoint is None else self.checkpoint
        hidden = self._hidden(self.snapshots_[place], release.data)
        if not self.whitening:
            return unit_claim(hidden)
        metric = replace(self.metrics_[place], shrinkage=self.whitening, weighing="whiten")
        return metric.run(Release(hidden))

    def _hidden(self, weights: Weights, data: NDArray[Any]) -> NDArray[np.float32]:
        out = np.empty((len(data), weights[2].shape[1]), np.float32)
        mean = 0.0 if self.mean_ is None else self.mean_
        for start in range(0, len(out), _CHUNK):
            block = data[start : start + _CHUNK].astype(np.float64) - mean
            out[start : start + _CHUNK] = _forward(
                weights, (block * self.scale_).astype(np.float32)
            )[2]
        return out

    def _train(
        self, x: NDArray[np.float32], codes: NDArray[np.int64], rng: np.random.Generator
    ) -> list[Weights]:
        weights = _initial((x.shape[1], *self.hidden, int(codes.max()) + 1), rng)
        moments = [(np.zeros_like(w), np.zeros_like(w)) for w in weights]
        marks = {self.steps * (i + 1) // self.checkpoints for i in range(self.checkpoints)}
        snapshots: list[Weights] = []
        batches = _batches(len(x), min(self.batch, len(x)), rng)
        for step in range(1, self.steps + 1):
            rows = next(batches)
            _, gradient = loss_and_gradient(weights, x[rows], codes[rows])
            rate = self.rate * 0.5 * (1 + np.cos(np.pi * (step - 1) / self.steps))
            _adam(weights, gradient, moments, step, rate, self.decay)
            if step in marks:
                snapshots.append([w.copy() for w in weights])
        return snapshots


def loss_and_gradient(
    weights: Weights, x: NDArray[np.float32], codes: NDArray[np.int64]
) -> tuple[float, Weights]:
    """Mean cross-entropy and its gradient, layer by layer."""
    inputs, first, second, logits = _forward(weights, x)
    logits = logits - logits.max(axis=1, keepdims=True)
    exp = np.exp(logits)
    total = exp.sum(axis=1, keepdims=True)
    rows = np.arange(len(x))
    loss = float(np.mean(np.log(total[:, 0]) - logits[rows, codes]))
    delta = exp / total
    delta[rows, codes] -= 1
    delta /= np.float32(len(x))
    back2 = (delta @ weights[4].T) * (second > 0)
    back1 = (back2 @ weights[2].T) * (first > 0)
    return loss, [
        inputs.T @ back1, back1.sum(axis=0),
        first.T @ back2, back2.sum(axis=0),
        second.T @ delta, delta.sum(axis=0),
    ]  # fmt: skip


def _forward(weights: Weights, x: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    first = np.maximum(x @ weights[0] + weights[1], 0)
    second = np.maximum(first @ weights[2] + weights[3], 0)
    return x, first, second, second @ weights[4] + weights[5]


def _initial(sizes: tuple[int, ...], rng: np.random.Generator) -> Weights:
    """He initialisation, zero biases."""
    weights: Weights = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        scale = np.sqrt(2 / fan_in)
        weights.append((rng.standard_normal((fan_in, fan_out)) * scale).astype(np.float32))
        weights.append(np.zeros(fan_out, np.float32))
    return weights


def _batches(n: int, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    while True:
        order = rng.permutation(n)
        for start in range(0, n - size + 1, size):
            yield order[start : start + size]


def _adam(
    weights: Weights,
    gradient: Weights,
    moments: list[tuple[NDArray[np.float32], NDArray[np.float32]]],
    step: int,
    rate: float,
    decay: float,
) -> None:
    """One step of Adam with decoupled weight decay, in place."""
    correct1, correct2 = 1 - 0.9**step, 1 - 0.999**step
    for w, g, (m, v) in zip(weights, gradient, moments, strict=True):
        m += np.float32(0.1) * (g - m)
        v += np.float32(0.001) * (g * g - v)
        update = (m / np.float32(correct1)) / (np.sqrt(v / np.float32(correct2)) + 1e-8)
        w -= np.float32(rate) * (update + np.float32(decay) * w)
