"""Weights over HTTP with the standard library: taken up where they stopped, and digested."""

from __future__ import annotations

import http.client
import os
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from efface.encoders.manifest import File, Model
from efface.encoders.shelf import Shelf, instructions
from efface.encoders.weights import file_digest
from efface.errors import ArtefactError

Progress = Callable[[int, int], None]
_CHUNK = 1 << 18
_TIMEOUT = 30.0
TRIES = 5


@dataclass
class Pull:
    """Fetches the files of one model. ``sleep`` waits between tries."""

    shelf: Shelf
    progress: Progress = lambda done, total: None
    sleep: Callable[[float], None] = time.sleep
    tries: int = TRIES

    def model(self, name: str, model: Model, *, accept: bool = False) -> list[str]:
        """Fetch what is missing; a sentence for each file. Terms are accepted before anything is
        fetched, or nothing is."""
        _check_terms(name, model, accept, self.shelf)
        return [self._file(name, model, file) for file in model.files]

    def _file(self, name: str, model: Model, file: File) -> str:
        path = self.shelf.place(name, model, file)
        if path.is_file():
            digest = file_digest(path)
            if file.sha256 not in (None, digest):
                raise _wrong(path, digest, str(file.sha256), "remove it and pull again")
            return f"{path}: is there{'' if file.sha256 else ', unverified'}"
        _check_url(file)
        _make(path.parent)
        partial = path.with_name(f"{file.name}.partial")
        try:
            self._fetch(file, partial)
        except Unreachable as error:
            told = instructions(name, model, self.shelf)
            raise ArtefactError(f"{error}. By hand: {told}") from error
        return self._accepted(name, file, partial, path)

    def _accepted(self, name: str, file: File, partial: Path, path: Path) -> str:
        """Only a file of the right digest gets its name."""
        digest = file_digest(partial)
        if file.sha256 not in (None, digest):
            _forget(partial)
            raise _wrong(path, digest, str(file.sha256), "nothing was kept; see the model's page")
        handle = os.open(partial, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
        os.replace(partial, path)
        _note_of(partial).unlink(missing_ok=True)
        if file.sha256 is not None:
            return f"{path}: fetched and verified"
        self.shelf.record(name, file.name, digest)
        return f"{path}: fetched, unverified: no SHA-256 of the publisher is known; it has {digest}"

    # --- one file -----------------------------------------------------------------------------

    def _fetch(self, file: File, partial: Path) -> None:
        """Ask again from where the bytes stopped, a few times."""
        why = ""
        for attempt in range(self.tries):
            if attempt:
                self.sleep(min(2.0**attempt, 30.0))
            try:
                if self._more(file, partial):
                    return
                why = "the connection ended early"
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 416 and _whole(error, partial):
                    return
                if error.code == 416:
                    _forget(partial)
                elif error.code < 500 and error.code != 429:
                    raise Unreachable(_refused(file.url, error.code)) from error
                why = f"the server answered {error.code}"
            except (OSError, http.client.HTTPException) as error:
                why = str(getattr(error, "reason", "") or error) or type(error).__name__
                if isinstance(getattr(error, "reason", None), socket.gaierror):
                    break  # no network, or no such name: waiting does not help
        have = partial.stat().st_size if partial.exists() else 0
        kept = (
            f"; {have:,} bytes are kept, and the same command goes on behind them" if have else ""
        )
        raise Unreachable(f"{file.url}: could not be fetched ({why}){kept}")

    def _more(self, file: File, partial: Path) -> bool:
        """One connection: append what it gives; whether the file is complete."""
        start, validator = _held(partial)
        request = urllib.request.Request(file.url, headers={"User-Agent": "efface"})
        if start and validator:
            request.add_header("Range", f"bytes={start}-")
            request.add_header("If-Range", validator)
        with closing(urllib.request.urlopen(request, timeout=_TIMEOUT)) as answer:
            if answer.status != 206 or not _starts_at(answer, start):
                start = 0
            _remember(partial, answer)
            total = _total(answer, start)
            if file.bytes is not None and total not in (None, file.bytes):
                raise ArtefactError(
                    f"{file.url}: is {total:,} bytes long, expected are {file.bytes:,}: see the "
                    "model's page"
                )
            return self._append(answer, partial, start, total)

    def _append(self, answer: Any, partial: Path, start: int, total: int | None) -> bool:
        done = start
        with open(partial, "r+b" if start else "wb") as out:
            out.seek(start)
            out.truncate()
            while chunk := answer.read(_CHUNK):
                out.write(chunk)
                done += len(chunk)
                self.progress(done, total or done)
        return total is None or done == total


class Unreachable(ArtefactError):
    """The bytes could not be had; what there is of them is kept."""


def _check_terms(name: str, model: Model, accept: bool, shelf: Shelf) -> None:
    """Before anything is fetched: may it be, and does the user know under which terms?"""
    if shelf.has(name, model):
        return
    terms = f"{model.terms}; licence: {model.licence}. {model.notice}".strip()
    if model.by_hand or not all(file.url for file in model.files):
        said = f"{terms} " if model.restricted else ""
        raise ArtefactError(
            f"{said}It has to be fetched by hand: {instructions(name, model, shelf)}"
        )
    if model.restricted and not accept:
        raise ArtefactError(
            f"{name}: {terms} See {model.page}. Nothing was fetched: give --accept-terms if you "
            "may use it under these terms"
        )


def _check_url(file: File) -> None:
    """Without a digest a page that anybody on the way can change is not taken."""
    url = urllib.parse.urlsplit(file.url)
    local = url.hostname in ("localhost", "127.0.0.1", "::1")
    if url.scheme == "http" and file.sha256 is None and not local:
        raise ArtefactError(f"{file.url}: neither https nor a known SHA-256: give one of them")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtefactError(
            f"{folder}: cannot be made ({error.strerror}): choose another folder with --models"
        ) from error


def _held(partial: Path) -> tuple[int, str]:
    """Bytes of an earlier try, and what the server called the file they are of."""
    try:
        note = msgspec.json.decode(_note_of(partial).read_bytes(), type=dict[str, str])
        return partial.stat().st_size, note.get("validator", "")
    except (OSError, msgspec.MsgspecError):
        return 0, ""


def _remember(partial: Path, answer: Any) -> None:
    """A strong ETag or a date: with neither, another try starts from the beginning."""
    tag = answer.headers.get("ETag", "")
    validator = tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")
    _note_of(partial).write_bytes(msgspec.json.encode({"validator": validator or ""}))


def _note_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.json")


def _forget(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    _note_of(partial).unlink(missing_ok=True)


def _starts_at(answer: Any, start: int) -> bool:
    return str(answer.headers.get("Content-Range", "")).startswith(f"bytes {start}-")


def _whole(error: urllib.error.HTTPError, partial: Path) -> bool:
    """Asked for more than there is: was it complete, and an earlier run died before it said so?"""
    length = str(error.headers.get("Content-Range", "")).removeprefix("bytes */")
    return length.isdigit() and int(length) == _held(partial)[0]


def _total(answer: Any, start: int) -> int | None:
    """Length of the whole file, where the server says it."""
    whole = str(answer.headers.get("Content-Range", "")).rpartition("/")[2]
    if answer.status == 206 and whole.isdigit():
        return int(whole)
    length = answer.headers.get("Content-Length")
    return start + int(length) if length is not None and length.isdigit() else None


def _refused(url: str, code: int) -> str:
    why = {401: "asks for a login", 403: "does not give it to everybody", 404: "has it no more"}
    return f"{url}: the server {why.get(code, f'answered {code}')}"


def _wrong(path: Path, found: str, wanted: str, remedy: str) -> ArtefactError:
    return ArtefactError(
        f"{path}: has SHA-256 {found}, the publisher's file has {wanted}: {remedy}"
    )
