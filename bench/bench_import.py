"""How long a user waits for nothing: ``import efface`` and ``efface --help`` in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from machine import describe

RUNS = 15
COMMAND = str(Path(sysconfig.get_path("scripts")) / "efface")
CASES = (
    # (what, command, allowed milliseconds)
    ("import efface", (sys.executable, "-c", "import efface"), 150.0),
    ("efface --help", (COMMAND, "--help"), 400.0),
)


def milliseconds(command: Sequence[str], folder: str) -> float:
    """Wall time of one fresh process, started away from the source folder."""
    start = time.perf_counter()
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
    )  # fmt: skip
    return 1000 * (time.perf_counter() - start)


def median(command: Sequence[str], folder: str) -> float:
    milliseconds(command, folder)  # the first writes byte code, as an installer would
    return statistics.median(milliseconds(command, folder) for _ in range(RUNS))


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    with tempfile.TemporaryDirectory() as folder:
        bare = median((sys.executable, "-c", "pass"), folder)
        rows = [(what, median(command, folder), limit) for what, command, limit in CASES]
    print(f"{describe()}\n")
    print(f"Median of {RUNS} fresh processes; the interpreter alone takes {bare:.0f} ms.\n")
    print("| what | ms | allowed | |\n|---|---:|---:|---|")
    for what, took, limit in rows:
        print(f"| `{what}` | {took:.0f} | {limit:.0f} | {'ok' if took < limit else 'TOO SLOW'} |")
    return int(any(took >= limit for _, took, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
