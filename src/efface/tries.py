"""One vector where a try takes several pictures."""

from __future__ import annotations

import numpy as np

from efface.types import Floats, TemplateScheme


def tries_of(scheme: TemplateScheme, vectors: Floats) -> Floats:
    """Each vector as a try: shown as often as pictures of a try have to pass."""
    settings = scheme.settings()
    votes = settings.get("votes") if settings.get("probes") == "vote" else 1
    return np.repeat(vectors[:, None], votes if isinstance(votes, int) else 1, axis=1)
