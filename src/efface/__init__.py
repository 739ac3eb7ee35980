"""efface finds the identity left in face representations, takes it out, and attacks again."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from efface._version import __version__

if TYPE_CHECKING:
    from efface.api import audit
    from efface.attributing.run import attribution
    from efface.auditing.meter import meter
    from efface.data.readers import load
    from efface.data.samples import samples
    from efface.data.splits import split
    from efface.export.safetensors import load_eraser, save_eraser
    from efface.protect.linear.inlp import INLP
    from efface.protect.linear.isp import ISP
    from efface.protect.linear.leace import LEACE
    from efface.protect.linear.rlace import RLACE
    from efface.protect.linear.sal import SAL
    from efface.registry import cards

_HOME = {
    "attribution": "efface.attributing.run",
    "audit": "efface.api",
    "cards": "efface.registry",
    "load": "efface.data.readers",
    "samples": "efface.data.samples",
    "split": "efface.data.splits",
    "meter": "efface.auditing.meter",
    "load_eraser": "efface.export.safetensors",
    "save_eraser": "efface.export.safetensors",
    "ISP": "efface.protect.linear.isp",
    "LEACE": "efface.protect.linear.leace",
    "SAL": "efface.protect.linear.sal",
    "INLP": "efface.protect.linear.inlp",
    "RLACE": "efface.protect.linear.rlace",
}

__all__ = [
    "INLP",
    "ISP",
    "LEACE",
    "RLACE",
    "SAL",
    "__version__",
    "attribution",
    "audit",
    "cards",
    "load",
    "load_eraser",
    "meter",
    "samples",
    "save_eraser",
    "split",
]


def __getattr__(name: str) -> Any:
    """Import on first use: ``import efface`` stays light."""
    if name not in _HOME:
        raise AttributeError(f"module 'efface' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
