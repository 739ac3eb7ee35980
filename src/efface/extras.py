"""Optional libraries: imported where they are used, with a plain answer where they are absent."""

from __future__ import annotations

import importlib
from typing import Any

from efface.errors import MissingExtra


def need(module: str, extra: str) -> Any:
    """The module, or an error that names the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise  # the library is there and lacks something of its own
        raise MissingExtra(
            f"{module.split('.')[0]} is not installed: pip install 'efface[{extra}]'"
        ) from error
