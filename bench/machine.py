"""What a benchmark ran on: a number without its machine says little."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np


def describe() -> str:
    """Processor, cores, memory, Python, NumPy and its BLAS, in one line."""
    return ", ".join(
        [
            processor(),
            f"{cores()} cores",
            f"{memory() / 2**30:.0f} GB",
            f"{platform.system()} {platform.machine()}",
            f"Python {platform.python_version()}",
            f"NumPy {np.__version__} ({blas()})",
        ]
    )


def processor() -> str:
    """The model name as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine() or "unknown processor"


def cores() -> int:
    """Cores this process may use, which in a container are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> int:
    """Bytes of physical memory; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def blas() -> str:
    """Name and version of the library NumPy multiplies matrices with."""
    config: Any = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown BLAS')} {found.get('version', '')}".strip()


if __name__ == "__main__":
    print(describe())
