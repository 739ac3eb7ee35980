"""What all encoders here do alike: they load when first used, and take pictures in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from efface.encoders.numbers import Network, batched
from efface.errors import DataError
from efface.facts import EncoderFacts
from efface.types import Floats, Picture

BATCH = 32


class NetworkEncoder(ABC):
    """A network with its facts. Pickled, it is what it was made from: weights load again."""

    batch: int = BATCH

    @abstractmethod
    def _loaded(self) -> tuple[EncoderFacts, Network]:
        """The facts, and the function from a batch of numbers to vectors."""

    @cached_property
    def _ready(self) -> tuple[EncoderFacts, Network]:
        return self._loaded()

    @property
    def facts(self) -> EncoderFacts:
        return self._ready[0]

    def encode(self, images: Sequence[Picture] | Picture, /) -> Floats:
        """Vectors (n x d, float32) as the network gives them, not brought to unit length."""
        facts, network = self._ready
        return batched(
            images, facts.preprocessing, facts.dimension, self.batch, network, self._numbers
        )

    def check(self) -> None:
        """Load now, so that an unusable file is refused before any work."""
        if self.batch < 1:
            raise DataError(f"a batch of {self.batch} pictures: give at least 1")
        _ = self._ready

    @property
    def _numbers(self) -> Any:
        """The type of numbers that the network is fed."""
        return np.float32

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_ready"}
