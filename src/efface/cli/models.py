"""``efface models``: named weights, where they come from and whether they are the right ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from efface.cli import options

if TYPE_CHECKING:
    from efface.encoders.manifest import Model
    from efface.encoders.shelf import Found, Shelf

WRONG, UNKNOWN = 1, 3


def _shared(function: Any) -> Any:
    for option in (
        click.option("--models", type=click.Path(), help="Folder of named models."),
        click.option("--manifest", type=click.Path(), help="A manifest of your own."),
    ):
        function = option(function)
    return function


@click.group()
def models() -> None:
    """Named weights: list, show, pull and verify them."""


@models.command("list")
@_shared
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def list_(models: str | None, manifest: str | None, as_json: bool) -> int:
    """List the named weights, their terms, and which are here."""
    import msgspec

    known, shelf = _open(models, manifest)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(known), indent=2).decode())
        return 0
    for name, model in known.items():
        here = "here" if shelf.has(name, model) else ""
        terms = "" if model.terms == "free" else f"  [{model.terms}]"
        click.echo(f"{name:<24} {model.kind:<12} {here:<5} {model.summary}{terms}")
    return 0


@models.command()
@click.argument("name")
@_shared
def show(name: str, models: str | None, manifest: str | None) -> int:
    """Show where a model comes from, under which terms, and where its files belong."""
    from efface.encoders.manifest import find_model
    from efface.encoders.shelf import instructions

    known, shelf = _open(models, manifest)
    model = find_model(known, name)
    click.echo(f"{name}: {model.summary}")
    for title, value in (
        ("kind", model.kind), ("page", model.page), ("licence", model.licence),
        ("terms", model.terms), ("notice", model.notice),
    ):  # fmt: skip
        if value:
            click.echo(f"  {title:<9} {value}")
    for file in model.files:
        place = shelf.place(name, model, file)
        state = "here" if place.is_file() else "not here"
        click.echo(f"  {'file':<9} {place} ({state})")
        click.echo(f"  {'':<9} SHA-256 {file.sha256 or 'not known from the publisher'}")
    if not shelf.has(name, model):
        click.echo(f"  {'by hand':<9} {instructions(name, model, shelf)}")
    return 0


@models.command()
@click.argument("name")
@_shared
@click.option("--accept-terms", is_flag=True, help="You may use it under its terms.")
@options.quiet_warnings
def pull(name: str, models: str | None, manifest: str | None, accept_terms: bool) -> int:
    """Fetch a model, go on where an earlier try stopped, and check its digest."""
    from efface.encoders.manifest import find_model
    from efface.encoders.pull import Pull
    from efface.progress import Progress

    known, shelf = _open(models, manifest)
    model = find_model(known, name)
    click.echo(f"{name}: {model.licence} ({model.terms}). {model.notice}".strip(), err=True)
    with Progress[None]("pull", 0, unit="byte") as bar:
        told = Pull(shelf, bar.of).model(name, model, accept=accept_terms)
    click.echo("\n".join(told))
    return 0


@models.command()
@click.argument("names", nargs=-1)
@_shared
def verify(names: tuple[str, ...], models: str | None, manifest: str | None) -> int:
    """Compare the weights that are here with their digests; all of them by default.

    Ends with 1 if one is another file than it should be, with 3 if no digest of the publisher is
    known for one.
    """
    from efface.encoders.manifest import find_model
    from efface.errors import ArtefactError

    known, shelf = _open(models, manifest)
    chosen = names or tuple(name for name in known if shelf.has(name, known[name]))
    if not chosen:
        raise ArtefactError(f"{shelf.folder}: no named model is here: 'efface models pull NAME'")
    found = [(name, one) for name in chosen for one in shelf.look(name, find_model(known, name))]
    for name, one in found:
        click.echo(_said(name, one))
    states = {one.state for _, one in found}
    if "missing" in states:
        missing = next(one.path for _, one in found if one.state == "missing")
        raise ArtefactError(f"{missing}: is not there: 'efface models show NAME' says what to do")
    if states & {"wrong", "changed"}:
        return WRONG
    return UNKNOWN if "unverified" in states else 0


def _said(name: str, one: Found) -> str:
    told = {
        "verified": "verified",
        "unverified": f"unverified: no digest of the publisher is known; it has {one.digest}",
        "changed": f"changed since it was fetched: it has {one.digest} now",
        "wrong": f"wrong: it has {one.digest}, the publisher's file {one.file.sha256}",
        "missing": "missing",
    }[one.state]
    return f"{name}/{one.file.name}: {told}"


def _open(models: str | None, manifest: str | None) -> tuple[dict[str, Model], Shelf]:
    from efface.encoders.manifest import models_folder, read_manifest
    from efface.encoders.shelf import Shelf

    return read_manifest(manifest), Shelf(models_folder(models))
