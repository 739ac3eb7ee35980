"""Numbers in words and in type: exact where a target is named, honest where a figure is rounded."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction

from efface.results import Estimate

DASH = "–"
_BASES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
# Control characters, lone surrogates, non-characters, and the marks that reorder text: none of
# them belongs in a name, several are illegal in XML, and some can make a page say another thing.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def clean(text: str) -> str:
    """The text with characters that hide or reorder made visible as U+FFFD."""
    return _UNSAFE.sub("\ufffd", text)


def clip(text: str, limit: int) -> str:
    """One clean line of at most ``limit`` characters."""
    line = " ".join(clean(text[: 8 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def width(text: str, size: float) -> float:
    """Estimated width of a line of sans-serif type, erring on the wide side."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return size * (0.56 * (len(text) - wide) + wide)


# --- in words -------------------------------------------------------------------------------


def one_in(rate: float) -> str:
    """``0.001`` -> ``1 in 1,000``: exact for every rate that is a plain fraction (P12, P13)."""
    if rate <= 0:
        return "none"
    fraction = Fraction(rate).limit_denominator(10**9)
    # A target has few digits or is one in something; what was measured is a fraction only by luck.
    plain = fraction.numerator == 1 or 10**9 % fraction.denominator == 0
    if plain and fraction.numerator < 1000 and float(fraction) == rate:
        return f"{fraction.numerator:,} in {fraction.denominator:,}"
    if rate < 1e-12:
        return f"{rate:.2g}"
    return f"about 1 in {1 / rate:,.0f}" if rate < 0.2 else f"about {share(rate)}"


def exactly(rate: float) -> str:
    """A limit that somebody chose: ``0.05`` -> ``5 of 100``, never rounded."""
    for base in _BASES:
        count = round(rate * base)
        if count / base == rate:
            return f"{count:,} of {base:,}"
    return percent(rate)


def share(rate: float) -> str:
    """A measured share: ``0.621`` -> ``62 of 100``, on the smallest base that is within 5 %.

    What is left to 1 is held to the same 5 %, so that 0.996 never reads ``100 of 100``.
    """
    base = _base(rate)
    count = round(rate * base)
    if count in (0, base) and rate not in (0, 1):
        return f"fewer than 1 of {base:,}" if count == 0 else f"more than {base - 1:,} of {base:,}"
    return f"{count:,} of {base:,}"


def between(low: float, high: float) -> str:
    """An interval, rounded outwards: ``from 55 to 69 of 100``."""
    base = max(_base(low, _down), _base(high, _up))
    return f"from {_down(low * base):,} to {_up(high * base):,} of {base:,}"


def at_most(high: float) -> str:
    """An upper end, rounded up: ``7 of 100``."""
    base = _base(high, _up)
    return f"{_up(high * base):,} of {base:,}"


def times(ratio: float) -> str:
    """How many times chance, to two digits: ``620 times``."""
    ratio = min(ratio, 1e15)
    if ratio < 1:
        return f"{ratio:.2g} times"
    digits = max(0, 1 - math.floor(math.log10(ratio)))
    rounded = round(ratio, digits) if ratio < 100 else float(f"{ratio:.2g}")
    return f"{rounded:,.{digits if rounded < 10 else 0}f} times"


def _up(value: float) -> int:
    # 0.07 * 100 is 7.000000000000001: the noise of the product is no reason to say 8.
    return math.ceil(round(value, 6))


def _down(value: float) -> int:
    return math.floor(round(value, 6))


def _base(rate: float, rounded: Callable[[float], int] = round) -> int:
    """The smallest base on which rounding moves neither the share nor its rest by over 5 %."""
    for base in _BASES:
        moved = abs(rounded(rate * base) / base - rate)
        if moved <= 0.05 * rate + 1e-15 and moved <= 0.05 * (1 - rate) + 1e-15:
            return base
    return _BASES[-1]


# --- in type --------------------------------------------------------------------------------


def rate(value: float | None, digits: int = 4) -> str:
    """Four significant digits, more where they would read as 0 or 1 without being it."""
    if value is None:
        return DASH
    text = f"{value:.{digits}g}"
    if float(text) == 1 and value != 1 and digits < 12:
        return rate(value, digits + 1)
    return text


def percent(value: float | None, digits: int = 3) -> str:
    """``0.621`` -> ``62.1 %``; never ``100 %`` for less than all."""
    if value is None:
        return DASH
    text = f"{100 * value:.{digits}g}"
    if float(text) == 100 and value != 1 and digits < 12:
        return percent(value, digits + 1)
    return f"{float(text):,.10g} %"


def interval(estimate: Estimate, form: str = "rate") -> str:
    """``0.62 [0.55, 0.69]``, or in percent; three digits, as no interval carries more."""
    if estimate.value is None:
        return DASH
    show = percent if form == "percent" else rate
    if estimate.low is None or estimate.high is None:
        return show(estimate.value, 3)
    low, high = (show(end, 3).removesuffix(" %") for end in (estimate.low, estimate.high))
    return f"{show(estimate.value, 3)} [{low}, {high}]"


def apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers with just enough digits that they read differently when they differ."""
    for digits in range(3, 17):
        pair = (f"{one:.{digits}g}", f"{other:.{digits}g}")
        if pair[0] != pair[1] or one == other:
            return pair
    return repr(one), repr(other)


def count(part: int, whole: int) -> str:
    """``12 / 34,560``."""
    return f"{part:,} / {whole:,}"
