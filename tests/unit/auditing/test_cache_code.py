"""A cached measurement is taken only for the same attack: code, parameters and defaults."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import efface
from efface import registry
from efface.attack.verify.comparison import unit_claim
from efface.attack.verify.ridge import Ridge
from efface.auditing import code
from efface.auditing.code import attack_digest, package_digest
from efface.data import synthetic
from efface.results import Spec
from efface.types import Claim, Release, Samples

PLUG_IN = """
from dataclasses import dataclass
from typing import ClassVar
from efface.attack.verify.comparison import unit_claim
from efface.registry import register
from efface.results import Card

@register(Card(role="attack", name="plug", summary="s", accepts="embedding",
               yields="comparison vectors", paper="none"))
@dataclass
class Plug:
    power: float = 1.0
    trained: ClassVar[bool] = False
    def fit(self, shadow, threat, rng):
        return self
    def options(self):
        return (self,)
    def settings(self):
        return {}
    def run(self, release):
        return unit_claim(helped(release.data))

def helped(x):
    return x
"""


@pytest.fixture(scope="module")
def samples() -> Samples:
    return synthetic.embedding_world(people=60, images=5, dim=24, rank=6, context_rank=6).samples


@pytest.fixture
def plug(tmp_path: Path) -> Iterator[Any]:
    """Load a version of the plug-in's file, as a new process would."""
    entries = dict(registry._ENTRIES)

    def load(text: str) -> ModuleType:
        path = tmp_path / f"plug_{len(list(tmp_path.glob('*.py')))}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("plug_in_of_a_test", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        registry._ENTRIES.pop(("attack", "plug"), None)
        spec.loader.exec_module(module)
        return module

    yield load
    registry._ENTRIES.clear()
    registry._ENTRIES.update(entries)
    sys.modules.pop("plug_in_of_a_test", None)


def tar(samples: Samples, attack: str, cache: Path) -> float | None:
    report = efface.audit(samples, attacks=[attack], far=1e-2, bootstrap=200, sweep=(), cache=cache)
    return report.worst().tar.value


def test_a_changed_attack_is_played_again(
    samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tar(samples, "ridge", tmp_path)
    assert tar(samples, "ridge", tmp_path) == before

    def broken(self: Ridge, release: Release) -> Claim:
        return unit_claim(np.random.default_rng(0).standard_normal((len(release.data), 8)))

    monkeypatch.setattr(Ridge, "run", broken)
    after = tar(samples, "ridge", tmp_path)
    assert before is not None
    assert after is not None
    assert after < before / 2
    monkeypatch.undo()
    assert tar(samples, "ridge", tmp_path) == before


def test_defaults_and_a_helper_in_the_module_are_part_of_it(plug: Any) -> None:
    plug(PLUG_IN)
    digest = attack_digest(Spec("plug"))
    plug(PLUG_IN)
    assert attack_digest(Spec("plug")) == digest
    assert attack_digest(Spec("plug", {"power": 1.0})) == digest
    assert attack_digest(Spec("plug", {"power": 2.0})) != digest
    plug(PLUG_IN.replace("power: float = 1.0", "power: float = 2.0"))
    assert attack_digest(Spec("plug")) != digest
    plug(PLUG_IN.replace("    return x\n", "    return x * x\n"))
    assert attack_digest(Spec("plug")) != digest


def test_a_plug_in_that_is_improved_is_played_again(
    samples: Samples, tmp_path: Path, plug: Any
) -> None:
    cache = tmp_path / "cache"
    plug(PLUG_IN)
    before = tar(samples, "plug", cache)
    plug(PLUG_IN.replace("    return x\n", "    return x[:, :2]\n"))
    assert tar(samples, "plug", cache) != before


def test_any_file_that_takes_part_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(code._SOURCE, tmp_path / "efface", ignore=shutil.ignore_patterns("*.pyc"))
    fresh = package_digest.__wrapped__
    now = fresh()
    monkeypatch.setattr(code, "_SOURCE", tmp_path / "efface")
    assert fresh() == now
    for name in ("attack/verify/mlp.py", "judge/verification.py", "measure/tails.py",
                 "protect/linear/eraser.py", "auditing/run.py", "types.py"):  # fmt: skip
        with (tmp_path / "efface" / name).open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        assert fresh() != now
        now = fresh()
    (tmp_path / "efface" / "report" / "html.py").write_text("", encoding="utf-8")
    assert fresh() == now


def test_without_a_cache_no_source_is_read(
    samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    from efface.auditing import table

    def refuse(*args: Any) -> str:
        raise AssertionError("hashed the source")

    monkeypatch.setattr(table, "attack_digest", refuse)
    efface.audit(samples, attacks=["cosine"], far=1e-2, bootstrap=200, sweep=())
