"""One exception tree. Every message names the place and the way out."""

from __future__ import annotations


class EffaceError(Exception):
    """Base of everything efface raises on purpose; the command line exits 2 on it."""


class DataError(EffaceError, ValueError):
    """The data cannot be used as they are: names the file, column, row or identity."""


class SplitError(DataError):
    """Identities cannot be divided as asked, or two parts share one."""


class EraserError(EffaceError, ValueError):
    """An eraser refuses: the rank asked for is impossible or the result would be empty."""


class ArtefactError(EffaceError, ValueError):
    """A stored projector or report is damaged, of another version, or does not fit."""


class PlanError(EffaceError, ValueError):
    """A plan or option is not understood: names the key and the nearest known one."""


class MissingExtra(EffaceError, ImportError):
    """An optional dependency is absent: names the extra to install."""


class PictureError(DataError):
    """One picture cannot be used; ``kind`` is the word under which it is counted."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[1])


class StoreError(EffaceError, ValueError):
    """A store cannot be read, written or taken up again: names the store and the way out."""


class TemplateError(EffaceError, ValueError):
    """A template cannot be read, is another scheme's, or is not reproduced: never says which
    part of a secret was wrong."""


class VaultError(EffaceError, ValueError):
    """A vault cannot do what was asked; the text holds nothing of a vector or a template."""


class EnrolledError(VaultError):
    """Somebody is enrolled under this name already, perhaps since a moment ago."""


class NobodyError(VaultError):
    """Nobody is enrolled under this name: said to who may revoke, never to who verifies."""


class UnavailableError(VaultError):
    """Not now: the database is gone, or no prepared basis is left. Nothing was half done."""


class AttemptsError(VaultError):
    """Too many failed tries of one user or from one source; ``wait`` is in seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"too many failed tries: wait {wait:.0f} s")
        self.wait = wait


class EffaceWarning(UserWarning):
    """Something a careful reader of the result has to know."""
