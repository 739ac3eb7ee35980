"""The nouns of the privacy game. Frozen, no I/O: a newcomer opens this file first.

A *protection* turns samples into a *release*; an *attack* sees the release (and what the
*threat* says it knows) and makes a *claim*; a *judge*, who alone holds the truth, turns the claim
into *evidence*; statistics turn evidence into an *estimate* with an interval.

Here are the nouns that hold arrays. What ends up in a report (``Threat``, ``Case``, ``Estimate``,
``Measurement``, ``Report``) is in :mod:`efface.results`; what an encoder is, in
:mod:`efface.facts`.

A *template scheme* is the other way to protect: it stores, of one person, what a later picture of
the same person is checked against, and nothing else. What is stored is its release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, SplitError
from efface.facts import EncoderFacts, Encoding
from efface.results import Scalar, Threat

Kind = Literal["embedding", "image", "motion", "template"]
PARTS = ("fit", "shadow", "calibration", "test")

Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.int64]
Parts = Mapping[str, NDArray[Any]]
Picture = NDArray[Any]
"""Height x width x 3, red first, from 0 to 255: uint8, or float32 where it was worked on."""


# --- data -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Samples:
    """Vectors with an integer identity each; embeddings are unit rows (P1, P2).

    Build it with :func:`efface.samples` or :func:`efface.load`, which clean and check; the
    constructor itself only validates.
    """

    data: Floats
    identity: Codes
    names: NDArray[Any]
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    kind: Kind = "embedding"
    dataset: str = "samples"
    stored_dtype: str = "float32"
    encoding: Encoding | None = None
    """How the vectors were made of pictures, where their file says so."""

    def __post_init__(self) -> None:
        if self.data.ndim != 2 or not np.issubdtype(self.data.dtype, np.floating):
            raise DataError(
                f"{self.dataset}: expected a 2-D floating-point array of vectors, got "
                f"{self.data.dtype} with shape {self.data.shape}"
            )
        if self.identity.shape != (len(self.data),):
            raise DataError(
                f"{self.dataset}: {len(self.data)} vectors but {len(self.identity)} identities"
            )
        for name, column in self.attributes.items():
            if len(column) != len(self.data):
                raise DataError(
                    f"{self.dataset}: attribute {name!r} has {len(column)} rows, "
                    f"the vectors {len(self.data)}"
                )
        inside = len(self.identity) == 0 or (
            self.identity.min() >= 0 and self.identity.max() < len(self.names)
        )
        if not inside:
            raise DataError(f"{self.dataset}: an identity code has no name")
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def dim(self) -> int:
        return int(self.data.shape[1])

    @property
    def people(self) -> Codes:
        """The identity codes present, ascending."""
        return np.unique(self.identity)

    def take(self, rows: NDArray[np.integer[Any]]) -> Samples:
        """The chosen rows; identity codes keep their meaning."""
        return self._with(self.data[rows], rows)

    def replace(self, data: Floats) -> Samples:
        """The same rows with other vectors (for example after a protection)."""
        if len(data) != len(self.data):
            raise DataError(f"{self.dataset}: {len(data)} vectors for {len(self.data)} rows")
        return self._with(data, np.arange(len(self.data)))

    def _with(self, data: Floats, rows: NDArray[np.integer[Any]]) -> Samples:
        columns = {name: column[rows] for name, column in self.attributes.items()}
        return Samples(
            data, self.identity[rows], self.names, columns, self.kind, self.dataset,
            self.stored_dtype, self.encoding,
        )  # fmt: skip

    def digest(self) -> str:
        """SHA-256 over the vectors and the partition into people; names do not enter."""
        sha = hashlib.sha256(f"{self.kind} {self.data.dtype.str} {self.data.shape}".encode())
        sha.update(np.ascontiguousarray(self.data).data)
        sha.update(np.ascontiguousarray(np.unique(self.identity, return_inverse=True)[1]).data)
        return sha.hexdigest()


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of each part. No identity may be in two parts: checked, not assumed (P3)."""

    fit: NDArray[np.int64]
    shadow: NDArray[np.int64]
    calibration: NDArray[np.int64]
    test: NDArray[np.int64]
    identity: Codes
    """Identity code of every row of the samples the split was made for."""
    names: NDArray[Any]
    seed: int = 0
    rule: str = ""

    def __post_init__(self) -> None:
        owner: dict[int, str] = {}
        for part in PARTS:
            for code in np.unique(self.identity[self.part(part)]).tolist():
                if code in owner:
                    raise SplitError(
                        f"identity {self.names[code]!s} is in both {owner[code]!r} and {part!r}: "
                        "give each identity one part only"
                    )
                owner[code] = part

    def part(self, name: str) -> NDArray[np.int64]:
        rows: NDArray[np.int64] = getattr(self, name)
        return rows

    def people(self, name: str) -> Codes:
        return np.unique(self.identity[self.part(name)])

    def counts(self) -> dict[str, list[int]]:
        """People and rows of each part, for the report."""
        return {p: [len(self.people(p)), len(self.part(p))] for p in PARTS}

    def digest(self) -> str:
        sha = hashlib.sha256()
        for part in PARTS:
            sha.update(part.encode())
            sha.update(np.ascontiguousarray(self.part(part), dtype=np.int64).data)
        return sha.hexdigest()


