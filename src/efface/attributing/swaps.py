"""Another person's face in a crop: by a transplant, or by a network where there is one (P23)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from efface.attributions import Matched
from efface.faces.face import Face, Outcome, Pixels
from efface.faces.transplant import transplant


@dataclass(frozen=True, eq=False)
class Swap:
    """Which way faces are exchanged; picklable, a network is loaded once in each process."""

    network: str = ""
    """Path of a swap network; empty for a transplant."""
    recogniser: Any = None
    """The encoder it was trained with."""

    @property
    def name(self) -> Matched:
        return "swap network" if self.network else "transplant"

    @property
    def digest(self) -> str:
        """Of what it depends on beside this code: the network, and whose vectors it reads."""
        return f"{self._opened().digest} {self._read_by}" if self.network else ""

    def check(self) -> None:
        """Load the network, so that what is wrong with it shows before any work."""
        if self.network:
            self._opened()

    def __call__(
        self, crop: Pixels, face: Face, donor: Pixels, other: Face
    ) -> tuple[Pixels, Outcome, float]:
        """The crop with the donor's face, what became of it, and the share of the face for which
        the donor had pixels."""
        run = self._opened() if self.network else transplant
        made = run([crop], face.landmarks[None], [donor], other.landmarks[None])
        return made.pictures[0], made.outcomes[0], float(made.covered[0])

    def _opened(self) -> Any:
        place = (self.network, self._read_by)
        if place not in _HELD:
            from efface.faces.swap_network import open_swap_network

            read = self.recogniser
            _HELD[place] = open_swap_network(
                self.network, lambda faces: read.encode(list(faces)), threads=1
            )
        return _HELD[place]

    @property
    def _read_by(self) -> str:
        return str(self.recogniser.facts.weights)


_HELD: dict[tuple[str, str], Any] = {}
"""Networks of this process, by their files and recognisers."""
