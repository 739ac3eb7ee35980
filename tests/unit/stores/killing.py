"""Runs of the command line that are killed with -9 at random points, many of them in little time.

One server process has imported everything; each run is a fork of it, so it starts at once and is a
process of its own that nothing can clean up after. A run is killed when what lies on the disk has
changed so-and-so often, give or take some microseconds: that hits the work and not the start.

    with Forks() as forks:
        deaths = until_done(forks, ["apply", ...], folder, rng, kills=20)
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

_SERVER = """
import json, os, sys, importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
from efface.cli.main import invoke
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        os.setsid()
        os.chdir(order["folder"])
        log = os.open(order["log"], os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = 70
        try:
            code = invoke(order["words"])
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            import traceback
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
_NEEDED = (
    "efface.stores.run", "efface.export.safetensors", "efface.progress", "tqdm",
    "scipy.linalg.blas", "pyarrow.parquet", "threadpoolctl",
)  # fmt: skip


class Forks:
    """The server: one run of ``efface`` at a time."""

    def __init__(self, *modules: str) -> None:
        self.modules = (*_NEEDED, *modules)

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _SERVER, *self.modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.communicate()

    def start(self, words: Sequence[str], folder: Path, log: Path) -> int:
        """The process that runs ``efface words`` in ``folder``; what it says goes to ``log``."""
        assert self._server.stdin is not None
        order = {"words": list(words), "folder": str(folder), "log": str(log)}
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        return int(self._line())

    def code(self) -> int:
        """Wait for the run; its exit code, negative for the signal that ended it."""
        return int(self._line())

    def run(self, words: Sequence[str], folder: Path, log: Path) -> int:
        self.start(words, folder, log)
        return self.code()

    def _line(self) -> str:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        assert line, "the server of forks is gone"
        return line


@dataclass(frozen=True)
class Deaths:
    """How a command came to its end."""

    killed: int
    states: int
    """Different states of the disk at which it was killed."""


def until_done(
    forks: Forks,
    words: Sequence[str],
    folder: Path,
    rng: np.random.Generator,
    *,
    kills: int,
    receipt: str,
) -> Deaths:
    """Kill the command up to ``kills`` times, then let it finish; it must end with 0.

    It is over with its receipt, also where the kill comes before the process has gone.
    """
    log = folder.parent / f"{folder.name}.log"
    met: set[tuple[tuple[str, int], ...]] = set()
    killed = 0
    for _ in range(kills):
        process = forks.start(words, folder, log)
        _wait_for_changes(process, folder, int(rng.integers(0, 10)))
        time.sleep(float(rng.random()) * 1e-3)
        _kill(process)
        code = forks.code()
        if code == 0:
            return Deaths(killed, len(met))
        assert code == -signal.SIGKILL, log.read_text()
        met.add(_names(folder))
        killed += 1
        if (folder / receipt).exists() and not (folder / f"{receipt}.pending").exists():
            return Deaths(killed, len(met))
    code = forks.run(words, folder, log)
    assert code == 0, log.read_text()
    return Deaths(killed, len(met))


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def _wait_for_changes(process: int, folder: Path, wanted: int) -> None:
    """Until the disk has looked different so often, or the process is over."""
    last, changes = _state(folder), 0
    while changes < wanted and Path(f"/proc/{process}/exe").exists():
        now = _state(folder)
        changes += now != last
        last = now


def _state(folder: Path) -> list[tuple[str, int, int]]:
    found = []
    for parent, _, names in os.walk(folder):  # unlike rglob, at ease with folders that go
        for name in names:
            try:
                stat = os.stat(os.path.join(parent, name))
            except FileNotFoundError:
                continue
            found.append((os.path.join(parent, name), stat.st_size, stat.st_mtime_ns))
    return sorted(found)


def _names(folder: Path) -> tuple[tuple[str, int], ...]:
    return tuple((path, size) for path, size, _ in _state(folder))
