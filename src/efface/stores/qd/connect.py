"""Clients of Qdrant: a server by its URL, or a folder that this process alone has open."""

from __future__ import annotations

import os
import sqlite3
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from efface.errors import EffaceError, EffaceWarning, StoreError
from efface.extras import need

KEY = "QDRANT_API_KEY"
_TIMEOUT = 120
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


class Opened:
    """A client that is closed when nobody uses it any more.

    A folder can be open only once, so everybody in this process who names it gets the same one.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self.client = _client(location)
        self._closing = weakref.finalize(self, _close, self.client)

    def reopen(self) -> None:
        """Read the folder again: what is in memory need not be what was stored."""
        if is_remote(self.location):
            return
        self._closing()
        self.client = _client(self.location)
        self._closing = weakref.finalize(self, _close, self.client)


_OPEN: weakref.WeakValueDictionary[str, Opened] = weakref.WeakValueDictionary()


def opened(location: str) -> Opened:
    """The client for a URL or folder, shared within this process."""
    name = location if is_remote(location) else str(Path(location).resolve())
    found = _OPEN.get(name)
    if found is None:
        found = _OPEN[name] = Opened(location)
    return found


def is_remote(location: str) -> bool:
    return location.startswith(("http://", "https://"))


def place(location: str, collection: str) -> str:
    """How messages name a collection: without user and password."""
    if is_remote(location):
        url = urlsplit(location)
        location = urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, "", ""))
    return f"qdrant:{location}#{collection}"


@contextmanager
def speaking(where: str) -> Iterator[None]:
    """Errors of client, server and folder, in one sentence with the way out."""
    api = need("qdrant_client.http.exceptions", "qdrant")
    try:
        with warnings.catch_warnings():
            # That a folder is no server is said in the documentation, not in every run.
            warnings.filterwarnings("ignore", "Local mode is not recommended")
            warnings.filterwarnings("ignore", "Payload indexes have no effect")
            yield
    except EffaceError:
        raise
    except api.ResponseHandlingException as error:
        raise StoreError(
            f"{where}: the server does not answer ({_first(error)}): run the same command again "
            "when it is there: it goes on where it was"
        ) from error
    except api.UnexpectedResponse as error:
        raise StoreError(f"{where}: {_refused(error)}") from error
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{where}: the folder cannot be read or written ({_first(error)}): see to it, then "
            "run the same command again: it goes on where it was"
        ) from error
    except (ValueError, RuntimeError) as error:
        raise StoreError(f"{where}: {_first(error)}") from error


def _client(location: str) -> Any:
    make = need("qdrant_client", "qdrant").QdrantClient
    if not is_remote(location):
        _require_free(Path(location) / ".lock")
        return make(path=location)
    key = os.environ.get(KEY) or None
    url = urlsplit(location)
    if key and url.scheme == "http" and url.hostname not in _THIS_MACHINE:
        warnings.warn(
            f"{KEY} goes to {url.hostname} unencrypted: use https", EffaceWarning, stacklevel=2
        )
    with warnings.catch_warnings():
        # Said above in our own words, and not where the server is this machine.
        warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
        return make(url=location, api_key=key, timeout=_TIMEOUT, check_compatibility=False)


def _require_free(lock: Path) -> None:
    """Ask before the client does: it would leave the file open behind its refusal."""
    locks = need("portalocker", "qdrant")
    if not lock.is_file():
        return
    with lock.open("r+") as file:
        try:
            locks.lock(file, locks.LockFlags.EXCLUSIVE | locks.LockFlags.NON_BLOCKING)
            locks.unlock(file)
        except locks.exceptions.LockException as error:
            raise StoreError(
                f"qdrant:{lock.parent}: open in another program: close it there (a folder is "
                "open in one process only; several need a server)"
            ) from error


def _close(client: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.close()


def _refused(error: Any) -> str:
    said = f"the server says {error.status_code} {error.reason_phrase}"
    if error.status_code in (401, 403):
        return f"{said}: put a key with the right to write into {KEY}"
    text = bytes(error.content or b"").decode(errors="replace")[:200]
    return f"{said}: {text}"


def _first(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0].rstrip(".")
