"""Face or surroundings: FII with whiskers and as a distribution, CPI curves, B* as a histogram."""

from __future__ import annotations

from collections.abc import Sequence

from efface.attributions import Finding, Histogram, Importance, Preference, Revelation
from efface.report.charts import axes, svg
from efface.report.charts.marks import Key, Style, legend, series
from efface.report.words import clip, interval
from efface.results import Estimate

_LEFT, _RIGHT, _ROW = 112.0, svg.WIDTH - 152.0, 21.0
_MOST = 8


def importance(findings: Sequence[Finding], uid: str) -> str:
    """FII of every release: over strangers, and as published, hollow."""
    rows = [row for k, f in enumerate(_with(findings, "importance")) for row in _rows(k, f)]
    ends = [e for _, x, _ in rows for e in (x.value, x.low, x.high) if e is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    pad = 0.06 * max(high - low, 0.1)
    scale = axes.Scale(low - pad, high + pad, _LEFT, _RIGHT)
    bottom = 12.0 + _ROW * len(rows)
    body = [_grid(v, scale, 4.0, bottom) for v in axes.steps(scale.low, scale.high, 4)]
    body.append(svg.line((scale(0), 4.0), (scale(0), bottom), "setting"))
    for k, (label, estimate, look) in enumerate(rows):
        body.append(_whiskered(label, estimate, look, scale, 16.0 + _ROW * k))
    body.append(svg.text(0.0, bottom + 36, "← surroundings", "axis-title"))
    body.append(svg.text(_RIGHT, bottom + 36, "FII     face →", "axis-title", "end"))
    said = "; ".join(f"{label}: {interval(estimate)}" for label, estimate, _ in rows)
    return svg.document(uid, "Face importance index of each release", said, bottom + 44, body)


def distribution(findings: Sequence[Finding], uid: str) -> str:
    """How often each FII occurs among the pairs, beside the most frequent of its release."""
    shown = [(k, f, f.importance) for k, f in enumerate(_with(findings, "importance"))]
    held = [(k, f, i.distribution) for k, f, i in shown if i is not None]
    names, taken = legend([Key(clip(f.release, 20), _look(k).line) for k, f, _ in held], 0.0, 8.0,
                          svg.WIDTH)  # fmt: skip
    low = min(h.edges[0] for _, _, h in held)
    high = max(h.edges[-1] for _, _, h in held)
    frame = axes.frame((low, high, False), (0, 1.02, False), taken)
    ticks = [(v, f"{v:.3g}" if v else "0") for v in axes.steps(low, high)]
    body = [names, frame.draw(ticks, [], "FII of a pair, as published",
                              "how often (own peak = top)")]  # fmt: skip
    body.append(svg.line((frame.x(0), frame.y.start), (frame.x(0), frame.y.end), "setting"))
    for k, _, h in held:
        body.append(svg.polyline([frame.at(x, y) for x, y in _outline(h)], _look(k).line))
    said = "; ".join(
        f"{f.release}: {sum(h.counts):,} pairs, {_above(h):.0%} above 0" for _, f, h in held
    )
    return svg.document(uid, "Distribution of FII over pairs", said, frame.y.start + 44, body)


def preference(findings: Sequence[Finding], uid: str) -> str:
    """CPI over the blur of the faces, each release with its band; one half is the crossing."""
    shown = [(k, f, f.preference) for k, f in enumerate(_with(findings, "preference"))]
    held = [(k, f, p) for k, f, p in shown if p is not None]
    keys = [Key(clip(f.release, 20), _look(k).line, _look(k)) for k, f, _ in held]
    names, taken = legend([*keys, Key("one half", "reference")], 0.0, 8.0, svg.WIDTH)
    sigmas = held[0][2].sigmas
    frame = axes.frame((sigmas[0], sigmas[-1], False), (0, 1, False), taken)
    frame = axes.Frame(
        axes.Scale(sigmas[0], sigmas[-1], frame.x.start + 8, frame.x.end - 8), frame.y
    )
    ticks = [(s, f"{s:g}") for s in sigmas]
    body = [names, frame.draw(ticks, axes.percents(0, 1), "blur of the faces (σ in pixels)",
                              "nearer to the same surroundings (CPI)")]  # fmt: skip
    half = frame.y(0.5)
    body.append(svg.line((frame.x.start, half), (frame.x.end, half), "reference"))
    for k, _, p in held:
        body += _curve(frame, p, _look(k))
    said = "; ".join(
        f"{f.release}: {interval(p.cpi[0])} without blur, {interval(p.cpi[-1])} at the most"
        for _, f, p in held
    )
    return svg.document(uid, "Context preference over blur", said, frame.y.start + 44, body)


def revelation(findings: Sequence[Finding], uid: str) -> str:
    """How many triplets are overtaken first at each level; the ends are censored."""
    shown = [(k, f, f.revelation) for k, f in enumerate(_with(findings, "revelation"))]
    held = [(k, f, r) for k, f, r in shown if r is not None]
    names, taken = legend([Key(clip(f.release, 20), mark=_bar_look(k)) for k, f, _ in held], 0.0,
                          8.0, svg.WIDTH)  # fmt: skip
    labels = _labels(held[0][2])
    frame = axes.frame((0, len(labels), False), (0, 1, False), taken)
    ticks = [(i + 0.5, label) for i, label in enumerate(labels)]
    body = [names, frame.draw(ticks, axes.percents(0, 1), "surroundings shown when overtaken (B*)",
                              "share of the triplets")]  # fmt: skip
    for place, (k, _, r) in enumerate(held):
        body += _bars(frame, r, k, place, len(held))
    said = "; ".join(
        f"{f.release}: median {interval(r.median)}, {r.counts[0]:,} overtaken at once, "
        f"{r.never:,} never"
        for _, f, r in held
    )
    title = "Background revelation threshold of the triplets"
    return svg.document(uid, title, said, frame.y.start + 44, body)


def _with(findings: Sequence[Finding], part: str) -> list[Finding]:
    return [f for f in findings if getattr(f, part) is not None][:_MOST]


def _look(k: int) -> Style:
    return series(k)


def _rows(k: int, found: Finding) -> list[tuple[str, Estimate, Style]]:
    held = found.importance
    if not isinstance(held, Importance):
        return []
    look = _look(k)
    published = Style(look.line, f"{look.mark} hollow".replace("solid", ""), "circle")
    name = clip(found.release, 15)
    return [(name, held.specific, look), ("as published", held.fii, published)]


def _whiskered(label: str, found: Estimate, look: Style, scale: axes.Scale, y: float) -> str:
    words = svg.text(0.0, y + 4, label, "tick")
    if found.value is None:
        return words + svg.text(_LEFT + 4, y + 4, "too little data", "tick")
    parts = [words]
    if found.low is not None and found.high is not None:
        low, high = scale(found.low), scale(found.high)
        parts.append(svg.line((low, y), (high, y), f"whisker {look.line.split(' d')[0]}"))
        parts += [svg.line((x, y - 4), (x, y + 4), f"whisker {look.line.split(' d')[0]}")
                  for x in (low, high)]  # fmt: skip
    parts.append(look.dot(scale(found.value), y))
    parts.append(svg.text(_RIGHT + 10, y + 4, _short(found), "value"))
    return "".join(parts)


def _short(found: Estimate) -> str:
    if found.low is None or found.high is None or found.value is None:
        return "–"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]".replace("-", "−")


