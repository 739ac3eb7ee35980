"""From what the user asked to the cases that are played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

from efface.auditing.attack_names import check_name
from efface.auditing.scene import Scene, Shipped
from efface.errors import PlanError
from efface.registry import cards, find, make
from efface.results import Case, Knowledge, Mode, Spec, Threat
from efface.types import Attack


@dataclass(frozen=True)
class Rules:
    """The operating point and the protocol of an audit."""

    far: float = 1e-3
    mode: Mode = "strong"
    shots: tuple[int, ...] = (1, 4, 16)
    resamples: int = 5
    quota: int | None = None
    seed: int = 0
    bootstrap: int = 2000
    level: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.far < 1:
            raise PlanError(f"far must lie between 0 and 1, not {self.far}")
        if not 0 < self.level < 1:
            raise PlanError(f"level must lie between 0 and 1, not {self.level}")
        if self.mode not in ("strong", "paper"):
            raise PlanError(f"mode is 'strong' or 'paper', not {self.mode!r}")
        if not _whole(self.seed):
            raise PlanError(f"seed is a whole number from 0, not {self.seed!r}")
        if not _whole(self.bootstrap, 200):
            raise PlanError(f"bootstrap needs at least 200 resamples, not {self.bootstrap}")
        if not self.shots or not all(_whole(n, 1) for n in (self.resamples, *self.shots)):
            raise PlanError("shots and resamples are whole numbers from 1")


def _whole(number: Any, least: int = 0) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= least


def attack_specs(attacks: Sequence[str | Attack | Spec] | None) -> list[Spec]:
    """Names, instances or specs to specs; None means everything that reads embeddings."""
    known = [c.name for c in cards("attack") if c.accepts == "embedding"]
    chosen = known if attacks is None else attacks
    specs = [_spec(attack) for attack in chosen]
    if not specs:
        raise PlanError("an audit needs at least one attack")
    return specs


def _spec(attack: str | Attack | Spec) -> Spec:
    if isinstance(attack, str):
        check_name(attack)
        return Spec(attack.lower())
    if isinstance(attack, Spec):
        check_name(attack.name)
        make("attack", attack.name, **attack.params)
        return attack
    card = getattr(attack, "card", None)
    if card is None:
        raise PlanError(f"{type(attack).__name__} is not a registered attack: use @register")
    check_name(card.name)
    params: dict[str, Any] = {}
    for f in fields(attack):  # type: ignore[arg-type]
        value = getattr(attack, f.name)
        if not f.name.endswith("_") and value != f.default:
            params[f.name] = list(value) if isinstance(value, tuple) else value
    return Spec(card.name, params)


def threats(spec: Spec, shipped: Shipped, rules: Rules) -> list[Threat]:
    """What each attacker may know. Strong: everything it can have. Paper: parrot, k images of
    the people the eraser was fitted on (P9, P10)."""
    trained = getattr(find("attack", spec.name), "trained", True)
    if rules.mode == "paper":
        knows: Knowledge = "none"
        if trained:
            knows = "naive" if shipped.spec is None else "parrot"
        return [Threat(knowledge=knows, pool="fit", images=k) for k in rules.shots]
    if not trained:
        return [Threat(knowledge="none")]
    if shipped.spec is None:
        return [Threat(knowledge="naive")]
    return [Threat(knowledge="naive"), Threat(knowledge="parrot")]


def cases(scene: Scene, shipped: Shipped, specs: Sequence[Spec], rules: Rules) -> list[Case]:
    """Every attacker against one release; ``family`` counts those that compete."""
    specs = [_in_mode(spec, rules) for spec in specs if _plays(spec, rules)]
    pairs = [(spec, threat) for spec in specs for threat in threats(spec, shipped, rules)]
    return [case(scene, shipped, spec, threat, rules, len(pairs)) for spec, threat in pairs]


def _plays(spec: Spec, rules: Rules) -> bool:
    """Paper mode is the paper's own: attackers that it has not are left out."""
    return rules.mode == "strong" or not getattr(find("attack", spec.name), "strong_only", False)


def _in_mode(spec: Spec, rules: Rules) -> Spec:
    """Paper mode plays an attack as the paper has it, unless the user has set it up."""
    paper = getattr(find("attack", spec.name), "paper_params", {})
    return Spec(spec.name, {**paper, **spec.params}) if rules.mode == "paper" else spec


def case(
    scene: Scene, shipped: Shipped, spec: Spec, threat: Threat, rules: Rules, family: int = 1
) -> Case:
    paper = rules.mode == "paper"
    return Case(
        subject=scene.digest,
        release=shipped.name,
        protection=shipped.spec,
        attack=spec,
        threat=threat,
        far=rules.far,
        mode=rules.mode,
        family=family,
        resamples=rules.resamples if paper else 1,
        quota=rules.quota if paper else None,
        seed=rules.seed,
    )
