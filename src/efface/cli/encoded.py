"""Pictures encoded as the options say, with what has to be said before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from efface.cli import encoding, options
from efface.errors import DataError, EffaceError

if TYPE_CHECKING:
    from efface.encoding.run import Order
    from efface.facts import EncoderFacts, Encoding

VECTORS = "embeddings.parquet"


def order(images: str, out: Path, typed: dict[str, Any], keep: bool = False) -> Order:
    """What was typed, as work to be done."""
    from efface.encoding.run import Order
    from efface.pictures.decode import Limits
    from efface.threads import cores

    source = encoding.source(images, typed)
    made = encoding.encoder(typed)
    return Order(
        source, made, out, encoding.geometry(made, typed),
        Limits(typed["max_pixels"], typed["min_side"]), typed["batch"], typed["dtype"],
        typed["workers"] or cores(), keep,
    )  # fmt: skip


def run(order: Order, quiet: bool) -> Encoding:
    """Encode, with progress; unless ``quiet``, say what is done and what came of it."""
    from efface.encoding.run import encode
    from efface.progress import Progress

    if not quiet:
        _announce(order)
    before = _written(order.out)
    with Progress[None]("encode", 0, unit="picture") as bar:
        made = encode(order, bar.of)
    if not quiet:
        if order.keep and before is not None and before == _written(order.out):
            click.echo("kept      the vectors of an earlier run: nothing was encoded")
        _tell(order, made)
    return made


def _written(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.exists() else None


def check_kind(path: str, encoder: str | None) -> None:
    """Pictures need an encoder and vectors none: say so before anything is opened."""
    from efface.data.table import FORMATS

    if encoder:
        if options.given("embedding") or options.given("labels"):
            raise click.UsageError("--embedding and --labels go with files of vectors, which "
                                   "need no --encoder")  # fmt: skip
        if Path(path).suffix.lower() in FORMATS and not Path(path).is_dir():
            raise click.UsageError(f"{path}: holds vectors, not pictures: leave --encoder out")
        return
    stray = [option.opts[0] for option in _about_pictures() if options.given(option.name or "")]
    if stray:
        raise click.UsageError(f"{stray[0]} is about pictures: give --encoder too")
    if _looks_like_pictures(Path(path)):
        raise click.UsageError(
            f"{path}: holds pictures, not vectors: say with --encoder which network encodes them, "
            "for example --encoder dlib"
        )


def kept(
    images: str, out: Path, typed: dict[str, Any], look: Callable[[int], None] | None = None
) -> Path:
    """The vectors of these pictures in the folder ``out``, encoded now or by an earlier run.

    ``look`` is told before the work how many people the pictures name.
    """
    from efface.stores import disk

    with disk.writing(out):
        out.mkdir(parents=True, exist_ok=True)
    vectors = out / VECTORS
    work = order(images, vectors, typed, keep=True)
    if look is not None:
        look(len({entry.identity for entry in work.source.entries() if not entry.problem}))
    run(work, quiet=typed["as_json"])
    return vectors


@contextmanager
def keeping(out: Path | None) -> Iterator[None]:
    """Who has waited for an encoding and is then refused is told that it was not in vain."""
    try:
        yield
    except EffaceError as error:
        if out is None:
            raise
        raise DataError(
            f"{error}. The vectors are kept in {out / VECTORS}: the next run encodes nothing"
        ) from error


def dataset(images: str) -> str:
    """What a report calls them: the folder's name, or the file's without its ending."""
    path = Path(images)
    return path.resolve().name if path.is_dir() else path.stem


def _about_pictures() -> list[click.Option]:
    """Options that mean nothing without an encoder."""

    def nothing() -> None: ...

    for add in (encoding.declaration_options, encoding.face_options, encoding.place_options,
                encoding.work_options):  # fmt: skip
        add(nothing)
    found: list[click.Option] = getattr(nothing, "__click_params__", [])
    return found


def _looks_like_pictures(path: Path) -> bool:
    """A list, an archive, a picture, or a folder of these and not of vectors; who cannot look
    leaves it to the reader of vectors, who says why."""
    from efface.data.table import PARQUET
    from efface.pictures.entry import is_picture

    if not path.is_dir():
        return path.suffix.lower() in (".csv", ".tsv", ".tar") or is_picture(path.name)
    try:
        inside = list(path.iterdir())
        if any(one.suffix.lower() in PARQUET for one in inside):
            return False
        deeper = (one for folder in inside if folder.is_dir() for one in folder.iterdir())
        return any(
            one.suffix.lower() == ".tar" or is_picture(one.name) for one in chain(inside, deeper)
        )
    except OSError:
        return False


def _announce(order: Order) -> None:
    """What will be done, before it takes hours: a wrong declaration is silent later."""
    click.echo(f"encoder   {_named(order.encoder.facts)}")
    click.echo(f"takes     {order.encoder.facts.preprocessing}")
    if order.encoder.facts.assumed:
        click.echo(f"assumed   {', '.join(order.encoder.facts.assumed)}: declare what is not so")
    facts = order.cut.facts
    by = f" by {facts.detector}" if facts.detector else ""
    settings = ", ".join(f"{name} {value}" for name, value in facts.settings.items())
    click.echo(f"cuts      {facts.name}{by}{f' ({settings})' if settings else ''}")
    click.echo(f"people    told by {order.source.rule}")


def _named(facts: EncoderFacts) -> str:
    licence = facts.licence or "licence not declared"
    pooling = f", {facts.pooling}" if facts.pooling else ""
    return (
        f"{facts.name} ({facts.kind}{pooling}), {facts.dimension} numbers, {licence}, SHA-256 "
        f"{facts.weights[:16]}…"
    )


def _tell(order: Order, made: Encoding) -> None:
    from efface.encoding.finish import left_out_path, near_path
    from efface.report.pictures import MEASURED

    found = made.pictures
    click.echo(
        f"{order.out}: {found.encoded:,} of {found.found:,} pictures of {found.people:,} people"
    )
    if found.left_out:
        click.echo(f"left out  {_counted(found.left_out)}: {left_out_path(order.out)}")
    if found.treated:
        click.echo(f"treated   {_counted(found.treated)}")
    if found.passed_over:
        click.echo(f"no pictures by their names  {_counted(found.passed_over)}")
    for name, (mean, spread, largest) in made.geometry.achieved.items():
        click.echo(
            f"{MEASURED.get(name, name)}  mean {mean:.3f}, sd {spread:.3f}, largest {largest:.3f}"
        )
    if found.near_duplicates_across:
        click.echo(
            f"near-duplicates across people  {_pairs(found.near_duplicates_across)}, most "
            f"likely wrong labels: {near_path(order.out)}"
        )
    if found.near_duplicates:
        click.echo(f"near-duplicates of one person  {_pairs(found.near_duplicates)}")


def _pairs(count: int) -> str:
    return f"{count:,} pair{'s' * (count != 1)}"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())
