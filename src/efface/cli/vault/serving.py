"""``efface vault serve``: a vault over HTTP."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from efface.cli.vault.opening import audit_option, database_option, pools_in, secret_options

if TYPE_CHECKING:
    from efface.hazmat.lattice import Shape
    from efface.protect.template import Pool
    from efface.vault.configurations import BasesOf
    from efface.vault.service import Vault

TOKEN = "EFFACE_VAULT_TOKEN"


@click.command()
@database_option
@secret_options
@click.option("--ready", type=click.IntRange(1), default=8, show_default=True,
              help="Bases to keep prepared.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: a free one."
)
@click.option("--user-tries", type=click.IntRange(1), default=5, show_default=True,
              help="Failures of a user in a window.")  # fmt: skip
@click.option("--source-tries", type=click.IntRange(1), default=50, show_default=True,
              help="Failures from a source in a window.")  # fmt: skip
@click.option("--window", type=click.FloatRange(0, min_open=True), default=900.0,
              show_default=True, help="Seconds until failures are forgotten.")  # fmt: skip
@audit_option
@click.option("--floor", type=click.FloatRange(0), default=0.25, show_default=True,
              help="Seconds that a refusal takes beyond its slowest hash; 0: none.")  # fmt: skip
@click.option("--source-header", metavar="NAME", help="Header of a trusted proxy with the source.")
@click.option("--concurrency", type=click.IntRange(1), metavar="N",
              help="Requests computed at one time; one per core by default.")  # fmt: skip
@click.option("--queue", type=click.IntRange(0), default=64, show_default=True,
              help="Requests that may wait; the others get 503 at once.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=30.0,
              show_default=True, help="Seconds for a body to arrive, or a thread.")  # fmt: skip
def serve(db: str, pepper: str | None, bases: str, ready: int, host: str, port: int,
          floor: float, source_header: str | None, **typed: Any) -> int:  # fmt: skip
    """Serve a vault over HTTP: POST /v1/verify, and with a token /v1/enrol, /rotate, /revoke.

    The token is taken from EFFACE_VAULT_TOKEN; without one only verification is served. There is no
    encryption: keep it on a trusted network or behind a proxy.
    """
    from efface.extras import need

    for module in ("sqlalchemy", "fastapi", "uvicorn", "prometheus_client"):
        need(module, "vault")
    from efface.errors import EffaceWarning
    from efface.serve.limits import Limits
    from efface.serve.server import listen, run, url
    from efface.vault.access import Access
    from efface.vault.app import MAX_BODY, create_app

    warnings.simplefilter("ignore", EffaceWarning)  # the verdict is said once, below
    access = Access(os.environ.get(TOKEN) or None, floor, source_header)
    given = {name: typed[name] for name in ("concurrency", "queue", "timeout") if typed[name]}
    limits = Limits(max_body=MAX_BODY, **given)
    with ExitStack() as stack:
        vault = _vault(db, pepper, _filled(bases, ready, stack), limits.concurrency, typed)
        stack.callback(vault.store.close)
        card = vault.configurations.current().scheme.card
        app, listening = create_app(vault, limits, access), listen(host, port)
        click.echo(f"{vault.store.place}: {card.name}, served at {url(listening)}")
        click.echo(f"warning: {card.name}: {card.verdict}", err=True)
        if access.token is None:
            click.echo(
                "only verification is served: enrol, rotate and revoke over HTTP are off; to turn "
                f"them on set {TOKEN} to a secret and start again",
                err=True,
            )
        run(app, listening, limits)
    return 0


def _vault(
    db: str, pepper: str | None, bases: BasesOf, threads: int, typed: dict[str, Any]
) -> Vault:
    from efface.vault.attempts import Rule, Rules
    from efface.vault.configurations import Configurations
    from efface.vault.peppers import read_peppers
    from efface.vault.retention import DAY
    from efface.vault.service import Vault
    from efface.vault.store import Store

    store = Store(db, connections=max(threads, 4))
    store.require()
    rules = Rules(*(Rule(typed[f"{who}_tries"], typed["window"]) for who in ("user", "source")))
    known = Configurations(store, lambda: read_peppers(pepper), bases)
    return Vault(store, known, rules, typed["audit_days"] * DAY)


def _filled(folder: str, size: int, stack: ExitStack) -> BasesOf:
    """Pools that are kept full as long as the service runs; an enrolment never waits."""
    pools = pools_in(folder, "refuse", size)

    def pool(shape: Shape) -> Pool:
        made = pools(shape)
        if made not in started:
            started.append(stack.enter_context(made))
        return made

    started: list[Pool] = []
    return pool
