"""Where cases are played: a scene with its rules and the measurements already made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from efface.auditing.cache import Cache
from efface.auditing.cases import Rules
from efface.auditing.code import attack_digest
from efface.auditing.run import Player, run
from efface.auditing.scene import Scene, Shipped
from efface.progress import Progress
from efface.results import Case, Measurement


@dataclass(frozen=True, eq=False)
class Table:
    """A scene with its rules and its cache: plays cases."""

    scene: Scene
    rules: Rules
    cache: Cache | None

    @property
    def player(self) -> Player:
        return Player(self.scene, self.rules.bootstrap, self.rules.level)

    @property
    def brief(self) -> Player:
        return Player(self.scene, min(self.rules.bootstrap, 1000), self.rules.level, brief=True)

    def play(self, case: Case, shipped: Shipped, player: Player) -> Measurement:
        if self.cache is None:
            return run(case, shipped, player)
        extra = _beside(case, player)
        found = self.cache.get(case, extra)
        if found is None:
            found = run(case, shipped, player)
            self.cache.put(found, extra)
        return found

    def progress(self, what: str, total: int) -> Progress[Measurement]:
        return Progress(what, total)


def _beside(case: Case, player: Player) -> str:
    """What a measurement depends on that the case does not hold."""
    settings = f"{player.bootstrap} {player.level} {player.brief}"
    return f"{settings} {_rows_digest(player)} {attack_digest(case.attack)}"


def _rows_digest(player: Player) -> str:
    if player.calibration is None or player.test is None:
        return ""
    sha = hashlib.sha256(player.calibration.tobytes())
    sha.update(player.test.tobytes())
    return sha.hexdigest()
