"""Options that several commands share, so that one word means one thing everywhere."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from efface.errors import DataError

if TYPE_CHECKING:
    from efface.types import Samples

F = TypeVar("F", bound=Callable[..., Any])
METHODS = ("isp", "leace", "sal", "inlp", "rlace")


class Rank(click.ParamType[int | str]):
    """``auto`` or a whole number."""

    name = "auto|N"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if isinstance(value, int):
            return value
        if value == "auto":
            return "auto"
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is neither 'auto' nor a whole number", param, ctx)
        if number < 1:
            self.fail(f"{number} is below 1", param, ctx)
        return number


def data_options(function: F) -> F:
    """How to read the embeddings."""
    for option in (
        click.option("--labels", type=click.Path(), help="CSV with the columns of a .npy file."),
        click.option("--embedding", metavar="COL", help="Vector column; found by itself."),
        click.option("--identity", metavar="COL", default="identity", show_default=True,
                     help="Column that says who is in the picture."),
    ):  # fmt: skip
        function = option(function)
    return function


def store_options(function: F) -> F:
    """Where the vectors of a store are, and what tells its rows apart."""
    for option in (
        click.option("--key", metavar="COL", help="Column that tells rows of a table apart."),
        click.option("--embedding", metavar="COL", help="Vector column; found by itself."),
    ):
        function = option(function)
    return function


def seed_option(function: F) -> F:
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of splits, draws and training.",
    )(function)


def given(name: str) -> bool:
    """Whether the user typed this option, rather than leaving its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def read(
    path: str, identity: str, embedding: str | None, labels: str | None, dataset: str | None = None
) -> Samples:
    """Samples of a file, named after it."""
    from dataclasses import replace

    from efface.data.readers import load

    samples = load(path, identity=identity, embedding=embedding, labels=labels)
    return replace(samples, dataset=dataset or Path(path).stem)


def selection_options(function: F) -> F:
    """Whose pictures take part, and how many of each person."""
    for option in (
        click.option("--images", type=int, help="Keep exactly so many images of each person."),
        click.option("--min-images", type=click.IntRange(1), metavar="N",
                     help="Leave out people with fewer; keep all images of the others."),
    ):  # fmt: skip
        function = option(function)
    return function


def select(
    samples: Samples, images: int | None, min_images: int | None, seed: int, as_json: bool
) -> Samples:
    """The people with enough images, and as many of each as asked for; says who is left out."""
    from efface.data.samples import curate, leave_out_small

    if min_images is not None:
        everybody, samples = samples, leave_out_small(samples, min_images)
        people = len(everybody.people) - len(samples.people)
        rows = len(everybody.data) - len(samples.data)
        click.echo(
            f"left out  {people:,} {'person' if people == 1 else 'people'} of "
            f"{everybody.dataset} with fewer than {min_images:,} pictures, {rows:,} "
            f"picture{'s' * (rows != 1)} in all",
            err=as_json,
        )
    return samples if images is None else curate(samples, images, seed=seed)


def writable_folder(folder: str) -> Path:
    """Fail before the work, not after it, if the output cannot be written."""
    path = Path(folder)
    nearest = path
    while not nearest.exists():
        nearest = nearest.parent
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise DataError(f"{path}: cannot write there: choose another --out")
    return path


def writable_file(file: str) -> Path:
    path = Path(file)
    if path.is_dir():
        raise DataError(f"{path}: is a folder: give the name of a file")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise DataError(f"{path.parent}: no such folder, or not writable: make it first")
    return path


def check_order(projector: str, other: str, right: str) -> None:
    """A projector in the place of the other argument is a swap: ``right`` says it as it should be.

    Looked at by content, as names say nothing; whatever cannot be read is left to who reads it.
    """
    if _is_projector(other) and not _is_projector(projector):
        raise click.UsageError(
            f"{other} is a projector and {projector} is none: they are the wrong way round; "
            f"give: {right}"
        )


def _is_projector(path: str) -> bool:
    try:
        if not Path(path).is_file():
            return False
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            return b'"efface.projector/' in file.read(min(length, 1 << 20))
    except (OSError, ValueError):
        return False


def command_line() -> str:
    """The command as typed, file names without their folders: it goes into the report."""
    import sys

    words = [Path(word).name if os.sep in word else word for word in sys.argv[1:]]
    return " ".join(["efface", *words])


def quiet_warnings(function: F) -> F:
    """Warnings of efface as one line each on standard error, at once, without source lines."""
    import warnings

    from efface.errors import EffaceWarning

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        said: set[str] = set()

        def show(message: Warning | str, *_: Any) -> None:
            if str(message) not in said:
                said.add(str(message))
                click.echo(f"warning: {message}", err=True)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", EffaceWarning)
            warnings.showwarning = show  # type: ignore[assignment]
            return function(*args, **kwargs)

    return wrapped  # type: ignore[return-value]
