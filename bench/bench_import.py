"""How long a user waits for nothing: ``import efface`` and ``efface --help`` in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from machine import describe

RUNS = 15
CASES = (
    # (what, arguments, allowed milliseconds)
    ("import efface", ("-c", "import efface"), 150.0),
    ("efface --help", ("-m", "efface.cli.main", "--help"), 400.0),
)


def milliseconds(arguments: Sequence[str], folder: str) -> float:
    """Wall time of one fresh interpreter, started away from the source folder."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
    )  # fmt: skip
    return 1000 * (time.perf_counter() - start)


def median(arguments: Sequence[str], folder: str) -> float:
    milliseconds(arguments, folder)  # the first writes byte code, as an installer would
    return statistics.median(milliseconds(arguments, folder) for _ in range(RUNS))


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    with tempfile.TemporaryDirectory() as folder:
        bare = median(("-c", "pass"), folder)
        rows = [(what, median(args, folder), limit) for what, args, limit in CASES]
    print(f"{describe()}\n")
    print(f"Median of {RUNS} fresh processes; the interpreter alone takes {bare:.0f} ms.\n")
    print("| what | ms | allowed | |\n|---|---:|---:|---|")
    for what, took, limit in rows:
        print(f"| `{what}` | {took:.0f} | {limit:.0f} | {'ok' if took < limit else 'TOO SLOW'} |")
    return int(any(took >= limit for _, took, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
