"""A stored eraser as a scikit-learn transformer, for a step of a ``Pipeline``.

``efface.ISP`` and the other methods are transformers already; this is for an eraser that was
loaded from a file and has nothing to fit.
"""

from __future__ import annotations

from typing import Any

from efface.extras import need
from efface.protect.linear.eraser import LinearEraser


def sklearn_transformer(eraser: LinearEraser) -> Any:
    """A transformer around the eraser: ``fit`` learns nothing, ``transform`` erases."""
    need("sklearn", "sklearn")
    from efface.export.sklearn_transformer import EraserTransformer

    return EraserTransformer(eraser)
