"""Runs of the engine on databases that are killed with -9 at random moments, as a program.

It has imported everything before it forks, so each run starts at once; the run is a process of its
own that nothing can clean up after. What it prints is JSON: how many runs were killed.

    python db_kills.py SOURCE TARGET PART_ROWS KILLS SEED NULL
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from store_erasers import drawn

DIM, RANK = 8, 2


def killed(source: str, target: str, *, part_rows: int, kills: int, null: str = "fail") -> int:
    """Run and kill, then run to the end; how many runs were killed in their work."""
    words = [source, target, str(part_rows), str(kills), "3", null]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__)), *words],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(json.loads(done.stdout.splitlines()[-1]))


def main(source: str, target: str, part_rows: str, kills: str, seed: str, null: str) -> int:
    from efface.stores import address, engine

    def apply() -> None:
        origin = address.open_source(address.parse(source))
        sink = address.open_sink(address.parse(target), origin)
        engine.apply_store(
            drawn(DIM, RANK), origin, sink, part_rows=int(part_rows), null=null, resume=True
        )

    def fork() -> int:
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            apply()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        os._exit(code)

    rng = np.random.default_rng(int(seed))
    address.open_source(address.parse(source)).sample(1, rng)  # imports what a run imports
    count, longest = 0, 0.08
    for _ in range(int(kills)):
        child = fork()
        time.sleep(float(rng.uniform(0, longest)))
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != -signal.SIGKILL:
            break  # it came to its end, or to an error, which the last run then meets
        count, longest = count + 1, min(longest * 1.1, 0.5)
    code = os.waitstatus_to_exitcode(os.waitpid(fork(), 0)[1])
    print(json.dumps(count))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