@dataclass(frozen=True, eq=False)
class Template:
    """What is stored of one person, all of it: so it is also what a thief of the store holds.

    ``record`` is what a probe has to reproduce (the ideal primitive's y), ``helper`` what is
    needed to try it (its s: seeds, sketches). Both are named arrays of plain numbers; bytes are
    uint8. ``version`` is that of the scheme, and changes when old templates cannot be read.
    """

    scheme: str
    version: int
    record: Parts = field(repr=False)  # what is stored does not belong into logs
    helper: Parts = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("record", "helper"):
            parts = {part: _plain(part, value) for part, value in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(parts))

    def partial(self) -> Template:
        """The record alone: what leaks where the helper is kept elsewhere (partial leakage)."""
        return Template(self.scheme, self.version, self.record, {})


def _plain(name: str, value: NDArray[Any]) -> NDArray[Any]:
    """A read-only array of numbers; anything that could hold an object is refused."""
    array = np.array(value)
    if array.dtype.kind not in "iuf":
        raise DataError(f"part {name!r} of a template holds {array.dtype}: give it plain numbers")
    array.flags.writeable = False
    return array


# --- the game -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Release:
    """Exactly what the attacker sees, in the dtype that ships. No true identities in it.

    Of templates it is what was stored: then ``data`` has a row without columns for each of them,
    and ``scheme`` is the scheme as anybody may know it (``TemplateScheme.public``).
    """

    data: Floats
    kind: Kind = "embedding"
    templates: tuple[Template, ...] = ()
    scheme: TemplateScheme | None = None

    @classmethod
    def stored(cls, templates: Sequence[Template], scheme: TemplateScheme) -> Self:
        """Full leakage. For partial leakage give ``[t.partial() for t in templates]``."""
        nothing = np.empty((len(templates), 0), np.float32)
        return cls(nothing, "template", tuple(templates), scheme.public())


@dataclass(frozen=True, eq=False)
class Claim:
    """What an attack asserts. For verification: unit comparison vectors, whose inner product
    is the score of a pair. Of templates: an embedding for each, of unit length."""

    vectors: Floats
    kind: Literal["comparison vectors", "embeddings"] = "comparison vectors"
    guesses: Codes | None = None
    """Of embeddings: the number of the guess that reproduced the record, 0 where none did. Who
    holds a template sees that without a judge."""


@runtime_checkable
class Protection(Protocol):
    """``fit`` learns from samples, ``release`` makes what the attacker will see."""

    def fit(self, samples: Samples, /) -> Self: ...

    def release(self, samples: Samples, rng: np.random.Generator) -> Release: ...


@runtime_checkable
class TemplateScheme(Protocol):
    """Enrol a person, check a probe: the ideal primitive (paper, Algorithm 1, Definition 3).

    Vectors are embeddings of one length, brought to unit length on entry. ``enrol`` takes one
    (d,) or several pictures (k, d) of a person; a probe is one (d,) or several (j, d) of a try.
    A vector that cannot be used is a DataError; so is a scheme that needs ``fit`` and has none.

    A template that is not of this scheme, version and configuration is a TemplateError; one that
    was tampered with is a plain no. ``reproduce`` gives the bytes that every accepted probe
    gives, and on *any* failure the same TemplateError: one failure, one exception (P24).

    All randomness of a template comes from 32 bytes drawn from ``rng`` and expanded one way. For
    real enrolments pass ``np.random.default_rng()``, which the operating system seeds.
    """

    def fit(self, samples: Samples, /) -> Self:
        """Learn population parameters: ranges, projection, radius. Others learn nothing."""
        ...

    def enrol(self, x: Floats, rng: np.random.Generator) -> Template: ...

    def verify(self, template: Template, probe: Floats) -> bool: ...

    def verify_many(self, template: Template, probes: Floats) -> NDArray[np.bool_]:
        """One answer for each probe of (n, d), or of n probes of several pictures (n, j, d)."""
        ...

    def reproduce(self, template: Template, probe: Floats) -> bytes: ...

    def public(self) -> Self:
        """The scheme as a thief knows it: every parameter, and no pepper."""
        ...

    def settings(self) -> dict[str, Scalar]:
        """Public parameters, fitted ones too, as plain values for a report."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Pictures to vectors, with weights that nothing here changes.

    ``encode`` takes pictures that were fitted to the size in ``facts`` (see
    :func:`efface.encoders.fit.fitted`), red first and from 0 to 255 whatever the network wants: the
    order of channels and the normalisation are the encoder's own business. A picture's vector does
    not depend on which others are in the batch.
    """

    @property
    def facts(self) -> EncoderFacts: ...

    def encode(self, images: Sequence[Picture] | Picture, /) -> Floats: ...


@runtime_checkable
class Attack(Protocol):
    """``fit`` learns from shadow data; ``options`` are the fitted variants among which the
    calibration identities choose (P11); ``run`` turns a release into a claim."""

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self: ...

    def options(self) -> Sequence[Self]: ...

    def settings(self) -> dict[str, Scalar]: ...

    def run(self, release: Release) -> Claim: ...
