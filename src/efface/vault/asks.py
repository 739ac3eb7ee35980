"""Bodies of requests to a vault: a name, and vectors where the request takes some."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.serve.problem import Problem
from efface.serve.vectors import decoded, rows_of
from efface.vault.service import checked_name

MOST_PICTURES = 64
"""Pictures of one enrolment or one try."""


class _WithVectors(msgspec.Struct, forbid_unknown_fields=True):
    user: str
    vectors: msgspec.Raw


class _NameOnly(msgspec.Struct, forbid_unknown_fields=True):
    user: str


_with_vectors = msgspec.json.Decoder(_WithVectors)
_name_only = msgspec.json.Decoder(_NameOnly)


@dataclass(frozen=True)
class Ask:
    """Who is meant, and the pictures; the vectors stay out of anything that is printed."""

    user: str
    vectors: NDArray[np.float32] = field(repr=False)


def read_ask(body: bytes | bytearray, dim: int) -> Ask:
    found: Any = decoded(_with_vectors.decode, body)
    vectors = rows_of(bytes(found.vectors), dim, MOST_PICTURES)
    return Ask(checked(found.user), np.atleast_2d(vectors))


def read_name(body: bytes | bytearray) -> str:
    return checked(decoded(_name_only.decode, body).user)


def checked(name: str) -> str:
    try:
        return checked_name(name, "user")
    except DataError as error:
        raise Problem(422, "bad-user", str(error)) from None