def _grid(value: float, scale: axes.Scale, top: float, bottom: float) -> str:
    x, words = scale(value), f"{value:.3g}".replace("-", "−") if abs(value) > 1e-9 else "0"
    label = svg.text(x, bottom + 18, words, "tick", "middle")
    return svg.line((x, top), (x, bottom), "grid") + label


def _outline(held: Histogram) -> list[svg.Point]:
    """From the first filled bin to the last, as steps."""
    filled = [i for i, count in enumerate(held.counts) if count]
    top = max(held.counts)
    points = [(held.edges[filled[0]], 0.0)]
    for i in range(filled[0], filled[-1] + 1):
        points += [(held.edges[i], held.counts[i] / top), (held.edges[i + 1], held.counts[i] / top)]
    return [*points, (held.edges[filled[-1] + 1], 0.0)]


def _above(held: Histogram) -> float:
    over = sum(c for c, edge in zip(held.counts, held.edges, strict=False) if edge >= -1e-12)
    return over / max(sum(held.counts), 1)


def _curve(frame: axes.Frame, held: Preference, look: Style) -> list[str]:
    points = [(s, e) for s, e in zip(held.sigmas, held.cpi, strict=True) if e.value is not None]
    high = [frame.at(s, e.high) for s, e in points if e.high is not None]
    low = [frame.at(s, e.low) for s, e in points if e.low is not None]
    parts = [svg.polygon([*high, *low[::-1]], f"bar {look.mark} faint")] if len(low) > 1 else []
    middle = [frame.at(s, e.value) for s, e in points if e.value is not None]
    if len(middle) > 1:
        parts.append(svg.polyline(middle, look.line))
    return [*parts, *(look.dot(x, y, 3.5) for x, y in middle)]


def _labels(held: Revelation) -> list[str]:
    first, *between = (f"{level:.0%}".replace("%", " %") for level in held.levels)
    return [f"≤ {first}", *between, "never"]


def _bars(frame: axes.Frame, held: Revelation, k: int, place: int, of: int) -> list[str]:
    counts = [*held.counts, held.never]
    total, width = max(sum(counts), 1), 0.8 / of
    parts = []
    for i, count in enumerate(counts):
        left, right = (frame.x(i + 0.1 + width * (place + j)) for j in (0, 1))
        top = frame.y(count / total)
        box = {"x": left, "y": top, "width": right - left, "height": frame.y.start - top}
        parts.append(svg.tag("rect", **box, class_=f"bar {_bar_look(k).mark}"))
    return parts


def _bar_look(k: int) -> Style:
    look = series(k)
    return Style(look.line, look.mark.replace("hollow", "solid"), "square")
