"""Two kinds of scheme: one whose record is a hash that is reproduced, one that compares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from efface.errors import PlanError
from efface.hazmat.derive import KEY_BYTES, same
from efface.hazmat.expand import stream
from efface.protect.template.base import Bools, TemplateShell
from efface.protect.template.hardening import PAPER
from efface.protect.template.parts import Filled, Layout, bytes_part, packed_parts
from efface.protect.template.pictures import Matrix
from efface.types import Samples


@dataclass(eq=False, kw_only=True)
class Extractor(TemplateShell):
    """A scheme whose record is H_k of something that a probe decodes to: equal or not."""

    radius: ClassVar[str] = "scale"
    looser: ClassVar[bool] = False
    covered: ClassVar[frozenset[str]] = frozenset({"sketch"})

    @abstractmethod
    def _messages(self, parts: Filled, x: Matrix) -> list[bytes]:
        """What each row decodes to, as the bytes that are hashed."""

    def _record_layout(self) -> Layout:
        return {"digest": (np.uint8, (KEY_BYTES,))}

    def _helper_layout(self) -> Layout:
        return {"key": (np.uint8, (KEY_BYTES,))}

    def _hashed(self, parts: Filled, message: bytes) -> bytes:
        bound = packed_parts({n: parts[n] for n in self._helper_layout()})
        if "owner" in parts:
            message = parts["owner"].tobytes() + message
        return self.hardening.derive(parts["key"].tobytes(), message, bound)

    def _recorded(
        self, parts: Filled, root: bytes, owner: Filled, message: Callable[[Filled], bytes]
    ) -> Filled:
        """The parts with their key and the digest of what the enrolled vector decodes to."""
        parts |= {"key": bytes_part(stream(root, "key", KEY_BYTES)), **owner}
        parts["digest"] = bytes_part(self._hashed(parts, message(parts)))
        return parts

    def _accept(self, parts: Filled, x: Matrix) -> Bools:
        """Each different message is hashed once; a single try always costs one hash."""
        messages = self._messages(parts, x)
        record = parts["digest"].tobytes()
        verdict = {m: same(self._hashed(parts, m), record) for m in dict.fromkeys(messages)}
        return np.array([verdict[m] for m in messages], bool)


@dataclass(eq=False, kw_only=True)
class Comparer(TemplateShell):
    """A scheme that compares by a distance: within ``threshold`` or not. It hashes nothing."""

    radius: ClassVar[str] = "threshold"
    looser: ClassVar[bool] = True
    threshold: float

    def check(self) -> None:
        super().check()
        if not 0 < self.threshold < float("inf"):
            raise PlanError(f"{self.card.name}: threshold takes a number above zero")
        if self.hardening.bind or self.hardening.kdf != PAPER.kdf:
            raise PlanError(
                f"{self.card.name}: compares by distance and hashes nothing: neither a key "
                "derivation nor bind can harden it; a pepper can"
            )

    @abstractmethod
    def _distances(self, parts: Filled, x: Matrix) -> Matrix: ...

    def _learn(self, samples: Samples) -> float:
        return self.threshold

    def _accept(self, parts: Filled, x: Matrix) -> Bools:
        return np.asarray(self._distances(parts, x) <= self.radius_)
