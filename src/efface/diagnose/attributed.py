"""Estimates of FII, CPI and B* with intervals over people, and what they say together."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from efface.attributions import (
    Crossing,
    Crossover,
    Histogram,
    Importance,
    Preference,
    Revelation,
    Side,
)
from efface.diagnose import attribution as one
from efface.diagnose.attribution import Similarities, Values
from efface.measure.means import METHOD, Clusters, difference, mean, share
from efface.results import Estimate

SLACK, FLAT = 0.01, 0.05
"""Falls that a rising similarity may show, and how far a flat one may be from its mean."""
_MOST_BINS = 30


def importance(cosines: Similarities, clusters: Clusters, strangers: Clusters) -> Importance | None:
    """None where there is no pair; ``strangers`` knows who the stranger of each query is."""
    values = one.face_importance(cosines.whole, cosines.face, cosines.ring)
    others = one.face_importance(*cosines.strangers.T)
    there = np.isfinite(values)
    if not there.any():
        return None
    whole = np.where(there, cosines.whole, np.nan)
    return Importance(
        fii=mean(values, clusters),
        strangers=mean(others, strangers),
        specific=mean(values - others, strangers),
        face=mean(whole - cosines.face, clusters),
        ring=mean(whole - cosines.ring, clusters),
        similarity=mean(whole, clusters),
        distribution=histogram(values[there]),
    )


def preference(
    cosines: Similarities, sigmas: tuple[float, ...], clusters: Clusters
) -> Preference | None:
    """CPI at every sigma, its change, and the sigma at which it reaches one half; ``clusters``
    knows whose face is in each context match."""
    votes = one.prefers_context(cosines.identity, cosines.context)
    votes = np.where(np.isfinite(votes).all(axis=1, keepdims=True), votes, np.nan)
    if not np.isfinite(votes).any():
        return None
    columns = list(votes.T)
    cpi = [share(column, clusters) for column in columns]
    few = cpi[0].value is None
    return Preference(
        sigmas=list(sigmas),
        cpi=cpi,
        ties=[int((column == 0.5).sum()) for column in columns],
        delta=difference(columns[-1], columns[0], clusters),
        crossover=Crossover(crossing="not measured")
        if few
        else _crossover(columns, sigmas, clusters),
    )


def revelation(
    cosines: Similarities, levels: tuple[float, ...], own: Clusters, clusters: Clusters
) -> Revelation | None:
    """The median of B*, how much of it is censored, and whether the series behave; ``clusters``
    knows whose face is in each context match, ``own`` is of the pairs of one person."""
    first = one.overtaken_at(cosines.identity_shown, cosines.context_shown)
    there = np.isfinite(cosines.identity_shown - cosines.context_shown).all(axis=1)
    known = first >= 0
    if not known.any():
        return None
    over = [share(np.where(known, first <= k, np.nan), clusters) for k in range(len(levels))]
    counts = np.bincount(first[known], minlength=len(levels) + 1)
    means = [
        np.where(known[:, None], shown, np.nan)
        for shown in (cosines.context_shown, cosines.identity_shown)
    ]
    return Revelation(
        levels=list(levels),
        median=median(over, levels),
        counts=[int(count) for count in counts[:-1]],
        never=int(counts[-1]),
        overtaken=over,
        without_preference=int((there & ~known).sum()),
        context_rises=share(one.rises(means[0], SLACK), clusters),
        identity_flat=share(one.stays(means[1], FLAT), own),
        slack=SLACK,
        flat=FLAT,
        context_similarity=[float(x) for x in np.nanmean(means[0], axis=0)],
        identity_similarity=[float(x) for x in np.nanmean(means[1], axis=0)],
    )


def median(overtaken: list[Estimate], levels: tuple[float, ...]) -> Estimate:
    """The median of B* from the shares overtaken at each level: it is at most a level where half
    of the triplets are overtaken there, and each end of its interval is where an end of the
    shares' says so. A bootstrap of the median itself would stand still on five values."""
    ladder = [0.0, *levels[1:], 1.0]

    def at(shares: list[float | None]) -> float | None:
        if any(s is None for s in shares):
            return None
        return next((v for v, s in zip(ladder, shares, strict=False) if s and s >= 0.5), 1.0)

    last = overtaken[-1]
    value = at([e.value for e in overtaken])
    method = f"{METHOD}; from the shares overtaken" if value is not None else last.method
    return Estimate(
        value, at([e.high for e in overtaken]), at([e.low for e in overtaken]), last.n,
        last.clusters, method, last.level,
    )  # fmt: skip


def votes(
    fii: Importance | None, cpi: Preference | None, bstar: Revelation | None
) -> dict[str, Side]:
    """What each measure says by its whole interval; FII against 0, CPI without blur and B*
    against one half."""
    return {
        "FII": _against(fii.fii if fii else None, 0.0, "face"),
        "FII over strangers": _against(fii.specific if fii else None, 0.0, "face"),
        "CPI": _against(cpi.cpi[0] if cpi else None, 0.5, "context"),
        "B*": _against(bstar.median if bstar else None, 0.5, "face"),
    }


def side(said: dict[str, Side]) -> Side:
    """FII over strangers, CPI and B* all for the face; or CPI and B* for the context, and FII over
    strangers not for the face. It cannot be for the context: that of strangers is no other."""
    fii, cpi, bstar = (said[name] for name in ("FII over strangers", "CPI", "B*"))
    if fii == cpi == bstar == "face":
        return "face"
    return "context" if cpi == bstar == "context" and fii != "face" else "undecided"


def histogram(values: Values) -> Histogram:
    """Bins of a round width, at most thirty, with an edge at 0."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    rough = max(high - low, 1e-9) / _MOST_BINS
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / width), max(math.ceil(high / width), 1)
    edges = np.arange(first, last + 1) * width
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    return Histogram(edges=[float(e) for e in edges], counts=[int(c) for c in counts])


def _against(found: Estimate | None, middle: float, above: Side) -> Side:
    if found is None or found.value is None or found.low is None or found.high is None:
        return "undecided"
    below: Side = "context" if above == "face" else "face"
    return above if found.low > middle else below if found.high < middle else "undecided"


def _crossover(
    columns: list[NDArray[np.float64]], sigmas: tuple[float, ...], clusters: Clusters
) -> Crossover:
    """The crossing in the sample and in every resample; an end that lies outside is open."""
    x = np.array(sigmas)
    found = one.crossover(x, np.array([np.nanmean(column) for column in columns]))
    curves = np.stack([clusters.draws(column) for column in columns], axis=1)
    curves = curves[np.isfinite(curves).all(axis=1)]
    each = [one.crossover(x, curve) for curve in curves]
    places = np.array([np.inf if at is None else at for at in each])
    error = (1 - clusters.level) / 2
    low, high = np.quantile(places, [error, 1 - error], method="nearest")
    state: Crossing = "never"
    if found is not None:
        state = "crossed" if np.isfinite(found) else "from the start"
    return Crossover(
        crossing=state,
        sigma=found if found is not None and np.isfinite(found) else None,
        low=float(low) if np.isfinite(low) else None,
        high=float(high) if np.isfinite(high) else None,
        crossed=float(np.isfinite(places).mean()),
    )
