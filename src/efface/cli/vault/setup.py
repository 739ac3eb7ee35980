"""``efface vault init`` and ``rotate``: which scheme, how hard, with which pepper."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from efface.cli import options
from efface.cli.vault.counted import said
from efface.cli.vault.hardness import (
    hardening,
    hash_options,
    kdf,
    parameters,
    radius_options,
    settled,
)
from efface.cli.vault.opening import database_option, opened, pools_in, secret_options, vectors_of

if TYPE_CHECKING:
    from efface.protect.template.base import TemplateShell
    from efface.types import Samples
    from efface.vault.service import Vault

F = TypeVar("F", bound=Callable[..., Any])
REFUSED = 1
_FITTED = ("scheme", "params", "fmr", "images", "tries", "votes", "hardened")


def scheme_options(function: F) -> F:
    """A scheme, its parameters, and how hard it is run."""
    images = click.option("--images", type=click.IntRange(1), default=1, show_default=True,
                          help="Of an enrolment, for --fmr.")  # fmt: skip
    return radius_options(images(hash_options(function)))


@click.command()
@click.argument("emb", type=click.Path())
@database_option
@options.data_options
@scheme_options
@secret_options
@click.option("--ready", type=click.IntRange(1), default=8, show_default=True,
              help="Bases to prepare now.")  # fmt: skip
@options.quiet_warnings
def init(emb: str, db: str, pepper: str | None, bases: str, ready: int, **typed: Any) -> int:
    """Make a vault. What a scheme has to know of a population it learns from the people in EMB.

    The file of --pepper is made if it is not there; without one there is no pepper.
    """
    from efface.vault.peppers import read_peppers

    _refuse_vault(db)
    fresh = None
    if pepper is not None and not Path(pepper).exists():
        fresh = options.writable_file(pepper), os.urandom(32)
    peppers = (fresh[1],) if fresh else read_peppers(pepper)
    samples = options.read(emb, typed["identity"], typed["embedding"], typed["labels"])
    scheme = _scheme(samples, typed, peppers[0] if peppers else None, bases)
    counted = said(scheme, samples, settled(typed))
    scheme = _prepared(scheme, ready)
    with _written(fresh), opened(db, pepper, bases, create=True) as vault:
        made = vault.configure(scheme, first=True)
    click.echo(f"{vault.store.place}: a vault with {_said(made.scheme)}")
    _say_pictures(typed)
    counted()
    return 0


def _refuse_vault(db: str) -> None:
    """Before anything is made: no second vault in a database."""
    from efface.extras import need

    need("sqlalchemy", "vault")
    from efface.vault.store import Store

    store = Store(db)
    try:
        store.refuse_vault()
    finally:
        store.close()


@contextmanager
def _written(pepper: tuple[Path, bytes] | None) -> Iterator[None]:
    """A new pepper in its file, which goes again if nothing came of it."""
    from efface.vault.peppers import add_pepper, read_peppers

    if pepper is None:
        yield
        return
    path, secret = pepper
    add_pepper(path, lambda _: secret)
    try:
        yield
    except BaseException:
        if read_peppers(path) == (secret,):  # and nobody has added another
            path.unlink()
        raise


@click.command()
@click.argument("user", required=False)
@click.argument("file", type=click.Path(), required=False)
@database_option
@options.data_options
@scheme_options
@secret_options
@click.option("--population", metavar="EMB", help="People to fit another scheme on.")
@click.option("--new-pepper", is_flag=True, help="Add a pepper to the file of --pepper.")
@options.quiet_warnings
def rotate(user: str | None, file: str | None, db: str, pepper: str | None, bases: str,
           population: str | None, new_pepper: bool, **typed: Any) -> int:  # fmt: skip
    """Renew one template, or put another configuration in force.

    With USER and FILE: if the vectors in FILE verify, USER gets a new template of them. Without:
    the scheme, the hash or the pepper changes, and each person moves at the next login.

    \b
    Exit codes: 0 done, 1 USER was refused, 2 usage, bad input, or too many failed tries.
    """
    if (user is None) != (file is None):
        raise click.UsageError("give both USER and FILE, or neither")
    first = new_pepper and pepper is not None and not Path(pepper).exists()
    with opened(db, pepper, bases, adopt=first) as vault:
        if user is not None and file is not None:
            vectors = vectors_of(file)
            renewed = vault.rotate(user, vectors)
            if doubt := vault.doubt(vectors, "probe"):
                click.echo(f"warning: {doubt}", err=True)
            click.echo("renewed" if renewed else "refused")
            return 0 if renewed else REFUSED
        scheme = _next(vault, population, pepper if new_pepper else None, bases, typed, new_pepper)
        made = vault.configure(scheme)
        click.echo(f"configuration {made.number}: {_said(made.scheme)}")
        _say_pictures(typed if population is not None else {})
        click.echo(f"still to move, each at the next login: {vault.waiting()}")
    return 0


def _next(vault: Vault, population: str | None, pepper: str | None, bases: str,
          typed: dict[str, Any], new_pepper: bool) -> TemplateShell:  # fmt: skip
    """The scheme in force with what was typed changed."""
    import copy

    from efface.vault.peppers import add_pepper

    current = vault.configurations.current().scheme
    secret = current.hardening.secret()
    if new_pepper:
        if pepper is None:
            raise click.UsageError("--new-pepper needs --pepper: the file that it is added to")
        secret = add_pepper(pepper)[0]
    if population is not None:
        samples = options.read(population, typed["identity"], typed["embedding"], typed["labels"])
        return _prepared(_scheme(samples, typed, secret, bases), 1)
    if any(options.given(name) for name in _FITTED):
        raise click.UsageError("another scheme or radius is fitted to people: give --population")
    made = copy.copy(current)
    made.hardening = replace(made.hardening, pepper=secret)
    if options.given("kdf"):
        made.hardening = replace(made.hardening, kdf=kdf(typed))
    made.check()
    return made


def _scheme(
    samples: Samples, typed: dict[str, Any], pepper: bytes | None, bases: str
) -> TemplateShell:
    """The scheme that was asked for, fitted and with its radius."""
    from efface.protect.template import L2FEHash, Shared
    from efface.registry import make

    typed = settled(typed)
    params: dict[str, Any] = {**parameters(typed["params"]), "hardening": hardening(typed, pepper)}
    scheme: TemplateShell = make("scheme", typed["scheme"], **params)
    if isinstance(scheme, L2FEHash):
        scheme.bases = Shared(1)
    scheme.fit(samples)
    if typed["fmr"] is not None:
        scheme = scheme.calibrate(
            samples, typed["fmr"], images=typed["images"], tries=typed["tries"]
        )
        scheme.hardening = replace(
            scheme.hardening, radius_images=typed["images"], radius_tries=typed["tries"]
        )
    if isinstance(scheme, L2FEHash):
        scheme.bases = pools_in(bases, "reduce")(scheme.shape)
    return scheme


def _prepared(scheme: TemplateShell, ready: int) -> TemplateShell:
    """With bases for the first people; one more is for nobody, the decoy."""
    from efface.protect.template import L2FEHash, Pool

    if isinstance(scheme, L2FEHash) and isinstance(scheme.bases, Pool):
        scheme.bases.prepare(ready + 1)
    return scheme


def _say_pictures(typed: dict[str, Any]) -> None:
    """A radius that was chosen for several pictures refuses people who show one."""
    found = settled(typed) if typed else {}
    if found.get("fmr") is not None and max(found["images"], found["tries"]) > 1:
        click.echo(
            f"the radius is for {found['images']} pictures enrolled and {found['tries']} in a try"
        )


def _said(scheme: TemplateShell) -> str:
    settings = scheme.settings()
    kept = "a pepper" if settings["pepper"] else "no pepper"
    voted = f", {settings['votes']} of {settings['of']} votes" if "of" in settings else ""
    radius = f"{scheme.radius} {scheme.radius_:.4g}"
    return f"{scheme.card.name}, {radius}, {settings['kdf']}, {kept}{voted}"
