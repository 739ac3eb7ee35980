"""Which vault, its pepper and its bases: what the commands have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from efface.errors import DataError, VaultError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from efface.hazmat.lattice import Shape
    from efface.protect.template import Pool
    from efface.vault.service import Vault

F = TypeVar("F", bound=Callable[..., Any])
DATABASE = "EFFACE_VAULT_DB"


def database_option(function: F) -> F:
    return click.option(
        "--db", metavar="ADDRESS", envvar=DATABASE, required=True,
        help=f"SQLite file, or a URL of PostgreSQL; or set {DATABASE}.",
    )(function)  # fmt: skip


def secret_options(function: F) -> F:
    """The pepper and the bases."""
    for option in (
        click.option("--bases", type=click.Path(), default="vault-bases", show_default=True,
                     help="Folder of prepared bases; l2fe-hash alone needs them."),
        click.option("--pepper", type=click.Path(), metavar="FILE",
                     help="File of the pepper; else EFFACE_VAULT_PEPPER."),
    ):  # fmt: skip
        function = option(function)
    return function


def audit_option(function: F) -> F:
    return click.option(
        "--audit-days", type=click.FloatRange(0), default=365.0, show_default=True,
        help="Keep lines of the audit log so long; 0 for ever.",
    )(function)  # fmt: skip


@contextmanager
def opened(
    db: str, pepper: str | None, bases: str, *, create: bool = False, adopt: bool = False
) -> Iterator[Vault]:
    """The vault, closed again at the end; ``adopt`` where its first pepper is yet to come, in a
    file that is not there: who has one already knows a vault without it for another's."""
    from efface.extras import need

    need("sqlalchemy", "vault")
    from efface.vault.configurations import Configurations
    from efface.vault.service import Vault
    from efface.vault.store import Store

    store, made = Store(db), False
    try:
        if create:
            made = store.create()
        else:
            store.require()
        pools, known = pools_in(bases, "reduce"), partial(_peppers, pepper, adopt)
        yield Vault(store, Configurations(store, known, pools, adopt))
    except BaseException:
        if made:  # a file that holds nothing would only be in the way
            with suppress(VaultError):
                store.discard()
        raise
    finally:
        store.close()


def _peppers(path: str | None, adopt: bool) -> tuple[bytes, ...]:
    from efface.vault.peppers import read_peppers

    return () if adopt and path is not None and not Path(path).exists() else read_peppers(path)


def pools_in(
    folder: str, empty: Literal["reduce", "refuse"], size: int = 8
) -> Callable[[Shape], Pool]:
    """Pools of prepared bases in a folder, one for each shape."""
    from efface.protect.template import Pool

    made: dict[Shape, Pool] = {}

    def pool(shape: Shape) -> Pool:
        if shape not in made:
            made[shape] = Pool(folder, shape, size=size, empty=empty)
        return made[shape]

    return pool


def vectors_of(path: str) -> NDArray[Any]:
    """One vector or rows of vectors from a .npy file."""
    import numpy as np

    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(
            f"{path}: cannot be read as .npy ({type(error).__name__}): give one vector, or a row "
            "for each picture"
        ) from None
    if not isinstance(found, np.ndarray):
        found.close()
        raise DataError(f"{path}: holds several arrays: give a .npy with one")
    return found
