"""The shell that the template schemes share: it takes vectors in, knows its own templates, covers
and seals them where there is a pepper, counts votes, and lets every failure look the same."""

from __future__ import annotations

import copy
import hashlib
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.errors import DataError, EffaceWarning, TemplateError
from efface.hazmat.derive import KEY_BYTES, masked, peppered, same
from efface.hazmat.expand import SEED_BYTES, stream
from efface.protect.template.hardening import PAPER, Hardening
from efface.protect.template.parts import (
    Filled,
    Layout,
    bytes_part,
    covered_form,
    packed_parts,
)
from efface.protect.template.pictures import Matrix, average, pictures, tries
from efface.protect.template.radius import impostor_borders, radius_at
from efface.results import Card, Scalar
from efface.types import Samples, Template

Bools = NDArray[np.bool_]

FAILED = "the probe does not reproduce the template"
SALT_BYTES = 16
_DIGEST_BYTES = 16
_POLICY = ("probes", "votes", "of", "threshold", "radius_images", "radius_tries")
"""Settings that may change without making stored templates unreadable."""


@dataclass(eq=False, kw_only=True)
class TemplateShell(ABC):
    """What every scheme can do; a scheme adds its layout, how to enrol and when to accept.

    ``radius`` names the parameter that decides how far a probe may be from what was enrolled;
    ``radius_`` is its value in use.
    """

    hardening: Hardening = PAPER

    dim_: int = field(init=False, repr=False)
    radius_: float = field(init=False, repr=False)

    card: ClassVar[Card]
    version: ClassVar[int] = 1
    radius: ClassVar[str]
    looser: ClassVar[bool]
    """Whether a larger radius accepts more: so with a threshold, and not with a scale."""
    covered: ClassVar[frozenset[str]]
    """Parts that a pepper covers: those that tell of the enrolled vector."""

    # --- what a scheme adds -----------------------------------------------------------------

    def check(self) -> None:
        """Refuse parameters that cannot be; a scheme adds its own."""
        self.hardening.check()

    @abstractmethod
    def _learn(self, samples: Samples) -> float:
        """Population parameters beyond the length of vectors; returns the radius."""

    @abstractmethod
    def _record_layout(self) -> Layout: ...

    @abstractmethod
    def _helper_layout(self) -> Layout: ...

    @abstractmethod
    def _enrol(self, x: Matrix, root: bytes, owner: Filled) -> Filled:
        """Every part of the two layouts from a unit vector, 32 secret bytes, and the part that
        says whose it is, if any."""

    @abstractmethod
    def _accept(self, parts: Filled, x: Matrix) -> Bools:
        """Which rows reproduce the record."""

    @abstractmethod
    def critical(self, enrolled: Matrix, probes: Matrix, seed: int = 0) -> Matrix:
        """The radius at which each pair of rows is on the border between yes and no.

        ``seed`` draws what a template would draw, once for all pairs.
        """

    def _restore(self, settings: Mapping[str, Scalar]) -> None:  # noqa: B027  most learn no more
        """Take up what ``fit`` learnt beyond length and radius, from ``settings`` once given."""

    # --- the contract -----------------------------------------------------------------------

    def fit(self, samples: Samples, /) -> Self:
        self.check()
        self.dim_ = samples.dim
        self.radius_ = float(self._learn(samples))
        return self

    def enrol(self, x: ArrayLike, rng: np.random.Generator, owner: bytes = b"") -> Template:
        """One vector, or several pictures of one person, whose mean direction is enrolled.

        With ``Hardening(owner=True)`` the template is of ``owner``, and refused for any other.
        """
        self._require_fit()
        vector = average(pictures(x, self.dim_, "enrolment"), "enrolment")
        self.hardening.secret()
        owned = self.hardening.owner_parts(owner)
        warnings.warn(f"{self.card.name}: {self.card.verdict}", EffaceWarning, stacklevel=2)
        root = rng.bytes(SEED_BYTES)
        parts = {**self._enrol(vector, root, owned), **owned}
        return self._closed(parts, stream(root, "salt", SALT_BYTES))

    def verify(self, template: Template, probe: ArrayLike, owner: bytes = b"") -> bool:
        self._require_fit()
        made = pictures(probe, self.dim_, "probe")[None]
        return bool(self._answers(template, made, owner)[0])

    def verify_many(self, template: Template, probes: ArrayLike, owner: bytes = b"") -> Bools:
        self._require_fit()
        return self._answers(template, tries(probes, self.dim_, "probes"), owner)

    def intact(self, template: Template, owner: bytes = b"") -> bool:
        """Whether it is as it was enrolled, and this owner's, as far as can be told without a face:
        all of it under a pepper."""
        return self._opened(template, owner) is not None

    def reproduce(self, template: Template, probe: ArrayLike, owner: bytes = b"") -> bytes:
        """The record, for whoever comes near enough (REP); it is stored, so it is no secret."""
        try:
            accepted = self.verify(template, probe, owner)
        except DataError as error:
            raise TemplateError(str(error)) from None
        if not accepted:
            raise TemplateError(FAILED)
        parts = self._opened(template, owner) or {}
        return b"".join(parts[name].tobytes() for name in sorted(self._record_layout()))

    def guess(self, template: Template, x: Matrix) -> Bools:
        """What a thief can try offline: any rows, as they are, not of unit length nor averaged.

        The mean of a population is no unit vector, and a better guess than its direction.
        """
        self._require_fit()
        if x.ndim != 2 or x.shape[1] != self.dim_ or not np.isfinite(x).all():
            raise DataError(f"guesses: needs finite rows of {self.dim_} elements, got {x.shape}")
        parts = self._opened(template)
        return (
            np.zeros(len(x), bool) if parts is None else self._accept(parts, np.asarray(x, float))
        )

    def calibrate(
        self, samples: Samples, fmr: float, *, images: int = 1, tries: int = 0, bases: int = 1
    ) -> Self:
        """This scheme with the radius that accepts other people at rate ``fmr`` (P12, P27).

        ``samples`` are calibration people, ``images`` how many pictures of a person are enrolled,
        ``tries`` how many a try has (0: as many), ``bases`` how many draws of the scheme's
        randomness are averaged.
        """
        self._require_fit()
        made = copy.copy(self)
        made.radius_ = radius_at(self, impostor_borders(self, samples, images, bases, tries), fmr)
        setattr(made, self.radius, made.radius_)
        made.check()
        return made

    def public(self) -> Self:
        known = copy.copy(self)
        known.hardening = self.hardening.public()
        return known

    def settings(self) -> dict[str, Scalar]:
        """Parameters given and learnt, which together make the scheme again."""
        self._require_fit()
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        plain = {k: v for k, v in given.items() if v is None or isinstance(v, Scalar)}
        learnt: dict[str, Scalar] = {"dim": self.dim_, self.radius: self.radius_}
        return {**plain, **learnt, **self.hardening.settings()}

    # --- a template, closed and opened ------------------------------------------------------

    def configuration(self) -> bytes:
        """A digest of what a template depends on: it is not read under another."""
        binding = {k: v for k, v in self.settings().items() if k not in _POLICY}
        text = json.dumps([self.card.name, self.version, binding], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()

    def _closed(self, parts: Filled, salt: bytes) -> Template:
        pepper = self.hardening.secret()
        parts["configuration"] = bytes_part(self.configuration())
        if pepper is not None:
            parts["salt"] = bytes_part(salt)
            for name in self.covered:
                cover = masked(parts[name].tobytes(), pepper, name, salt)
                parts[name] = bytes_part(cover)
            parts["seal"] = bytes_part(self._seal(pepper, parts))
        record = {name: parts.pop(name) for name in self._record_layout()}
        return Template(self.card.name, self.version, record, parts)

    def _seal(self, pepper: bytes, parts: Filled) -> bytes:
        return peppered(pepper, "seal", packed_parts(parts, leave_out="seal"))

    def _opened(self, template: Template, owner: bytes | None = None) -> Filled | None:
        """The parts as they were enrolled; None where they cannot be: tampered with, of another
        ``owner``, or another pepper. What is no template of this scheme at all is refused. Who has
        stolen a template need not say whose it is."""
        self._recognise(template)
        parts: Filled = {**template.record, **template.helper}
        if owner is not None:
            for name, part in self.hardening.owner_parts(owner).items():
                if not same(parts[name].tobytes(), part.tobytes()):
                    return None
        pepper = self.hardening.secret()
        layout = {**self._record_layout(), **self._helper_layout()}
        if pepper is not None:
            if not same(parts["seal"].tobytes(), self._seal(pepper, parts)):
                return None
            for name in self.covered:
                dtype, shape = layout[name]
                plain = masked(parts[name].tobytes(), pepper, name, parts["salt"].tobytes())
                parts[name] = np.frombuffer(plain, dtype).reshape(shape)
        floats = [p for p in parts.values() if p.dtype.kind == "f"]
        return parts if all(np.isfinite(p).all() for p in floats) else None

    def _recognise(self, template: Template) -> None:
        """Refuse what is another scheme's, another version's, damaged, or of another fit."""
        name, version = self.card.name, self.version
        if (template.scheme, template.version) != (name, version):
            raise TemplateError(
                f"a template of {template.scheme!r}, version {template.version}, was given to "
                f"{name!r}, version {version}: use the scheme that it was enrolled with"
            )
        if not self._fits(template):
            raise TemplateError(
                f"{name}: the template lacks parts or has some of the wrong form: it is damaged, "
                "or was enrolled with a pepper and is read without, or the other way round"
            )
        if not same(template.helper["configuration"].tobytes(), self.configuration()):
            raise TemplateError(
                f"{name}: the template was enrolled under other parameters or another fit: load "
                "the configuration that it was enrolled under"
            )

    def _fits(self, template: Template) -> bool:
        added: Layout = {"configuration": (np.uint8, (_DIGEST_BYTES,))}
        if self.hardening.owner:
            added = {**added, "owner": (np.uint8, (KEY_BYTES,))}
        covered: frozenset[str] = frozenset()
        if self.hardening.pepper is not None:
            covered = self.covered
            sealed: Layout = {"salt": (np.uint8, (SALT_BYTES,)), "seal": (np.uint8, (KEY_BYTES,))}
            added = {**added, **sealed}
        for parts, layout in (
            (template.record, self._record_layout()),
            (template.helper, {**self._helper_layout(), **added}),
        ):
            wanted = {
                n: covered_form(*form) if n in covered else form for n, form in layout.items()
            }
            if {n: (p.dtype.type, p.shape) for n, p in parts.items()} != wanted:
                return False
        return True

    # --- tries ------------------------------------------------------------------------------

    def _answers(self, template: Template, made: NDArray[np.float64], owner: bytes) -> Bools:
        """One answer for each of n tries of j pictures: of their mean, or by votes."""
        parts = self._opened(template, owner)
        count, each = made.shape[:2]
        self.hardening.check_pictures(each, "probes")
        if parts is None or not count:
            return np.zeros(count, bool)
        if self.hardening.probes == "mean":
            return self._accept(parts, average(made, "probes"))
        rows = made.reshape(count * each, -1)
        if count == 1:  # a login: each picture costs a hash, or its time would tell the votes
            votes = np.concatenate([self._accept(parts, row) for row in rows[:, None]])
        else:
            votes = self._accept(parts, rows)
        return np.asarray(votes.reshape(count, each).sum(axis=1) >= self.hardening.votes)

    def _require_fit(self) -> None:
        if "radius_" not in vars(self):
            raise DataError(
                f"{self.card.name}: is not fitted: call fit with samples of other people first"
            )
