"""The named arrays of a template: the forms they have, and one string for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Form = tuple[type[np.generic], tuple[int, ...]]
Layout = Mapping[str, Form]
Filled = dict[str, NDArray[Any]]


def packed_parts(parts: Mapping[str, NDArray[Any]], leave_out: str = "") -> bytes:
    """Named parts as one string that no other parts give."""
    out = []
    for name in sorted(set(parts) - {leave_out}):
        raw = parts[name].tobytes()
        head = f"{name} {parts[name].dtype.str} {parts[name].shape} {len(raw)};"
        out.append(head.encode() + raw)
    return b"".join(out)


def bytes_part(raw: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(raw, np.uint8)


def covered_form(dtype: type[np.generic], shape: tuple[int, ...]) -> Form:
    """The form of a part under a pepper: its bytes."""
    return np.uint8, (int(np.prod(shape)) * np.dtype(dtype).itemsize,)
